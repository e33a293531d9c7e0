package bwrap

import (
	"testing"
	"time"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/record"
	"golang.org/x/sys/unix"
)

// Other processes of the job's account may stop bwrap, which runs as that
// account. The run must end all the same: it holds a seat of the service.
func TestARunEndsThoughItsBwrapIsStopped(t *testing.T) {
	b := open(t)
	plan, _ := canaryJob(t, b)
	armed, err := b.Prepare(t.Context(), plan)
	if err != nil {
		t.Fatal(err)
	}
	proc, err := armed.Release()
	if err != nil {
		t.Fatal(err)
	}
	bwrap := proc.(*run).proc
	defer bwrap.Kill() // so that a run that hangs does not outlive the test
	if err := bwrap.Signal(unix.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	proc.Kill(jobspec.CodeCanceled)
	done := make(chan record.End, 1)
	go func() { done <- proc.Wait() }()
	select {
	case end := <-done:
		if end.Outcome != record.OutcomeKilled {
			t.Errorf("ended as %+v", end)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("the run does not end")
	}
}
