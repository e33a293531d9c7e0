//go:build !linux

package pin

import (
	"context"
	"os"

	"github.com/sbxcron/sbxcron/jobspec"
)

// errPlatform is what every call answers where the kernel has no openat2.
func errPlatform(path string) error {
	return &Failure{Reason: jobspec.CodeSbxPlatformDisabled, Path: path, Detail: "paths can be pinned on Linux only"}
}

// ChildMain does nothing on this platform.
func ChildMain() {}

// Open refuses on this platform.
func Open(context.Context, Account, []Request, Options) (*Set, error) { return nil, errPlatform("") }

// Resolve refuses on this platform.
func Resolve(_ context.Context, _ Account, typed, _ string, _ []string) (string, error) {
	return "", errPlatform(typed)
}

type mounts struct{}

type origin struct{ at *os.File }

func (*held) adoptOrigin() {}

// Unchanged is false on this platform.
func (*Set) Unchanged() bool { return false }

// Openers keeps nothing on this platform.
type Openers struct{}

// Close does nothing on this platform.
func (*Openers) Close() error { return nil }

// Places gathers the sensitive places, which this platform cannot.
type Places struct{}

// Sensitive is SensitivePlaces.
func (*Places) Sensitive(o SensitiveOptions) ([]jobspec.Sensitive, error) { return SensitivePlaces(o) }

type gatherer struct{ all []jobspec.Sensitive }

func newGatherer() (*gatherer, error) { return nil, errPlatform("/") }

func (*gatherer) each(string, jobspec.Reach, ...string) {}
