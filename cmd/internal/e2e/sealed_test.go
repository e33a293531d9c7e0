//go:build linux

package e2e

import (
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/store"
	"github.com/sbxcron/sbxcron/store/checkpoint"
)

// sealed is the newest checkpoint, unverified.
func (h *house) sealed() checkpoint.Checkpoint {
	h.t.Helper()
	note, err := store.ReadCheckpoint(h.dirs())
	must(h.t, err)
	c, err := checkpoint.Unverified(note)
	must(h.t, err)
	return c
}

// awaitSealed waits until the newest checkpoint covers every line.
func (h *house) awaitSealed() {
	h.t.Helper()
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if note, err := store.ReadCheckpoint(h.dirs()); err == nil && note != "" && h.sealed().Size == int64(len(h.ledger())) {
			return
		}
	}
	h.t.Fatalf("the newest checkpoint does not cover the ledger of %d lines", len(h.ledger()))
}

// syslog is a socket as that of the system's log, and what came to it.
func (h *house) syslog() (path string, heard func() []string) {
	h.t.Helper()
	path = filepath.Join(h.dir, "log")
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	must(h.t, err)
	h.t.Cleanup(func() { conn.Close() })
	return path, func() (all []string) {
		b := make([]byte, 8<<10)
		for {
			must(h.t, conn.SetReadDeadline(time.Now().Add(200*time.Millisecond)))
			n, err := conn.Read(b)
			if err != nil {
				return all
			}
			all = append(all, string(b[:n]))
		}
	}
}

// The history of a host leaves it in four ways: into the system's log, into what
// the owner signs, into what the owner's account remembers, and to whoever follows.
func TestTheHistoryOfAHostIsSignedAndLeavesIt(t *testing.T) {
	h := newHouse(t)
	h.must("add", "j", "--yes", "--schedule", never, "--", "/bin/true")
	log, heard := h.syslog()
	s := h.start(envSyslog+"="+log, envSealing+"=50ms")
	h.awaitSealed()
	follower := filepath.Join(h.dir, "follower")
	h.must("audit", "follow", follower)
	before := h.twin(t)
	if r := h.run("run", "j", "--wait"); r.code != 0 {
		t.Fatalf("run: exit %d\n%s", r.code, r.err)
	}
	h.awaitSealed()
	h.must("audit", "attest", "--yes")
	h.must("audit", "follow", follower, "--socket", h.dirs().Socket())
	h.must("disable", "j", "--yes")
	if code := s.stop(); code != 0 {
		t.Fatalf("the service ended with %d: %s", code, s.log)
	}
	last := h.sealed()
	if want := int64(len(h.ledger())); last.Size != want {
		t.Errorf("the last checkpoint is of %d lines of %d", last.Size, want)
	}
	if said := heard(); len(said) < 3 || !strings.HasPrefix(said[len(said)-1], "<85>sbxcron: checkpoint "+last.Origin) || !strings.Contains(said[len(said)-1], "root="+last.Root.Base64()) {
		t.Errorf("the system's log heard %q", said)
	}
	var attested []jobspec.Action
	for _, entry := range h.entries() {
		if op, err := jobspec.DecodeOp(entry.Op); err != nil || op.Checkpoint != "" {
			attested = append(attested, op.Action)
		}
	}
	if !slices.Equal(attested, []jobspec.Action{jobspec.Attest, jobspec.Disable}) {
		t.Errorf("ops with a checkpoint: %v", attested)
	}
	if r := h.run("audit", "verify"); r.code != 0 {
		t.Errorf("audit verify: exit %d\n%s", r.code, r.out)
	}
	h.oldStateIsNoticed(before, follower)
}

// oldStateIsNoticed puts a whole older image of the host back, pin and checkpoint
// included. The host itself cannot know; those who remember do.
func (h *house) oldStateIsNoticed(before *house, follower string) {
	for _, dir := range []string{"conf", "state"} {
		must(h.t, os.RemoveAll(filepath.Join(h.root, dir)))
		copyTree(h.t, filepath.Join(before.root, dir), filepath.Join(h.root, dir))
	}
	s := h.start()
	other := []jobspec.Code{jobspec.CodeCheckpointRollback, jobspec.CodeCheckpointFork} // it may have gone on to the same size
	if e := h.failure("disable", "j", "--yes"); !slices.Contains(other, e.ErrCode) || e.Exit != 12 {
		h.t.Errorf("an op onto an older state: %+v", e)
	}
	if e := h.failure("audit", "follow", follower); !slices.Contains(other, e.ErrCode) || e.Exit != 20 {
		h.t.Errorf("follow: %+v", e)
	}
	s.stop()
}

// A ledger that is not the one that was signed keeps everything from running.
func TestALedgerThatDoesNotFitItsCheckpointRunsNothing(t *testing.T) {
	h := newHouse(t)
	h.must("add", "j", "--yes", "--schedule", never, "--", "/bin/true")
	s := h.start()
	if r := h.run("run", "j", "--wait"); r.code != 0 {
		t.Fatalf("run: exit %d\n%s", r.code, r.err)
	}
	s.stop()
	for what, c := range map[string]struct {
		spoil func(d store.Dirs) error
		code  jobspec.Code
	}{
		"cut": {func(d store.Dirs) error {
			all, err := filepath.Glob(filepath.Join(d.LedgerDir(), "*.jsonl"))
			if err != nil {
				return err
			}
			b, err := os.ReadFile(all[0])
			if err != nil {
				return err
			}
			lines := strings.SplitAfter(string(b), "\n")
			return os.WriteFile(all[0], []byte(strings.Join(lines[:len(lines)-2], "")), 0o600)
		}, jobspec.CodeLedgerTruncated},
		"no checkpoint": {func(d store.Dirs) error { return os.Remove(d.Checkpoint()) }, jobspec.CodeCheckpointRollback},
		"no key":        {func(d store.Dirs) error { return os.Remove(d.AuditKey()) }, jobspec.CodeAuditKeyLost},
	} {
		t.Run(what, func(t *testing.T) {
			bad := h.twin(t)
			must(t, c.spoil(bad.dirs()))
			lines := len(bad.ledger())
			s := bad.start()
			if r := bad.run("status"); r.code != 3 || !strings.Contains(r.out, string(c.code)) {
				t.Errorf("status: exit %d\n%s", r.code, r.out)
			}
			if e := bad.failure("run", "j"); e.ErrCode != c.code {
				t.Errorf("run: %+v", e)
			}
			if r := bad.run("history", "j"); r.code != 0 {
				t.Errorf("history: exit %d\n%s", r.code, r.err)
			}
			s.stop()
			if n := len(bad.ledger()); n != lines {
				t.Errorf("%d lines were appended", n-lines)
			}
		})
	}
}

// The start takes the kept hashes for what lies further back, and reads all of it
// right after that: then, too, nothing runs any more.
func TestAnOldLineThatWasChangedIsFoundAfterTheStart(t *testing.T) {
	h := newHouse(t)
	h.must("add", "j", "--yes", "--schedule", never, "--", "/bin/true")
	s := h.start()
	if r := h.run("run", "j", "--wait"); r.code != 0 {
		t.Fatalf("run: exit %d\n%s", r.code, r.err)
	}
	s.stop()
	all, err := filepath.Glob(filepath.Join(h.dirs().LedgerDir(), "*.jsonl"))
	must(t, err)
	b, err := os.ReadFile(all[0])
	must(t, err)
	must(t, os.WriteFile(all[0], []byte(strings.Replace(string(b), `"outcome":"succeeded"`, `"outcome":"timed_out"`, 1)), 0o600))
	s = h.start()
	for deadline := time.Now().Add(20 * time.Second); h.run("status").code != 3; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("nobody noticed: %s", s.log)
		}
	}
	if e := h.failure("run", "j"); e.ErrCode != jobspec.CodeLedgerTampered {
		t.Errorf("run: %+v", e)
	}
	s.stop()
	if r := h.run("audit", "verify"); r.code != 20 || !strings.Contains(r.out, string(jobspec.CodeLedgerTampered)) {
		t.Errorf("audit verify: exit %d\n%s", r.code, r.out)
	}
	var alerts int
	for _, l := range h.ledger() {
		if l.Kind == "alert" {
			alerts++
		}
	}
	if alerts != 1 {
		t.Errorf("%d alerts", alerts)
	}
}
