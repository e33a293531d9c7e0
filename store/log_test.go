package store_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
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

// tampering is something that was done to the files of a host, and what is said of
// it. Where the next start can know, nothing goes on.
type tampering struct {
	name   string
	do     func(h *logHost)
	code   jobspec.Code
	starts bool // the start looks at what it continues; the audit looks at everything
}

func (h *logHost) edit(path string, change func([]byte) []byte) {
	h.t.Helper()
	b, err := os.ReadFile(path)
	must(h.t, err)
	must(h.t, os.WriteFile(path, change(b), 0o600))
}

func (h *logHost) lines(change func([][]byte) [][]byte) {
	h.linesOf(0, change)
}

func (h *logHost) linesOf(month int, change func([][]byte) [][]byte) {
	h.edit(h.segments()[month], func(b []byte) []byte { return bytes.Join(change(bytes.SplitAfter(b, []byte("\n"))), nil) })
}

func editLine(n int) func(h *logHost) {
	return func(h *logHost) {
		h.lines(func(l [][]byte) [][]byte {
			l[n] = bytes.Replace(l[n], []byte(`"kind":"`), []byte(`"kind":"x`), 1)
			return l
		})
	}
}

var tamperings = []tampering{
	{"nothing", func(*logHost) {}, "", true},
	{"a line edited", editLine(3), jobspec.CodeLedgerTampered, true},
	{"the last line of a month edited", editLine(19), jobspec.CodeLedgerTampered, true},
	{"a line removed", func(h *logHost) {
		h.lines(func(l [][]byte) [][]byte { return append(l[:5:5], l[6:]...) })
	}, jobspec.CodeLedgerTampered, false},
	{"a line added", func(h *logHost) {
		h.lines(func(l [][]byte) [][]byte { return append(append(l[:5:5], l[0]), l[5:]...) })
	}, jobspec.CodeLedgerTampered, true},
	{"two lines swapped", func(h *logHost) {
		h.lines(func(l [][]byte) [][]byte { l[4], l[5] = l[5], l[4]; return l })
	}, jobspec.CodeLedgerTampered, true},
	{"lines removed from the end", func(h *logHost) {
		h.linesOf(1, func(l [][]byte) [][]byte { return l[:10] })
	}, jobspec.CodeLedgerTruncated, false},
	{"the oldest month removed", func(h *logHost) { must(h.t, os.Remove(h.segments()[0])) }, jobspec.CodeLedgerTampered, false},
	{"all lines removed", func(h *logHost) {
		all := h.segments()
		must(h.t, errors.Join(os.Remove(all[0]), os.Remove(all[1])))
	}, jobspec.CodeLedgerTruncated, false},
	{"the newest checkpoint removed", func(h *logHost) { must(h.t, os.Remove(h.d.Checkpoint())) }, jobspec.CodeCheckpointRollback, false},
	{"an older checkpoint put back", func(h *logHost) {
		notes, _, err := store.ReadEpochs(h.d)
		must(h.t, err)
		must(h.t, os.WriteFile(h.d.Checkpoint(), []byte(notes[0]), 0o600))
	}, jobspec.CodeCheckpointRollback, false},
	{"a byte of the newest checkpoint changed", func(h *logHost) {
		h.edit(h.d.Checkpoint(), func(b []byte) []byte { b[60] ^= 1; return b })
	}, jobspec.CodeCheckpointInvalid, false},
	{"the epochs removed", func(h *logHost) { must(h.t, os.Remove(h.d.Epochs())) }, jobspec.CodeCheckpointInvalid, false},
	{"the last epoch removed", func(h *logHost) {
		h.edit(h.d.Epochs(), func(b []byte) []byte { return b[:len(b)/2] })
	}, jobspec.CodeCheckpointInvalid, false},
	{"the first epoch removed", func(h *logHost) {
		h.edit(h.d.Epochs(), func(b []byte) []byte { return b[len(b)/2:] })
	}, jobspec.CodeCheckpointInvalid, false},
	{"a byte of an epoch changed", func(h *logHost) {
		h.edit(h.d.Epochs(), func(b []byte) []byte { b[60] ^= 1; return b })
	}, jobspec.CodeCheckpointInvalid, false},
	{"all checkpoints removed but the receipts", func(h *logHost) {
		must(h.t, errors.Join(os.Remove(h.d.Epochs()), os.Remove(h.d.Checkpoint())))
	}, jobspec.CodeCheckpointRollback, false},
	{"the whole ledger written again with the newest key", rewriteAll, jobspec.CodeCheckpointInvalid, false},
	{"the lines of an older epoch changed, with the newest key", rewriteOld, jobspec.CodeCheckpointFork, false},
	{"a receipt of another story", func(h *logHost) {
		h.edit(h.d.Receipts(), func(b []byte) []byte {
			var f merkle.Frontier
			f.Add(merkle.LeafHash([]byte("x")), nil)
			key, err := h.ring.Current()
			must(h.t, err)
			note, err := checkpoint.Checkpoint{Origin: h.ring.Name, Size: 40, Root: f.Root(), Epoch: 3, Time: jobspec.InstantOf(storetest.Epoch()), Head: head(0).Digest}.Sign(key)
			must(h.t, err)
			line := `{"type":"sbxcron.receipt/v1","checkpoint":"` + strings.ReplaceAll(note, "\n", `\u000a`) + "\"}\n"
			return append(b, line...)
		})
	}, jobspec.CodeCheckpointFork, true},
}

// rewriteAll is what the thief of today's key can do to all of yesterday's files.
func rewriteAll(h *logHost) {
	editLine(2)(h)
	must(h.t, errors.Join(os.Remove(h.d.Epochs()), os.Remove(h.d.Receipts()), os.Remove(h.d.Tree())))
	resign(h, 1)
}

// rewriteOld leaves the epochs as they are.
func rewriteOld(h *logHost) {
	editLine(2)(h)
	must(h.t, errors.Join(os.Remove(h.d.Receipts()), os.Remove(h.d.Tree())))
	resign(h, 3)
}

func resign(h *logHost, epoch int64) {
	var f merkle.Frontier
	hist, err := store.OpenHistory(h.d)
	must(h.t, err)
	must(h.t, hist.ScanLines(0, func(_ int64, line []byte) error { f.Add(merkle.LeafHash(line), nil); return nil }))
	key, err := h.ring.Current()
	must(h.t, err)
	note, err := checkpoint.Checkpoint{Origin: h.ring.Name, Size: f.Size(), Root: f.Root(), Epoch: epoch, Time: jobspec.InstantOf(storetest.Epoch()), Head: head(0).Digest}.Sign(key)
	must(h.t, err)
	must(h.t, os.WriteFile(h.d.Checkpoint(), []byte(note), 0o600))
}

func TestTamperingIsNamed(t *testing.T) {
	for _, c := range tamperings {
		t.Run(c.name, func(t *testing.T) {
			h := newLogHost(t)
			h.write(10, 3, 0)
			h.write(5, 5, day)
			h.write(5, 5, 2*day)
			before, err := store.ReadCheckpoint(h.d)
			must(t, err)
			c.do(h)
			a, codes := h.audit()
			if c.code == "" && len(codes) > 0 || c.code != "" && !slices.Contains(codes, c.code) {
				t.Errorf("audit says %v, want %s", a.Faults, c.code)
			}
			for _, f := range a.Faults {
				if f.Where == "" || f.Detail == "" {
					t.Errorf("%+v names nothing", f)
				}
			}
			_, g, err := h.tryOpen()
			if c.starts != (err == nil) {
				t.Errorf("start: %v", err)
			}
			if err == nil {
				again := g.Recheck(t.Context())
				if read := strings.HasPrefix(c.name, "nothing") || strings.HasPrefix(c.name, "a receipt"); read != (again == nil) {
					t.Errorf("read again: %v", again)
				}
				must(t, g.Close())
			}
			if c.code == "" {
				return
			}
			if _, codes := h.audit(store.Witness{Where: "op 7", Note: before}); len(codes) == 0 {
				t.Error("with an owner's checkpoint: nothing is found")
			}
		})
	}
}

func TestAnEditedLineIsNamedByItsPlace(t *testing.T) {
	h := newLogHost(t)
	h.write(10, 2, 0)
	editLine(7)(h)
	a, _ := h.audit()
	if len(a.Faults) != 1 || a.Faults[0].Where != "leaf 7" || a.Proven != 4 {
		t.Errorf("%+v", a)
	}
}

// Whoever has everything on the host, today's key included, is held by what left
// the host before.
func TestACheckpointThatLeftTheHostHoldsWhoHasEverything(t *testing.T) {
	h := newLogHost(t)
	h.write(10, 5, 0)
	kept, err := store.ReadCheckpoint(h.d)
	must(t, err)
	h.lines(func(l [][]byte) [][]byte { return l[:4] })
	must(t, errors.Join(os.Remove(h.d.Receipts()), os.Remove(h.d.Tree())))
	resign(h, 1)
	if _, codes := h.audit(); len(codes) != 0 {
		t.Errorf("by itself it is a sound ledger, but: %v", codes)
	}
	_, codes := h.audit(store.Witness{Where: "op 3", Note: kept})
	if len(codes) == 0 || codes[0] != jobspec.CodeCheckpointRollback {
		t.Errorf("with the owner's checkpoint: %v", codes)
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
