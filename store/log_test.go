package store_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/record"
	"github.com/sbxcron/sbxcron/signing/auditkey"
	"github.com/sbxcron/sbxcron/store"
	"github.com/sbxcron/sbxcron/store/checkpoint"
	"github.com/sbxcron/sbxcron/store/merkle"
	"github.com/sbxcron/sbxcron/store/storetest"
)

const day = 24 * time.Hour

// logHost is a host with a ledger and an audit key.
type logHost struct {
	t    testing.TB
	d    store.Dirs
	lock *store.Lock
	c    store.Certified
	ring auditkey.Ring
}

func newLogHost(t testing.TB) *logHost {
	t.Helper()
	d := storetest.Dirs(t)
	h := &logHost{t: t, d: d, ring: ringOf(d)}
	public, err := auditkey.Create(d.AuditKey(), h.ring.Name)
	must(t, err)
	h.c = store.Certified{Key: public, Created: storetest.Epoch()}
	must(t, os.WriteFile(d.Conf+"/certified", []byte(public), 0o600))
	h.lock = storetest.Lock(t, d)
	return h
}

const logHostID = jobspec.HostID("9c1f00000000000000000000000000ab")

func ringOf(d store.Dirs) auditkey.Ring {
	return auditkey.Ring{Path: d.AuditKey(), Name: checkpoint.Origin(logHostID)}
}

// open opens ledger and log; both are closed by the returned function.
func (h *logHost) open() (*store.Ledger, *store.Log, func()) {
	h.t.Helper()
	l, g, err := h.tryOpen()
	must(h.t, err)
	return l, g, func() { must(h.t, errors.Join(g.Close(), l.Close())) }
}

func (h *logHost) tryOpen() (*store.Ledger, *store.Log, error) {
	l, err := store.OpenLedger(h.d, h.lock, store.RealDisk{})
	if err != nil {
		return nil, nil, err
	}
	g, err := store.OpenLog(l, h.c, h.ring, store.RealDisk{})
	if err != nil {
		return nil, nil, errors.Join(err, l.Close())
	}
	return l, g, nil
}

func head(seq int64) store.Head {
	return store.Head{Seq: seq, Digest: jobspec.DigestOf(fmt.Append(nil, seq))}
}

func (h *logHost) checkpoint(g *store.Log, after time.Duration) []store.Signed {
	h.t.Helper()
	made, err := g.Checkpoint(storetest.Epoch().Add(after), head(0))
	must(h.t, err)
	return made
}

// write appends n leaves, with a checkpoint after each step.
func (h *logHost) write(n, step int, after time.Duration) {
	h.t.Helper()
	l, g, done := h.open()
	defer done()
	for i := range n {
		_, err := l.Append(storetest.Leaf(record.Boot, storetest.Epoch().Add(after)), storetest.Leaf(record.Alert, storetest.Epoch().Add(after)))
		must(h.t, err)
		if i%step == step-1 {
			h.checkpoint(g, after)
		}
	}
}

// audit reads everything and returns the codes of what is wrong.
func (h *logHost) audit(brought ...store.Witness) (*store.LogAudit, []jobspec.Code) {
	h.t.Helper()
	hist, err := store.OpenHistory(h.d)
	must(h.t, err)
	a, err := store.AuditLog(h.d, hist, h.c.Key, brought)
	must(h.t, err)
	var codes []jobspec.Code
	for _, f := range a.Faults {
		codes = append(codes, f.Reason)
	}
	return a, codes
}

func (h *logHost) segments() []string {
	h.t.Helper()
	all, err := filepath.Glob(filepath.Join(h.d.LedgerDir(), "*.jsonl"))
	must(h.t, err)
	return all
}

func TestCheckpointIsTheRootOfTheLines(t *testing.T) {
	h := newLogHost(t)
	l, g, done := h.open()
	if got := h.checkpoint(g, 0); len(got) != 1 || got[0].Size != 0 || got[0].Root != merkle.EmptyRoot() {
		t.Fatalf("before the first line: %+v", got)
	}
	var tree merkle.Frontier
	for i := range 20 {
		first, err := l.Append(storetest.Leaf(record.Boot, storetest.Epoch()), storetest.Leaf(record.Alert, storetest.Epoch()))
		must(t, err)
		must(t, l.ScanLines(first, func(_ int64, line []byte) error { tree.Add(merkle.LeafHash(line), nil); return nil }))
		got := h.checkpoint(g, time.Duration(i)*time.Minute)
		if len(got) != 1 || got[0].Root != tree.Root() || got[0].Size != tree.Size() || got[0].Epoch != 1 {
			t.Fatalf("after %d leaves: %+v", tree.Size(), got)
		}
		if again := h.checkpoint(g, time.Duration(i)*time.Minute); len(again) != 0 {
			t.Fatalf("nothing was appended, and there is one more: %+v", again)
		}
	}
	done()
	a, codes := h.audit()
	if len(codes) != 0 || a.Proven != 40 || a.Lines != 40 || a.Checkpoints != 22 {
		t.Errorf("%+v", a)
	}
	_, g, done = h.open()
	defer done()
	if got := h.checkpoint(g, time.Hour); len(got) != 0 {
		t.Errorf("opened again: one more checkpoint, %+v", got)
	}
}

func TestEachEpochHasItsKeyAndItsLastCheckpoint(t *testing.T) {
	h := newLogHost(t)
	l, g, done := h.open()
	var keys []string
	for n := range 5 {
		if n != 2 { // on that day nothing is written
			_, err := l.Append(storetest.Leaf(record.Boot, storetest.Epoch()))
			must(t, err)
		}
		h.checkpoint(g, time.Duration(n)*day)
		key, err := os.ReadFile(h.d.AuditKey())
		must(t, err)
		for _, old := range keys {
			if bytes.Equal(key, []byte(old)) {
				t.Error("a key is used for two epochs")
			}
		}
		keys = append(keys, string(key))
	}
	done()
	notes, _, err := store.ReadEpochs(h.d)
	must(t, err)
	if len(notes) != 4 {
		t.Fatalf("%d epochs have ended, want 4", len(notes))
	}
	if a, codes := h.audit(); len(codes) != 0 || a.Keys.Epoch() != 5 {
		t.Errorf("%v", a.Faults)
	}
	files, err := os.ReadDir(h.d.Conf)
	must(t, err)
	for _, f := range files {
		b, err := os.ReadFile(filepath.Join(h.d.Conf, f.Name()))
		must(t, err)
		for _, old := range keys[:len(keys)-1] {
			if strings.Contains(string(b), strings.TrimSpace(old)) {
				t.Errorf("%s holds the key of an epoch that has ended", f.Name())
			}
		}
	}
}

// The file of hashes is derived: whatever becomes of it, the next checkpoint has
// the root of the lines.
func TestTheFileOfHashesIsMadeAgain(t *testing.T) {
	for name, do := range map[string]func(h *logHost){
		"removed": func(h *logHost) { must(h.t, os.Remove(h.d.Tree())) },
		"cut":     func(h *logHost) { must(h.t, os.Truncate(h.d.Tree(), 100)) },
		"zeroed": func(h *logHost) {
			h.edit(h.d.Tree(), func(b []byte) []byte { return make([]byte, len(b)) })
		},
		"longer": func(h *logHost) { h.edit(h.d.Tree(), func(b []byte) []byte { return append(b, b...) }) },
		"a bit": func(h *logHost) {
			h.edit(h.d.Tree(), func(b []byte) []byte { b[merkle.HashBytes*5] ^= 1; return b })
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newLogHost(t)
			h.write(9, 2, 0)
			do(h)
			h.write(4, 4, 0)
			if _, codes := h.audit(); len(codes) != 0 {
				t.Errorf("%v", codes)
			}
			h.proveAll()
		})
	}
}

// proveAll makes and checks every proof in the newest checkpoint.
func (h *logHost) proveAll() {
	h.t.Helper()
	hist, err := store.OpenHistory(h.d)
	must(h.t, err)
	a, _ := h.audit()
	p, err := store.OpenProofs(h.d, hist, a.Newest)
	must(h.t, err)
	defer p.Close()
	must(h.t, hist.ScanLines(0, func(i int64, line []byte) error {
		if i >= a.Newest.Size {
			return nil
		}
		leaf, _, err := p.Leaf(i)
		if err != nil || leaf != merkle.LeafHash(line) {
			h.t.Errorf("leaf %d: %v", i, err)
		}
		if _, err := p.From(i); err != nil {
			h.t.Errorf("from %d: %v", i, err)
		}
		return nil
	}))
}

// Whatever order lines, checkpoints, days, starts and losses of the derived file
// come in: what is signed is what was appended.
func TestAnyOrderOfStepsLeavesASoundLog(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		h := newLogHost(t)
		defer func() { must(t, h.lock.Close()) }()
		l, g, done := h.open()
		now, want := time.Duration(0), int64(0)
		for range rapid.IntRange(1, 25).Draw(rt, "steps") {
			switch rapid.SampledFrom([]string{"append", "append", "checkpoint", "day", "open", "lose"}).Draw(rt, "step") {
			case "append":
				n := rapid.IntRange(1, 9).Draw(rt, "lines")
				var leaves []*record.Leaf
				for range n {
					leaves = append(leaves, storetest.Leaf(record.Alert, storetest.Epoch().Add(now)))
				}
				_, err := l.Append(leaves...)
				must(t, err)
				want += int64(n)
			case "checkpoint":
				h.checkpoint(g, now)
			case "day":
				now += day
			case "lose":
				done()
				must(t, os.Truncate(h.d.Tree(), 0))
				l, g, done = h.open()
			case "open":
				done()
				l, g, done = h.open()
			}
		}
		h.checkpoint(g, now)
		done()
		a, codes := h.audit()
		if len(codes) != 0 || a.Proven != want || a.Lines != want {
			rt.Fatalf("%d lines: %+v", want, a)
		}
		h.proveAll()
	})
}
