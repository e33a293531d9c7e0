package store_test

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/sbxcron/sbxcron/jobspec/record"
	"github.com/sbxcron/sbxcron/signing/auditkey"
	"github.com/sbxcron/sbxcron/store"
	"github.com/sbxcron/sbxcron/store/storetest"
)

// killRing counts the steps of a change of keys among those of the disk.
type killRing struct {
	auditkey.Ring
	disk *killDisk
}

func (r killRing) Next() (public string, err error) {
	return public, r.disk.around(func() error { public, err = r.Ring.Next(); return err })
}

func (r killRing) TakeOver() error { return r.disk.around(r.Ring.TakeOver) }

// childLog writes two lines and a checkpoint on each of two days, and says which
// lines and checkpoints were acknowledged.
func childLog(d store.Dirs, lock *store.Lock, disk *killDisk) error {
	public, err := os.ReadFile(d.Conf + "/certified")
	if err != nil {
		return err
	}
	l, err := store.OpenLedger(d, lock, disk)
	if err != nil {
		return err
	}
	g, err := store.OpenLog(l, store.Certified{Key: string(public), Created: storetest.Epoch()}, killRing{ringOf(d), disk}, disk)
	if err != nil {
		return err
	}
	for n := range 2 {
		if _, err := l.Append(storetest.Leaf(record.Boot, storetest.Epoch()), storetest.Leaf(record.Alert, storetest.Epoch())); err != nil {
			return err
		}
		made, err := g.Checkpoint(storetest.Epoch().AddDate(0, 0, 2+n), head(0))
		if err != nil {
			return err
		}
		for _, s := range made {
			fmt.Printf("made %q\n", s.Note)
		}
	}
	return g.Close()
}

// Whatever step the power fails at: what was acknowledged is there, the next start
// goes on, and nothing is told that speaks against the ledger.
func TestACrashAtAnyStepOfACheckpointLeavesAChainOfKeys(t *testing.T) {
	step := 1
	for ; ; step++ {
		h := newLogHost(t)
		h.write(3, 1, 0)
		must(t, h.lock.Close())
		cmd := child(t, h.d, "log", strconv.Itoa(step))
		out, dead := killedWith(t, cmd)
		if _, codes := h.audit(); len(codes) != 0 {
			a, _ := h.audit()
			t.Fatalf("killed at step %d: %v", step, a.Faults)
		}
		h.lock = storetest.Lock(t, h.d)
		var seen []store.Witness
		for line := range strings.Lines(out) {
			if note, err := strconv.Unquote(strings.TrimSpace(strings.TrimPrefix(line, "made "))); err == nil {
				seen = append(seen, store.Witness{Where: "what the child told", Note: note})
			}
		}
		h.write(2, 1, 5*day)
		a, codes := h.audit(seen...)
		if len(codes) != 0 || a.Proven != a.Lines {
			t.Fatalf("killed at step %d, and started again: %v, %d of %d lines proven", step, a.Faults, a.Proven, a.Lines)
		}
		if _, err := os.Lstat(h.d.AuditKey() + ".next"); err == nil {
			t.Errorf("killed at step %d: the next key lies there still", step)
		}
		must(t, h.lock.Close())
		if !dead {
			break
		}
	}
	if step < 40 {
		t.Errorf("only %d steps", step)
	}
}
