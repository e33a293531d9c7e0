//go:build !linux

package doctor

// Kernel finds nothing: jobs run on linux only.
func (f *Facts) Kernel() {}

// StateOn finds nothing.
func (f *Facts) StateOn(string) {}
