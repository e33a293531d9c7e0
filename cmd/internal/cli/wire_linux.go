package cli

import (
	"context"
	"os"
	"sync"
	"time"

	"github.com/sbxcron/sbxcron/cmd/internal/daemon"
	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/runner/bwrap"
)

// bwrapPath is the one sandbox program that is ever used.
const bwrapPath = "/usr/bin/bwrap"

// lazySandbox opens the backend when somebody asks for a probe: most commands
// never do. It lives in a folder of its own, because RUN may be another's.
type lazySandbox struct {
	now     func() time.Time
	once    sync.Once
	dir     string
	backend *bwrap.Backend
	err     error
}

func newSandbox(now func() time.Time) (*lazySandbox, func()) {
	s := &lazySandbox{now: now}
	return s, s.close
}

func (s *lazySandbox) open() {
	// No variable picks a folder, so TMPDIR is not asked.
	if s.dir, s.err = os.MkdirTemp("/tmp", "sbxcron-probe-"); s.err == nil {
		s.backend, s.err = bwrap.New(bwrap.Options{RunDir: s.dir, Now: s.now})
	}
}

// Probe tries the sandbox out.
func (s *lazySandbox) Probe(ctx context.Context) jobspec.Sandbox {
	if s.once.Do(s.open); s.err != nil {
		return jobspec.Sandbox{Backend: bwrap.Name, Problem: jobspec.CodeSbxSetupFailed, Detail: s.err.Error(),
			Remedy: jobspec.CodeSbxSetupFailed.Remedy()}
	}
	return s.backend.Probe(ctx)
}

func (s *lazySandbox) close() {
	if s.backend != nil {
		_ = s.backend.Close() // nothing runs in it
	}
	if s.dir != "" {
		_ = os.RemoveAll(s.dir) // a stub file in the temporary folder harms nobody
	}
}

// bootID names this boot of the kernel.
func bootID() string { return daemon.BootID() }
