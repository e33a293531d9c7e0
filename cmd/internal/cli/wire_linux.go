package cli

import (
	"context"
	"os"
	"sync"
	"time"

	"github.com/sbxcron/sbxcron/cmd/internal/daemon"
	"github.com/sbxcron/sbxcron/cmd/internal/examine"
	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/runner/bwrap"
	"github.com/sbxcron/sbxcron/runner/landlock"
)

// bwrapPath is the one sandbox program that is ever used.
const bwrapPath = "/usr/bin/bwrap"

// lazySandbox opens a backend when somebody asks for a probe: most commands
// never do. It lives in a folder of its own, because RUN may be another's.
type lazySandbox struct {
	name    string
	make    func(runDir string) (sandbox, error)
	once    sync.Once
	dir     string
	backend sandbox
	err     error
}

// sandbox is what the command line needs of a backend.
type sandbox interface {
	Probe(ctx context.Context) jobspec.Sandbox
	Close() error
}

// lazyBackends are the backends of this build by name.
func lazyBackends(now func() time.Time) map[string]*lazySandbox {
	return map[string]*lazySandbox{
		bwrap.Name: {name: bwrap.Name, make: func(run string) (sandbox, error) {
			return bwrap.New(bwrap.Options{RunDir: run, Now: now})
		}},
		landlock.Name: {name: landlock.Name, make: func(run string) (sandbox, error) {
			return landlock.New(landlock.Options{RunDir: run, Now: now})
		}},
	}
}

// newSandboxes are the probes of all backends, and what ends them.
func newSandboxes(now func() time.Time) (map[string]examine.Prober, func()) {
	all, probers := lazyBackends(now), map[string]examine.Prober{}
	for name, s := range all {
		probers[name] = s
	}
	return probers, func() {
		for _, s := range all {
			s.close()
		}
	}
}

func (s *lazySandbox) open() {
	// No variable picks a folder, so TMPDIR is not asked.
	if s.dir, s.err = os.MkdirTemp("/tmp", "sbxcron-probe-"); s.err == nil {
		s.backend, s.err = s.make(s.dir)
	}
}

// Probe tries the sandbox out.
func (s *lazySandbox) Probe(ctx context.Context) jobspec.Sandbox {
	if s.once.Do(s.open); s.err != nil {
		return jobspec.Sandbox{Backend: s.name, Problem: jobspec.CodeSbxSetupFailed, Detail: s.err.Error(),
			Remedy: jobspec.CodeSbxSetupFailed.Remedy()}
	}
	return s.backend.Probe(ctx)
}

func (s *lazySandbox) close() {
	if s.backend != nil && s.err == nil {
		_ = s.backend.Close() // nothing runs in it
	}
	if s.dir != "" {
		_ = os.RemoveAll(s.dir) // a stub file in the temporary folder harms nobody
	}
}

// bootID names this boot of the kernel.
func bootID() string { return daemon.BootID() }
