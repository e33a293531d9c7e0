// Package protect opens the protected names of a writable directory and looks
// whether they are there.
//
// It never follows a link, and refuses a name that a read-only mount or a missing
// right would not protect: a link, and a file with a second name. Only backends
// import it.
package protect
