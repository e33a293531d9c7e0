//go:build !linux

package sweep

// ChildMain does nothing on this platform: nothing runs here.
func ChildMain() {}
