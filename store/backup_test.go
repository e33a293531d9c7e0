package store_test

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"maps"
	mrand "math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/record"
	"github.com/sbxcron/sbxcron/signing/auditkey"
	"github.com/sbxcron/sbxcron/store"
	"github.com/sbxcron/sbxcron/store/checkpoint"
	"github.com/sbxcron/sbxcron/store/safefile"
	"github.com/sbxcron/sbxcron/store/storetest"
)

// fullHost is an installation with something of every kind, and no process on it.
type fullHost struct {
	d     store.Dirs
	run   string
	trust jobspec.Digest
}

func newFullHost(t *testing.T) fullHost {
	t.Helper()
	d := chainOf(t)
	lock, err := store.TryLock(d, store.LockWait)
	must(t, err)
	defer lock.Close()
	w, err := store.OpenWriter(d, lock, store.RealDisk{})
	must(t, err)
	for _, job := range []jobspec.Name{"extra"} {
		storetest.Commit(t, w, storetest.Next(w.State(), jobspec.Add, job), nil)
	}
	must(t, w.Close())
	h := fullHost{d: d, run: runID(t, storetest.Epoch())}
	h.trust, err = store.KeepTrust(d, store.AllowedSigners, []byte("alice namespaces=\"x\" ssh-ed25519 AAAA\n"))
	must(t, err)
	h.log(t, lock)
	return h
}

// log writes a run with outputs, and signs the ledger.
func (h fullHost) log(t *testing.T, lock *store.Lock) {
	t.Helper()
	parts := strings.SplitN(storetest.AuditKey, "+", 3)
	secret := base64.StdEncoding.EncodeToString(append([]byte{1}, make([]byte, 32)...))
	must(t, os.WriteFile(h.d.AuditKey(), []byte("PRIVATE+KEY+"+parts[0]+"+"+parts[1]+"+"+secret+"\n"), 0o600))
	leaf := sealed(t, store.NewOutputs(h.d, rand.Reader), h.run, strings.Repeat("hello\n", 300), "warning\n", "because")
	leaf.Kind, leaf.Time = record.Finished, storetest.Leaf(record.Finished, storetest.Epoch()).Time
	l, r := indexWith(t, h.d, lock, "boot")
	leaves := append(story(20), leaf)
	g, err := store.OpenLog(l, store.Certified{Key: storetest.AuditKey, Created: storetest.Epoch()},
		auditkey.Ring{Path: h.d.AuditKey(), Name: checkpoint.Origin(storetest.Host)}, store.RealDisk{})
	must(t, err)
	must(t, r.Add(appendLeaves(t, l, leaves...), leaves...))
	for day := range 2 {
		_, err := g.Checkpoint(storetest.Epoch().AddDate(0, 0, day), head(0))
		must(t, err)
	}
	must(t, errors.Join(r.Close(), g.Close(), l.Close()))
}

func (h fullHost) backup(t *testing.T) []byte {
	t.Helper()
	lock, err := store.TryLock(h.d, store.LockWait)
	must(t, err)
	defer lock.Close()
	var b bytes.Buffer
	must(t, store.Backup(h.d, lock, &b))
	return b.Bytes()
}

func (h fullHost) restore(t *testing.T, backup []byte) ([]store.Restored, error) {
	t.Helper()
	lock, err := store.TryLock(h.d, store.LockWait)
	must(t, err)
	defer lock.Close()
	return store.Restore(h.d, lock, bytes.NewReader(backup), storetest.Epoch())
}

// kinds are the files of each kind, by what finds fault with them.
func (h fullHost) kinds(t *testing.T) map[string]string {
	segments, err := filepath.Glob(filepath.Join(h.d.LedgerDir(), "*.jsonl"))
	must(t, err)
	return map[string]string{
		"chain": h.d.ChainDB(), "index": h.d.RunsDB(), "ledger": segments[0], "pin": h.d.Pin(), "host": h.d.Host(),
		"trust":  filepath.Join(h.d.TrustDir(), "allowed_signers."+strings.TrimPrefix(h.trust.String(), "sha256:")),
		"output": outputFile(h.d, h.run, "out"), "salts": outputFile(h.d, h.run, "json"),
		"epochs": h.d.Epochs(), "receipts": h.d.Receipts(), "checkpoint": h.d.Checkpoint(),
	}
}

// faults are the parts that check finds damaged.
func (h fullHost) faults() (bad []string) {
	for _, p := range store.CheckParts(h.d) {
		if p.Err != nil {
			bad = append(bad, p.Name+": "+p.Err.Error())
		}
	}
	return bad
}

func (h fullHost) lines(t *testing.T) (all []string) {
	t.Helper()
	history, err := store.OpenHistory(h.d)
	must(t, err)
	must(t, history.Scan(0, func(l store.Leaf) error { all = append(all, string(l.Line)); return nil }))
	return all
}

func (h fullHost) ops(t *testing.T) (all []string) {
	t.Helper()
	entries, err := store.ReadEntries(h.d)
	must(t, err)
	for _, e := range entries {
		all = append(all, string(e.Op))
	}
	return all
}

func TestASoundStoreHasNoFault(t *testing.T) {
	h := newFullHost(t)
	if bad := h.faults(); len(bad) > 0 {
		t.Fatal(bad)
	}
	for kind, path := range h.kinds(t) {
		if _, err := os.Lstat(path); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
	}
}

// Every kind of file is damaged in many ways: what was acknowledged reads as it
// was written or is named as damaged, nothing is made anew, and nothing crashes.
func TestDamageOfEachKindIsNamedOrHarmless(t *testing.T) {
	h := newFullHost(t)
	lines, ops := strings.Join(h.lines(t), "\n"), strings.Join(h.ops(t), "\n")
	rounds := 48
	if os.Getenv("SBXCRON_TEST_SOAK") != "" {
		rounds = 200
	}
	kinds := h.kinds(t)
	for i, kind := range slices.Sorted(maps.Keys(kinds)) {
		path, random := kinds[kind], mathrand(uint64(7+i))
		good, err := os.ReadFile(path)
		must(t, err)
		good = trimmed(good)
		named := 0
		for n := range rounds {
			bad := damaged(random, good, n)
			must(t, os.WriteFile(path, bad, 0o600))
			if len(h.faults()) > 0 {
				named++
			} else if strings.Join(h.lines(t), "\n") != lines || strings.Join(h.ops(t), "\n") != ops {
				t.Errorf("%s, round %d: other content, and no fault", kind, n)
			}
			if now, err := os.ReadFile(path); err != nil || !bytes.Equal(now, bad) {
				t.Fatalf("%s, round %d: the file was written: %v", kind, n, err)
			}
		}
		must(t, os.Remove(path))
		if bad := h.faults(); len(bad) == 0 && kind != "index" && kind != "trust" && kind != "receipts" {
			t.Errorf("%s is gone, and no fault", kind)
		}
		if _, err := os.Lstat(path); err == nil {
			t.Errorf("%s was made anew", kind)
		}
		must(t, os.WriteFile(path, good, 0o600))
		if named < rounds/20 {
			t.Errorf("%s: only %d of %d named", kind, named, rounds)
		}
		t.Logf("%s: %d of %d named", kind, named, rounds)
	}
	if bad := h.faults(); len(bad) > 0 {
		t.Error(bad)
	}
}

// trimmed leaves out the pages at the end of a database that were never used.
func trimmed(b []byte) []byte {
	for len(b) > 8192 && bytes.Equal(b[len(b)-4096:], make([]byte, 4096)) {
		b = b[:len(b)-4096]
	}
	return b
}

func mathrand(seed uint64) *mrand.Rand { return mrand.New(mrand.NewPCG(seed, 1)) }

// damaged flips a bit, zeroes a stretch, cuts the end off or empties the file.
func damaged(r *mrand.Rand, good []byte, n int) []byte {
	b := append([]byte(nil), good...)
	at := r.IntN(len(b))
	switch n % 4 {
	case 0:
		b[at] ^= 1 << r.IntN(8)
	case 1:
		clear(b[at:min(len(b), at+512)])
	case 2:
		b = b[:at]
	default:
		clear(b[at/4096*4096 : min(len(b), at/4096*4096+4096)])
	}
	return b
}

func TestRestorePutsBackWhatIsDamagedAndKeepsWhatIsNot(t *testing.T) {
	for _, kind := range []string{"chain", "ledger", "epochs", "trust", "output", "salts"} {
		for _, how := range []string{"cut", "gone"} {
			h := newFullHost(t)
			lines, ops := h.lines(t), h.ops(t)
			backup := h.backup(t)
			path := h.kinds(t)[kind]
			good, err := os.ReadFile(path)
			must(t, err)
			if how == "gone" {
				must(t, os.Remove(path))
			} else {
				must(t, os.WriteFile(path, good[:len(good)/2], 0o600))
			}
			done, err := h.restore(t, backup)
			if err != nil {
				t.Fatalf("%s %s: %v", kind, how, err)
			}
			if bad := h.faults(); len(bad) > 0 {
				t.Errorf("%s %s: %v", kind, how, bad)
			}
			if now, err := os.ReadFile(path); err != nil || kind != "chain" && !bytes.Equal(now, good) {
				t.Errorf("%s %s: not as it was: %v", kind, how, err)
			}
			if strings.Join(h.lines(t), "\n") != strings.Join(lines, "\n") || strings.Join(h.ops(t), "\n") != strings.Join(ops, "\n") {
				t.Errorf("%s %s: history is another", kind, how)
			}
			aside := 0
			for _, r := range done {
				if r.Aside == "" {
					continue
				}
				aside++
				if _, err := os.Lstat(r.Aside); err != nil {
					t.Errorf("%s %s: the damaged one is gone: %v", kind, how, err)
				}
			}
			if how == "cut" && aside == 0 {
				t.Errorf("%s: nothing was moved aside: %+v", kind, done)
			}
		}
	}
}

// A backup from before an op cannot take that op back, nor one from before a
// checkpoint what it vouches for: both lie in CONF, which is never restored.
func TestAnOlderBackupTakesNothingBack(t *testing.T) {
	h := newFullHost(t)
	old := h.backup(t)
	lock, err := store.TryLock(h.d, store.LockWait)
	must(t, err)
	w, err := store.OpenWriter(h.d, lock, store.RealDisk{})
	must(t, err)
	storetest.Commit(t, w, storetest.Next(w.State(), jobspec.Add, "later"), nil)
	must(t, errors.Join(w.Close(), lock.Close()))
	if _, err := h.restore(t, old); err != nil {
		t.Fatalf("a sound chain is kept: %v", err)
	}
	if n := len(h.ops(t)); n == 0 || h.faults() != nil {
		t.Fatal(n, h.faults())
	}
	must(t, os.Remove(h.d.ChainDB()))
	if _, err := h.restore(t, old); jobspec.CodeOf(err) != jobspec.CodeChainRollback {
		t.Errorf("restored a chain without the pinned op: %v", err)
	}
	if _, err := os.Lstat(h.d.ChainDB()); err == nil {
		t.Error("a chain was put there")
	}
}

func TestADamagedBackupRestoresNothing(t *testing.T) {
	h := newFullHost(t)
	good := h.backup(t)
	must(t, os.Remove(h.d.ChainDB()))
	random := mathrand(11)
	for n := range 100 {
		bad := damaged(random, good, n)
		_, err := h.restore(t, bad)
		_, missing := os.Lstat(h.d.ChainDB())
		if err == nil && missing == nil {
			// What lies between members is padding.
			if bad := h.faults(); len(bad) > 0 {
				t.Fatalf("round %d: %v", n, bad)
			}
			must(t, os.Remove(h.d.ChainDB()))
		} else if missing == nil {
			t.Fatalf("round %d: refused (%v), and restored", n, err)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(h.d.State, ".restore*")); len(left) > 0 {
		t.Error(left)
	}
}

func TestPrunedOutputsStayGone(t *testing.T) {
	h := newFullHost(t)
	backup := h.backup(t)
	lock, err := store.TryLock(h.d, store.LockWait)
	must(t, err)
	l := openLedger(t, h.d, lock)
	gone := storetest.Leaf(record.Pruned, storetest.Epoch())
	gone.Run, gone.Count, gone.Bytes = h.run, 3, 1
	appendLeaves(t, l, gone)
	must(t, errors.Join(l.Close(), lock.Close(), os.RemoveAll(h.d.OutputDir())))
	if _, err := h.restore(t, backup); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(outputFile(h.d, h.run, "out")); err == nil {
		t.Error("what was pruned is back")
	}
	if bad := h.faults(); len(bad) > 0 {
		t.Error(bad)
	}
}

func TestABackupHoldsNoSecretOfTheHost(t *testing.T) {
	h := newFullHost(t)
	must(t, safefile.Write(filepath.Join(h.d.Conf, "credentials"), []byte("hunter2"), 0o600))
	b := h.backup(t)
	if bytes.Contains(b, []byte("PRIVATE+KEY")) || bytes.Contains(b, []byte("hunter2")) {
		t.Error("a backup holds a key or a credential")
	}
	for _, name := range []string{"chain.db", "conf/pin", "conf/host", "ledger/epochs", "MANIFEST"} {
		if !bytes.Contains(b, []byte(name)) {
			t.Errorf("%s is missing", name)
		}
	}
}
