// Package stubfile keeps the emitted stub as a file that sandboxes can be given.
//
// It promises that what Open returns has the bytes that were emitted: they are
// checked each time, through the very descriptor that is handed on. Only backends
// import it.
package stubfile
