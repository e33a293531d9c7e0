//go:build !linux

package witness

// ChildMain does nothing: jobs run on Linux only.
func ChildMain() {}
