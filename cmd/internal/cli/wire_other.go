//go:build !linux

package cli

import (
	"context"
	"time"

	"github.com/sbxcron/sbxcron/cmd/internal/examine"
	"github.com/sbxcron/sbxcron/jobspec"
)

// bwrapPath names no program here.
const bwrapPath = ""

type noSandbox struct{ name string }

// newSandboxes are probes that find nothing.
func newSandboxes(func() time.Time) (map[string]examine.Prober, func()) {
	all := map[string]examine.Prober{}
	for _, name := range jobspec.Backends() {
		all[name] = noSandbox{name}
	}
	return all, func() {}
}

// Probe says that no job can be confined here.
func (s noSandbox) Probe(context.Context) jobspec.Sandbox {
	return jobspec.Sandbox{Backend: s.name, Problem: jobspec.CodeSbxPlatformDisabled, Detail: "jobs run on linux only",
		Remedy: jobspec.CodeSbxPlatformDisabled.Remedy()}
}

// bootID is known on linux only.
func bootID() string { return "" }

// daemonPort is no service: jobs run on linux only.
func (w wiring) daemonPort() func(context.Context, DaemonOptions) error { return nil }

// tryPort tries nothing: jobs run on linux only.
func (w wiring) tryPort() func(context.Context, string, []byte) ([]byte, error) { return nil }

// trialPort makes no place: jobs run on linux only.
func (w wiring) trialPort() func(string) (*Trial, error) { return nil }
