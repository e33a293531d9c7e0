//go:build !linux

package supervise

// ChildMain does nothing on this platform.
func ChildMain() {}
