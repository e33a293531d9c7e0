package bwrap

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/record"
)

// openFDs counts the descriptors of this process.
func openFDs(t *testing.T) int {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}

// children counts direct children, zombies included.
func children(t *testing.T) int {
	t.Helper()
	lists, err := filepath.Glob("/proc/self/task/*/children")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, name := range lists {
		b, err := os.ReadFile(name)
		if err == nil {
			n += len(bytes.Fields(b))
		}
	}
	return n
}

func TestRunsLeaveNeitherDescriptorsNorProcesses(t *testing.T) {
	b := open(t)
	plan, _ := canaryJob(t, b)
	use := func(i int) {
		armed, err := b.Prepare(t.Context(), plan)
		if err != nil {
			t.Fatal(err)
		}
		if i%2 == 0 {
			armed.Discard()
			return
		}
		proc, err := armed.Release()
		if err != nil {
			t.Fatal(err)
		}
		proc.Kill(jobspec.CodeCanceled)
		if end := proc.Wait(); end.Outcome != record.OutcomeKilled {
			t.Errorf("ended as %+v", end)
		}
	}
	use(0)
	use(1)
	fds, kids := openFDs(t), children(t)
	for i := range 10 {
		use(i)
	}
	if got := openFDs(t); got != fds {
		t.Errorf("%d descriptors, %d before", got, fds)
	}
	if got := children(t); got != kids {
		t.Errorf("%d children, %d before", got, kids)
	}
}

func TestClosingTheBackendEndsItsRuns(t *testing.T) {
	b, err := New(Options{RunDir: t.TempDir(), Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	plan, canary := canaryJob(t, b)
	armed, err := b.Prepare(t.Context(), plan)
	if err != nil {
		t.Fatal(err)
	}
	proc, err := armed.Release()
	if err != nil {
		t.Fatal(err)
	}
	for limit := time.Now().Add(10 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		if _, err := os.Stat(canary); err == nil || time.Now().After(limit) {
			break
		}
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
	done := make(chan record.End)
	go func() { done <- proc.Wait() }()
	select {
	case end := <-done:
		if end.Outcome == record.OutcomeSucceeded {
			t.Errorf("ended as %+v", end)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("the run goes on")
	}
	if _, err := b.Prepare(t.Context(), plan); err == nil {
		t.Error("a closed backend prepares")
	}
}

// The payload's own process gets TERM: bwrap would kill at once, and the init
// of the namespace would not hear it.
func TestTheHeldProcessIsTheStub(t *testing.T) {
	b := open(t)
	plan, _ := canaryJob(t, b)
	armed, err := b.Prepare(t.Context(), plan)
	if err != nil {
		t.Fatal(err)
	}
	defer armed.Discard()
	info, err := os.ReadFile("/proc/self/fdinfo/" + strconv.Itoa(armed.(*run).payload))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(info, []byte("\t2\n")) { // NSpid ends with 2
		t.Errorf("the held process is not process 2 of its namespace: %s", info)
	}
}

func TestProbeIsKeptForTheSameMachineAndAFailureIsNot(t *testing.T) {
	b := open(t)
	first := b.Probe(t.Context())
	b.mu.Lock()
	at := b.probed.at
	b.mu.Unlock()
	second := b.Probe(t.Context())
	b.mu.Lock()
	kept := b.probed.at.Equal(at)
	b.mu.Unlock()
	if !first.Usable || !second.Usable || !kept {
		t.Errorf("%+v, %+v, kept %t", first, second, kept)
	}
	b.mu.Lock()
	b.probed.said.Usable, b.probed.at = false, time.Now().Add(-badFor)
	b.mu.Unlock()
	if third := b.Probe(t.Context()); !third.Usable {
		t.Errorf("a failure is kept: %+v", third)
	}
}
