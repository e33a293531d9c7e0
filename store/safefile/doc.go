// Package safefile reads and writes the few files that authority rests on:
// trust files, policy, host id, pin, keys, databases.
//
// It promises that what Read returns came from a regular file with one name,
// that belongs to the expected user or to root, that nobody else can write, and
// that was reached without following a link through folders that nobody else
// can write either. A parent that others can write is accepted only if it is
// root's and sticky (/tmp) and the next part belongs to root or to the
// checking uid. Owner and mode are read from the descriptor that the bytes are
// read from, so nothing can be swapped between check and use.
//
// Write and Create promise that after a nil error the bytes survive a power
// cut, and that a reader sees the old file or the new one and nothing between.
//
// It refuses relative paths, links anywhere in a path, and files over the
// caller's limit. On Windows owner and mode are not looked at: there only the
// owner's and the auditor's commands run, and no authority rests on the files.
//
// Every room but signing may import it. It imports the standard library and
// golang.org/x/sys.
package safefile
