// Package shell finds the simple commands of a shell text: those of chains,
// pipes, groups, functions, branches, loops, substitutions and expanding
// here-documents, each with its redirections and the folder that it starts in.
//
// What it finds serves one purpose: more reasons to deny or to ask. It is never
// what runs; the shell that runs the text has the last word on its meaning, and
// a word whose value only that shell knows is called dynamic. A text that cannot
// be read to its end is an error, never half a list.
//
// It is the only place that imports the parser. Only jobspec may import it.
package shell
