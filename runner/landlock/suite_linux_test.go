package landlock

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/sbxcron/sbxcron/runner"
	"github.com/sbxcron/sbxcron/runner/pin"
	"github.com/sbxcron/sbxcron/runner/runnertest"
	"github.com/sbxcron/sbxcron/runner/supervise"
	"github.com/sbxcron/sbxcron/runner/witness"
)

func TestMain(m *testing.M) {
	pin.ChildMain()
	supervise.ChildMain()
	witness.ChildMain()
	ChildMain()
	os.Exit(m.Run())
}

func TestBackendPassesTheSuite(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("needs an ordinary user")
	}
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

func TestProbeRunsItsCanary(t *testing.T) {
	said := open(t).Probe(t.Context())
	if os.Geteuid() == 0 {
		if said.Usable || !said.Lasting || said.Remedy == "" {
			t.Errorf("root: %+v", said)
		}
		return
	}
	if !said.Usable || len(said.Needs) != 1 {
		t.Errorf("%+v", said)
	}
}

// The answer is kept for all jobs. The one that asked may be held, removed or
// replaced while the canary runs.
func TestAProbeOutlivesTheJobThatAsked(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("needs an ordinary user")
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if said := open(t).Probe(ctx); !said.Usable {
		t.Errorf("%+v", said)
	}
}
