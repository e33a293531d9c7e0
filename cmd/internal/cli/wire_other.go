//go:build !linux

package cli

import (
	"context"
	"time"

	"github.com/sbxcron/sbxcron/jobspec"
)

// bwrapPath names no program here.
const bwrapPath = ""

type noSandbox struct{}

func newSandbox(func() time.Time) (noSandbox, func()) { return noSandbox{}, func() {} }

// Probe says that no job can be confined here.
func (noSandbox) Probe(context.Context) jobspec.Sandbox {
	return jobspec.Sandbox{Problem: jobspec.CodeSbxPlatformDisabled, Detail: "jobs run on linux only",
		Remedy: jobspec.CodeSbxPlatformDisabled.Remedy()}
}

// bootID is known on linux only.
func bootID() string { return "" }

// daemonPort is no service: jobs run on linux only.
func (w wiring) daemonPort() func(context.Context, DaemonOptions) error { return nil }

// trialPort makes no place: jobs run on linux only.
func (w wiring) trialPort() func(string) (*Trial, error) { return nil }
