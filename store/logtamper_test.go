package store_test

import (
	"bytes"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/store"
	"github.com/sbxcron/sbxcron/store/checkpoint"
	"github.com/sbxcron/sbxcron/store/merkle"
	"github.com/sbxcron/sbxcron/store/storetest"
)

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
