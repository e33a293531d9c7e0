package store_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/store"
	"github.com/sbxcron/sbxcron/store/storetest"
)

// chainOf makes a chain of genesis, adds, a replace, a disable, an enable and a
// remove, and closes it.
func chainOf(t *testing.T) store.Dirs {
	t.Helper()
	d := storetest.Root(t, "", "")
	lock, err := store.TryLock(d, store.LockWait)
	must(t, err)
	defer lock.Close()
	w := storetest.Begin(t, d, lock, nil)
	for _, step := range []struct {
		action jobspec.Action
		job    jobspec.Name
	}{{jobspec.Add, "one"}, {jobspec.Add, "two"}, {jobspec.Replace, "one"}, {jobspec.Disable, "two"}, {jobspec.Enable, "two"}, {jobspec.Remove, "one"}} {
		storetest.Commit(t, w, storetest.Next(w.State(), step.action, step.job), nil)
	}
	must(t, w.Close())
	return d
}

const chainLen = 7

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// edit changes the database as somebody could who has its file.
func edit(t *testing.T, d store.Dirs, fn func(ops *bolt.Bucket) error) {
	t.Helper()
	db, err := bolt.Open(d.ChainDB(), 0o600, &bolt.Options{Timeout: time.Second, NoFreelistSync: true})
	must(t, err)
	defer db.Close()
	must(t, db.Update(func(tx *bolt.Tx) error { return fn(tx.Bucket([]byte("ops"))) }))
}

func key(seq int) []byte { return []byte{0, 0, 0, 0, 0, 0, 0, byte(seq)} }

// wantFault checks code and op of an error; seq -2 accepts any op.
func wantFault(t *testing.T, err error, code jobspec.Code, seq int64) {
	t.Helper()
	var e *store.Error
	if !errors.As(err, &e) {
		t.Fatalf("error %v, want code %s", err, code)
	}
	if e.Code() != string(code) || seq != -2 && e.Seq != seq {
		t.Fatalf("code %s op %d (%v), want %s op %d", e.Code(), e.Seq, err, code, seq)
	}
}

func TestCommittedOpsAreInForceAfterReopening(t *testing.T) {
	d := chainOf(t)
	s, err := store.Load(d)
	must(t, err)
	if s.Pin.Seq != chainLen-1 || s.View.Next != chainLen || s.Len() != chainLen || len(s.Pending) != 0 {
		t.Fatalf("pin %d, next %d, len %d, pending %d", s.Pin.Seq, s.View.Next, s.Len(), len(s.Pending))
	}
	one, _ := s.View.Job("one")
	two, _ := s.View.Job("two")
	if one.State != jobspec.JobRemoved || two.State != jobspec.JobActive || two.ForceSeq != 5 {
		t.Errorf("one is %s, two is %s by op %d", one.State, two.State, two.ForceSeq)
	}
}

func TestStateInMemoryEqualsStateFromDisk(t *testing.T) {
	d := storetest.Root(t, "", "")
	w := storetest.Begin(t, d, storetest.Lock(t, d), nil)
	old := w.State()
	for i := range 5 {
		storetest.Commit(t, w, storetest.Next(w.State(), jobspec.Add, jobspec.Name(fmt.Sprintf("j%d", i))), nil)
	}
	if old.View.Next != 1 || old.Len() != 1 {
		t.Error("a commit changed a state that was handed out")
	}
	mem := w.State()
	must(t, w.Close())
	disk, err := store.Load(d)
	must(t, err)
	if disk.View.Head != mem.View.Head || disk.Pin != mem.Pin || len(disk.View.Jobs()) != len(mem.View.Jobs()) {
		t.Errorf("memory %+v, disk %+v", mem.Pin, disk.Pin)
	}
}

func TestEveryBitOfEveryOpIsProven(t *testing.T) {
	d := chainOf(t)
	values := map[int][]byte{}
	edit(t, d, func(ops *bolt.Bucket) error {
		for seq := range chainLen {
			values[seq] = append([]byte(nil), ops.Get(key(seq))...)
		}
		return nil
	})
	for seq, value := range values {
		// 197 is prime to 8: every bit position is met. Signatures are the verifier's.
		for bit := 0; bit/8 <= bytes.LastIndexByte(value, '}'); bit += 197 {
			bad := append([]byte(nil), value...)
			bad[bit/8] ^= 1 << (bit % 8)
			edit(t, d, func(ops *bolt.Bucket) error { return ops.Put(key(seq), bad) })
			_, err := store.Load(d)
			var e *store.Error
			if !errors.As(err, &e) || e.Seq != int64(seq) {
				t.Fatalf("op %d bit %d: %v", seq, bit, err)
			}
		}
		edit(t, d, func(ops *bolt.Bucket) error { return ops.Put(key(seq), value) })
	}
	if _, err := store.Load(d); err != nil {
		t.Fatal(err)
	}
}

func TestChangedChainIsRefusedByName(t *testing.T) {
	get := func(ops *bolt.Bucket, seq int) []byte { return append([]byte(nil), ops.Get(key(seq))...) }
	for name, c := range map[string]struct {
		edit func(ops *bolt.Bucket) error
		code jobspec.Code
		seq  int64
	}{
		"last op cut off":   {func(o *bolt.Bucket) error { return o.Delete(key(6)) }, jobspec.CodeChainRollback, store.NoSeq},
		"middle op deleted": {func(o *bolt.Bucket) error { return o.Delete(key(3)) }, jobspec.CodeOpTampered, 3},
		"genesis deleted":   {func(o *bolt.Bucket) error { return o.Delete(key(0)) }, jobspec.CodeOpTampered, 0},
		"empty value":       {func(o *bolt.Bucket) error { return o.Put(key(2), []byte{}) }, jobspec.CodeOpTampered, 2},
		"two ops swapped": {func(o *bolt.Bucket) error {
			a, b := get(o, 2), get(o, 4)
			return errors.Join(o.Put(key(2), b), o.Put(key(4), a))
		}, jobspec.CodeOpTampered, 4},
		"older op in another's":    {func(o *bolt.Bucket) error { return o.Put(key(4), get(o, 2)) }, jobspec.CodeOpTampered, 4},
		"pinned op replaced":       {func(o *bolt.Bucket) error { return o.Put(key(6), get(o, 5)) }, jobspec.CodeChainRollback, 6},
		"unknown version of entry": {func(o *bolt.Bucket) error { v := get(o, 1); v[0] = 9; return o.Put(key(1), v) }, jobspec.CodeOpTampered, 1},
		"value cut short":          {func(o *bolt.Bucket) error { v := get(o, 1); return o.Put(key(1), v[:len(v)-1]) }, jobspec.CodeOpTampered, 1},
		"value longer":             {func(o *bolt.Bucket) error { return o.Put(key(1), append(get(o, 1), 0)) }, jobspec.CodeOpTampered, 1},
		"stray key":                {func(o *bolt.Bucket) error { return o.Put([]byte("x"), []byte("y")) }, jobspec.CodeChainBroken, store.NoSeq},
		"gap beyond the pin":       {func(o *bolt.Bucket) error { return o.Put(key(9), get(o, 6)) }, jobspec.CodeChainBroken, store.NoSeq},
	} {
		t.Run(name, func(t *testing.T) {
			d := chainOf(t)
			edit(t, d, c.edit)
			_, err := store.Load(d)
			wantFault(t, err, c.code, c.seq)
		})
	}
}

func TestChainCutToEveryLengthIsARollback(t *testing.T) {
	d := chainOf(t)
	for seq := chainLen - 1; seq >= 0; seq-- {
		edit(t, d, func(ops *bolt.Bucket) error { return ops.Delete(key(seq)) })
		_, err := store.Load(d)
		wantFault(t, err, jobspec.CodeChainRollback, store.NoSeq)
	}
}

func TestOlderDatabasePutBackIsARollback(t *testing.T) {
	d := storetest.Root(t, "", "")
	lock := storetest.Lock(t, d)
	w := storetest.Begin(t, d, lock, nil)
	storetest.Commit(t, w, storetest.Next(w.State(), jobspec.Add, "one"), nil)
	must(t, w.Close())
	old, err := os.ReadFile(d.ChainDB())
	must(t, err)
	w, err = store.OpenWriter(d, lock, store.RealDisk{})
	must(t, err)
	storetest.Commit(t, w, storetest.Next(w.State(), jobspec.Remove, "one"), nil)
	must(t, w.Close())
	must(t, os.WriteFile(d.ChainDB(), old, 0o600))
	_, err = store.Load(d)
	wantFault(t, err, jobspec.CodeChainRollback, store.NoSeq)
}

func TestDatabaseOfAnotherHostIsRefused(t *testing.T) {
	d, other := chainOf(t), storetest.Dirs(t)
	must(t, store.WriteHost(other, "ffffffffffffffffffffffffffffffff"))
	w := storetest.Begin(t, other, storetest.Lock(t, other), nil)
	for i := range chainLen - 1 {
		storetest.Commit(t, w, storetest.Next(w.State(), jobspec.Add, jobspec.Name(fmt.Sprintf("j%d", i))), nil)
	}
	must(t, w.Close())
	copyFile(t, other.ChainDB(), d.ChainDB())
	_, err := store.Load(d)
	wantFault(t, err, jobspec.CodeHostMismatch, chainLen-1)

	copyFile(t, other.Pin(), d.Pin())
	_, err = store.Load(d)
	wantFault(t, err, jobspec.CodeHostMismatch, store.NoSeq)
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	b, err := os.ReadFile(from)
	must(t, err)
	must(t, os.WriteFile(to, b, 0o600))
}

func TestMissingPartsHaveTheirOwnNames(t *testing.T) {
	t.Run("nothing at all", func(t *testing.T) {
		_, err := store.Load(storetest.Dirs(t))
		if !errors.As(err, new(*store.UninitialisedError)) {
			t.Fatal(err)
		}
	})
	t.Run("only the host id", func(t *testing.T) {
		_, err := store.Load(storetest.Root(t, "", ""))
		wantFault(t, err, jobspec.CodeInitIncomplete, store.NoSeq)
	})
	for name, c := range map[string]struct {
		remove func(d store.Dirs) string
		code   jobspec.Code
	}{
		"chain": {store.Dirs.ChainDB, jobspec.CodeChainMissing},
		"pin":   {store.Dirs.Pin, jobspec.CodePinMissing},
		"host":  {store.Dirs.Host, jobspec.CodeHostMismatch},
	} {
		t.Run(name, func(t *testing.T) {
			d := chainOf(t)
			must(t, os.Remove(c.remove(d)))
			_, err := store.Load(d)
			wantFault(t, err, c.code, store.NoSeq)
			lock := storetest.Lock(t, d)
			if _, err := store.OpenWriter(d, lock, store.RealDisk{}); err == nil {
				t.Fatal("opened for writing")
			}
			if _, err := os.Lstat(c.remove(d)); !errors.Is(err, fs.ErrNotExist) {
				t.Fatal("what was missing was made anew")
			}
		})
	}
}

func TestDamagedPinIsPinCorrupt(t *testing.T) {
	d := chainOf(t)
	good, err := os.ReadFile(d.Pin())
	must(t, err)
	for name, b := range map[string][]byte{
		"empty": {}, "cut": good[:len(good)-3], "line end": append(good[:len(good):len(good)], '\n'), "no pin": []byte(`{"type":"sbxcron.pin/v2"}`), "zeros": make([]byte, 40),
	} {
		must(t, os.WriteFile(d.Pin(), b, 0o600))
		_, err := store.Load(d)
		var e *store.Error
		if !errors.As(err, &e) || e.Code() != string(jobspec.CodePinCorrupt) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestDamagedDatabaseFileIsRefusedAndNeverMadeAnew(t *testing.T) {
	for name, damage := range map[string]func(b []byte) []byte{
		"empty":         func(b []byte) []byte { return nil },
		"zeroed":        func(b []byte) []byte { return make([]byte, len(b)) },
		"one page":      func(b []byte) []byte { return b[:4096] },
		"two pages":     func(b []byte) []byte { return b[:8192] },
		"three pages":   func(b []byte) []byte { return b[:3*4096] },
		"text":          func(b []byte) []byte { return []byte("hello") },
		"zeroed behind": func(b []byte) []byte { return append(b[:8192:8192], make([]byte, len(b)-8192)...) },
	} {
		t.Run(name, func(t *testing.T) {
			d := chainOf(t)
			b, err := os.ReadFile(d.ChainDB())
			must(t, err)
			bad := damage(b)
			must(t, os.WriteFile(d.ChainDB(), bad, 0o600))
			_, err = store.Load(d)
			wantFault(t, err, jobspec.CodeStoreCorrupt, store.NoSeq)
			if _, err := store.OpenWriter(d, storetest.Lock(t, d), store.RealDisk{}); err == nil {
				t.Fatal("opened for writing")
			}
			after, err := os.ReadFile(d.ChainDB())
			must(t, err)
			if string(after) != string(bad) {
				t.Error("opening changed the damaged file")
			}
		})
	}
}

func TestDatabaseThatOthersCanReadIsRefused(t *testing.T) {
	d := chainOf(t)
	must(t, os.Chmod(d.ChainDB(), 0o644))
	_, err := store.Load(d)
	if code(err) != string(jobspec.CodeStorePerms) {
		t.Fatal(err)
	}
}

func code(err error) string {
	var c interface{ Code() string }
	if errors.As(err, &c) {
		return c.Code()
	}
	return ""
}

func TestEntryFindsWhatChangedUnderAnOpenChain(t *testing.T) {
	d := chainOf(t)
	c, err := store.OpenChain(d)
	must(t, err)
	defer c.Close()
	e, err := c.Entry(2)
	must(t, err)
	if want, _ := c.State().Digest(2); jobspec.DigestOf(e.Op) != want || len(e.Sigs) != 1 {
		t.Fatal("entry 2 is not the proven one")
	}
	must(t, c.Recheck())
	if _, err := c.Entry(chainLen); code(err) != string(jobspec.CodeSeqInvalid) {
		t.Fatal(err)
	}
	must(t, os.Rename(d.ChainDB(), d.ChainDB()+".old"))
	_, err = c.Entry(2)
	wantFault(t, err, jobspec.CodeChainMissing, store.NoSeq)
	copyFile(t, d.ChainDB()+".old", d.ChainDB())
	_, err = c.Entry(2)
	wantFault(t, err, jobspec.CodeChainRollback, store.NoSeq)
}

func TestEntryHoldsBytesOnDiskAgainstTheProof(t *testing.T) {
	d := chainOf(t)
	c, err := store.OpenChain(d)
	must(t, err)
	defer c.Close()
	b, err := os.ReadFile(d.ChainDB())
	must(t, err)
	e, err := c.Entry(1)
	must(t, err)
	f, err := os.OpenFile(d.ChainDB(), os.O_RDWR, 0)
	must(t, err)
	defer f.Close()
	for at := 0; ; {
		i := bytes.Index(b[at:], e.Op)
		if i < 0 {
			break
		}
		i += at
		_, err := f.WriteAt([]byte{b[i+30] ^ 1}, int64(i+30))
		must(t, err)
		at = i + 1
	}
	_, err = c.Entry(1)
	wantFault(t, err, jobspec.CodeOpTampered, 1)
}

func TestReadEntriesShowsWhatIsLeft(t *testing.T) {
	d := chainOf(t)
	edit(t, d, func(ops *bolt.Bucket) error { return errors.Join(ops.Delete(key(3)), ops.Put(key(4), []byte{7})) })
	all, err := store.ReadEntries(d)
	must(t, err)
	if len(all) != chainLen-2 {
		t.Errorf("%d entries, want %d", len(all), chainLen-2)
	}
}

func TestLinkInThePlaceOfTheDatabaseIsRefused(t *testing.T) {
	d := chainOf(t)
	moved := filepath.Join(filepath.Dir(d.State), "elsewhere.db")
	must(t, os.Rename(d.ChainDB(), moved))
	must(t, os.Symlink(moved, d.ChainDB()))
	if _, err := store.Load(d); code(err) != string(jobspec.CodeStorePerms) {
		t.Fatal(err)
	}
}
