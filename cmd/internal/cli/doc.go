// Package cli is the command line: one file a command, each with its options
// and the function that does the work.
//
// It promises that standard output holds what was asked for and nothing else,
// that every reading command has --json, that one place (exit.go) turns errors
// into words and exit statuses, and that nothing is prompted where no terminal
// is. It refuses to sign bytes that it has not shown, to use a key before
// everything that can be refused was refused, and to reuse what was signed when
// the head has moved.
//
// The owner's op is built here, on the owner's side: of the service it takes
// host, position and predecessor, and it compares them with the pin wherever the
// pin can be read. Only cmd/sbxcron and the end-to-end tests import it.
package cli
