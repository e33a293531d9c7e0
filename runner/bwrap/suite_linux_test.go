package bwrap

import (
	"testing"
	"time"

	"github.com/sbxcron/sbxcron/runner"
	"github.com/sbxcron/sbxcron/runner/runnertest"
)

func TestBackendPassesTheSuite(t *testing.T) {
	runnertest.Run(t, func() runner.Backend { return open(t) })
}

func open(t *testing.T) *Backend {
	t.Helper()
	b, err := New(Options{RunDir: t.TempDir(), Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}
