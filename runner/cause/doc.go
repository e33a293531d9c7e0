// Package cause says why a machine gives no sandbox, and how to mend it.
//
// It judges facts: what the kernel's switches say, what is mounted over /proc,
// what a program of the system looks like, and how an attempt to make something
// ended. What is told is found by trying; the facts only name the reason. Reading
// them (Read) and judging them are apart, so that what is said of a machine can
// be tested without that machine.
//
// It promises that no remedy takes a layer of the sandbox away, and it changes
// nothing. Backends and the checks of doctor import it; it imports the standard
// library and x/sys.
package cause
