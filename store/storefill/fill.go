// Package storefill makes long chains for measuring and for tests: it writes the
// database of a root directly, many ops a transaction, where a commit would take a
// few syncs each. What it writes is what commits would have written, byte for byte,
// if the ops are such; the chain is proven when it is opened as any other is.
//
// Only sbxbench and tests may import it: it takes no lock and asks nobody.
package storefill

import (
	"encoding/binary"
	"fmt"
	"runtime"
	"sync"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/canon"
	"github.com/sbxcron/sbxcron/store"
	"github.com/sbxcron/sbxcron/store/safefile"
)

// Source makes what is filled in.
type Source struct {
	// Op makes the op at a position, which follows the op of the given digest.
	Op func(seq int64, prev jobspec.Digest) ([]byte, error)
	// Sign makes the signature of an op. Several goroutines call it.
	Sign func(op []byte) ([]byte, error)
}

// step is how many ops one transaction takes.
const step = 4096

// Chain writes ops behind the head of the chain of d until it has n, and moves the
// pin to the last one. The chain must be there, with its genesis, and closed.
func Chain(d store.Dirs, n int64, from Source) error {
	state, err := store.Load(d)
	if err != nil {
		return err
	}
	db, err := bolt.Open(d.ChainDB(), 0o600, &bolt.Options{Timeout: time.Second, NoSync: true, NoFreelistSync: true, FreelistType: bolt.FreelistMapType})
	if err != nil {
		return fmt.Errorf("fill chain: %w", err)
	}
	next, head := state.View.Next, state.View.Head
	for next < n && err == nil {
		next, head, err = fillSome(db, next, min(n, next+step), head, from)
	}
	if err == nil {
		err = db.Sync()
	}
	if cerr := db.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return fmt.Errorf("fill chain: %w", err)
	}
	pin := state.Pin
	pin.Seq, pin.Digest = next-1, head
	b, err := canon.Marshal(&pin)
	if err != nil {
		return err
	}
	return safefile.Write(d.Pin(), b, d.ConfMode())
}

func fillSome(db *bolt.DB, from, to int64, head jobspec.Digest, source Source) (int64, jobspec.Digest, error) {
	ops := make([][]byte, to-from)
	for i := range ops {
		op, err := source.Op(from+int64(i), head)
		if err != nil {
			return from, head, err
		}
		ops[i], head = op, jobspec.DigestOf(op)
	}
	sigs, err := signAll(ops, source.Sign)
	if err != nil {
		return from, head, err
	}
	return to, head, db.Update(func(tx *bolt.Tx) error {
		bucket := tx.Bucket([]byte("ops"))
		bucket.FillPercent = 1 // keys only grow
		for i, op := range ops {
			key := binary.BigEndian.AppendUint64(nil, uint64(from+int64(i)))
			if err := bucket.Put(key, value(op, sigs[i])); err != nil {
				return err
			}
		}
		return nil
	})
}

// value is an entry with one signature, as store lays it out.
func value(op, sig []byte) []byte {
	out := []byte{1, 1}
	out = binary.AppendUvarint(out, uint64(len(op)))
	out = binary.AppendUvarint(out, uint64(len(sig)))
	return append(append(out, op...), sig...)
}

func signAll(ops [][]byte, sign func([]byte) ([]byte, error)) ([][]byte, error) {
	sigs := make([][]byte, len(ops))
	var wg sync.WaitGroup
	var once sync.Once
	var failed error
	workers := runtime.GOMAXPROCS(0)
	for w := range workers {
		wg.Go(func() {
			for i := w; i < len(ops); i += workers {
				var err error
				if sigs[i], err = sign(ops[i]); err != nil {
					once.Do(func() { failed = err })
					return
				}
			}
		})
	}
	wg.Wait()
	return sigs, failed
}
