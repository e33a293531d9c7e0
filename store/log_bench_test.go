package store_test

import (
	"os"
	"testing"

	"github.com/sbxcron/sbxcron/jobspec/record"
	"github.com/sbxcron/sbxcron/store"
	"github.com/sbxcron/sbxcron/store/checkpoint"
	"github.com/sbxcron/sbxcron/store/storetest"
)

// unsynced is a disk that waits for nothing, so that what is ours can be measured.
type unsynced struct{ store.RealDisk }

func (unsynced) DataSync(*os.File) error { return nil }

// BenchmarkAppend appends one leaf, with the tree over the ledger and without.
func BenchmarkAppend(b *testing.B) {
	for name, disk := range map[string]store.Disk{"synced": store.RealDisk{}, "unsynced": unsynced{}} {
		for _, tree := range []bool{false, true} {
			b.Run(name+map[bool]string{false: "/lines", true: "/tree"}[tree], func(b *testing.B) {
				h := newLogHost(b)
				l, err := store.OpenLedger(h.d, h.lock, disk)
				must(b, err)
				defer l.Close()
				if tree {
					g, err := store.OpenLog(l, h.c, h.ring, disk)
					must(b, err)
					defer g.Close()
				}
				leaf := storetest.Leaf(record.Boot, storetest.Epoch())
				for b.Loop() {
					if _, err := l.Append(leaf); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// filled is a host with a ledger of n lines, signed.
func filled(b *testing.B, n int) *logHost {
	h := newLogHost(b)
	l, err := store.OpenLedger(h.d, h.lock, unsynced{})
	must(b, err)
	g, err := store.OpenLog(l, h.c, h.ring, unsynced{})
	must(b, err)
	batch := make([]*record.Leaf, 1000)
	for i := range batch {
		batch[i] = storetest.Leaf(record.Finished, storetest.Epoch())
	}
	for range n / len(batch) {
		if _, err := l.Append(batch...); err != nil {
			b.Fatal(err)
		}
	}
	h.checkpoint(g, 0)
	must(b, g.Close())
	must(b, l.Close())
	return h
}

// BenchmarkLog measures what is done beside the road of a run, on a million lines.
func BenchmarkLog(b *testing.B) {
	const lines = 1_000_000
	h := filled(b, lines)
	ledger, err := store.OpenLedger(h.d, h.lock, unsynced{})
	must(b, err)
	defer ledger.Close()
	open := func() *store.Log {
		g, err := store.OpenLog(ledger, h.c, h.ring, store.RealDisk{})
		must(b, err)
		return g
	}
	b.Run("open", func(b *testing.B) {
		for b.Loop() {
			must(b, open().Close())
		}
	})
	b.Run("open/hashes-lost", func(b *testing.B) {
		for b.Loop() {
			must(b, os.Truncate(h.d.Tree(), 0))
			must(b, open().Close())
		}
	})
	b.Run("audit", func(b *testing.B) {
		for b.Loop() {
			if a, codes := h.audit(); len(codes) != 0 || a.Proven != lines {
				b.Fatal(a)
			}
		}
	})
	b.Run("prove", func(b *testing.B) {
		note, err := store.ReadCheckpoint(h.d)
		must(b, err)
		c, err := checkpoint.Unverified(note)
		must(b, err)
		i := int64(0)
		for b.Loop() {
			p, err := store.OpenProofs(h.d, &ledger.History, store.Signed{Checkpoint: c, Note: note})
			must(b, err)
			_, _, err = p.Leaf(i % lines)
			must(b, err)
			p.Close()
			i += 7919
		}
	})
	b.Run("checkpoint", func(b *testing.B) {
		g := open()
		defer g.Close()
		for b.Loop() {
			if _, err := ledger.Append(storetest.Leaf(record.Boot, storetest.Epoch())); err != nil {
				b.Fatal(err)
			}
			h.checkpoint(g, 0)
		}
	})
}
