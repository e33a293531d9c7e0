//go:build linux && !amd64

package attempt

// int80 exists on amd64 only; no attempt uses it elsewhere.
func int80() {}
