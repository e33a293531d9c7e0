// Package storetest makes throw-away installations for tests: folders under a
// temporary root, a host id, trust files, a chain that began with genesis, and
// ops that extend it.
//
// It knows no keys: a test that verifies signatures passes a Signer that makes
// real ones, the others pass nil and get bytes that no verifier accepts. Only
// tests may import it.
package storetest

import (
	"os"
	"testing"
	"time"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/record"
	"github.com/sbxcron/sbxcron/store"
	"github.com/sbxcron/sbxcron/store/safefile"
)

// Host is the id of every installation made here.
const Host jobspec.HostID = "000102030405060708090a0b0c0d0e0f"

// AuditKey is the verifier key that Genesis certifies; its private half is a seed
// of zeros.
const AuditKey = "sbxcron-000102030405060708090a0b0c0d0e0f+00d0d144+ATtqJ7zOtqQtYqOo0CpvDXNlMhV3HeJDpjrASKGLWdop"

// Principal owns every job made here.
const Principal jobspec.Principal = "alice"

// Epoch is when genesis was made; each op is a minute later than the one before.
func Epoch() time.Time { return time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC) }

// Signer signs op bytes in a namespace and returns what is stored of it.
type Signer func(namespace string, op []byte) []byte

func sign(s Signer, namespace string, op []byte) []byte {
	if s == nil {
		return []byte("not a signature, " + namespace)
	}
	return s(namespace, op)
}

// Dirs makes an empty root for the uid of the test. The folder is made private,
// since under umask 002 it would be one that others can write.
func Dirs(t testing.TB) store.Dirs {
	t.Helper()
	root := t.TempDir()
	must(t, os.Chmod(root, 0o700))
	d, err := store.RootDirs(root, os.Getuid())
	must(t, err)
	must(t, d.Make())
	return d
}

// Root is Dirs with host id and the given trust files.
func Root(t testing.TB, allowedSigners, revokedKeys string) store.Dirs {
	t.Helper()
	d := Dirs(t)
	must(t, store.WriteHost(d, Host))
	must(t, safefile.Create(d.AllowedSigners(), []byte(allowedSigners), d.ConfMode()))
	must(t, safefile.Create(d.RevokedKeys(), []byte(revokedKeys), d.ConfMode()))
	return d
}

// Lock takes the lock of d until the test ends.
func Lock(t testing.TB, d store.Dirs) *store.Lock {
	t.Helper()
	l, err := store.TryLock(d, store.LockWait)
	must(t, err)
	t.Cleanup(func() { l.Close() })
	return l
}

// Begin makes the chain of d from a genesis and returns it open until the test ends.
func Begin(t testing.TB, d store.Dirs, lock *store.Lock, s Signer) *store.Writer {
	t.Helper()
	op := Encode(t, Genesis(t, d))
	w, err := store.Begin(d, lock, store.RealDisk{}, op, sign(s, jobspec.RootNamespace, op), Epoch(), 0)
	must(t, err)
	t.Cleanup(func() { w.Close() })
	return w
}

// Genesis is the first op for the host and the trust files of d.
func Genesis(t testing.TB, d store.Dirs) *jobspec.Op {
	t.Helper()
	host, err := store.ReadHost(d)
	must(t, err)
	root := &jobspec.GenesisBody{AuditKey: AuditKey}
	if b, err := os.ReadFile(d.AllowedSigners()); err == nil {
		root.AllowedSigners = jobspec.DigestOf(b)
	}
	if b, err := os.ReadFile(d.RevokedKeys()); err == nil {
		root.RevokedKeys = jobspec.DigestOf(b)
	}
	return &jobspec.Op{
		Type: jobspec.OpType, Host: host, Action: jobspec.Genesis, Principal: Principal, Root: root,
		Created: jobspec.InstantOf(Epoch()), ApplyBefore: jobspec.InstantOf(Epoch().Add(24 * time.Hour)),
	}
}

// Next is an op about job that extends s: an add when the job is not there,
// otherwise the action, with everything that the action needs.
func Next(s *store.State, action jobspec.Action, job jobspec.Name) *jobspec.Op {
	created := jobspec.InstantOf(Epoch().Add(time.Duration(s.View.Next) * time.Minute))
	op := &jobspec.Op{
		Type: jobspec.OpType, Host: s.Host, Seq: s.View.Next, Prev: s.View.Head, Action: action, Job: job, Revision: 1,
		Created: created, ApplyBefore: created.Add(24 * time.Hour), Principal: Principal,
	}
	j, known := s.View.Job(job)
	if known {
		op.Revision = j.Revision + 1
	}
	switch action {
	case jobspec.Add, jobspec.Replace:
		op.Tier, op.Net = jobspec.Scratch, jobspec.NetNone
		op.Spec = &jobspec.Spec{Argv: []string{"/bin/true", string(job), created.String()}}
	case jobspec.Enable:
		op.Tier, op.Net, op.Target = j.Tier, j.Net, j.SpecOp
	}
	return op
}

// Commit signs op, commits it and returns the new state.
func Commit(t testing.TB, w *store.Writer, op *jobspec.Op, s Signer) *store.State {
	t.Helper()
	raw := Encode(t, op)
	namespace, err := w.State().View.Check(op)
	must(t, err)
	state, err := w.Commit(raw, sign(s, namespace, raw), op.Created.Time(), 0)
	must(t, err)
	return state
}

// Encode returns the bytes of op.
func Encode(t testing.TB, op *jobspec.Op) []byte {
	t.Helper()
	b, err := op.Encode()
	must(t, err)
	return b
}

// Leaf is a minimal leaf of the ledger, stated at a time.
func Leaf(kind record.Kind, at time.Time) *record.Leaf {
	return &record.Leaf{Host: Host, Kind: kind, Time: record.Stamp(at)}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
