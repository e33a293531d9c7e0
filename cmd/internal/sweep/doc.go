// Package sweep removes a throw-away folder, whatever becomes of the process
// that made it: when that ends, by itself or by a signal that nobody can catch,
// a child of its own that waited for it takes the folder away.
//
// The child is this program once more. Every main that calls Watch calls
// ChildMain first. Only the command line and mains may import this package.
package sweep
