//go:build !linux

package cli

// noticesPort is nil: the service runs on Linux only.
func (w wiring) noticesPort() func(root string) (Notices, error) { return nil }
