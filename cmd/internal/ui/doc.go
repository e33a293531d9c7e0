// Package ui is the command line's way to the person in front of it.
//
// The rules of the terminal, which the code below obeys:
//
//   - standard output is what was asked for, everything else is standard error;
//   - the columns of a table are the same on a terminal and in a pipe; only
//     relative times and the cut at the right edge depend on the terminal;
//   - text that others wrote (names of files, reasons, output of jobs) is
//     escaped before it is shown, so it cannot drive the terminal;
//   - there are no colours, so NO_COLOR is always obeyed;
//   - a question is asked only on a terminal, through /dev/tty, and an empty
//     answer is "no".
//
// It promises never to prompt where no terminal is. It refuses nothing else and
// knows nothing of jobs. Only packages below cmd may import it.
package ui
