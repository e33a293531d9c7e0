// Package left looks for what a run left in its writable folders and others
// would trust without looking: set-id files, and hooks of repositories.
//
// A run that could hide something, by closing a folder or by the number or depth
// of its files, is no run of which nothing was found: that is a find itself. It
// knows nothing of plans. Only backends import it.
package left
