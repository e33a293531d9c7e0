//go:build linux

package e2e

import (
	"fmt"
	"testing"
	"time"

	"github.com/sbxcron/sbxcron/cmd/internal/api"
	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/signing/signingtest"
	"github.com/sbxcron/sbxcron/store"
)

// TestOpsPutBeyondThePinRunNothing writes ops into the database as a crash could
// have left them, but none that anybody would have accepted.
func TestOpsPutBeyondThePinRunNothing(t *testing.T) {
	h := newHouse(t)
	dir := h.script("ws", "date >> ran")
	h.add("j", dir, "workspace", "./job.sh")
	all := []string{jobspec.ManageNamespace, "scratch.none.v1@sbxcron"}
	expired, revoked, stranger := signingtest.NewKey(t, "bob", all...), signingtest.NewKey(t, "bob", all...), signingtest.NewKey(t, "bob", all...)
	expired.ValidBefore = time.Now().Add(3 * time.Second).Truncate(time.Second)
	h.trustAlso(expired, revoked)
	h.write(h.dirs().RevokedKeys(), signingtest.RevokedKeys(revoked))
	h.admit("bob")
	draft := h.draftOp("scratch", "late")
	in := newInsider(t)
	for _, c := range []struct {
		name string
		edit func(op *jobspec.Op)
		sign func(raw []byte) [][]byte
		code jobspec.Code // the cause
	}{
		{"good", func(*jobspec.Op) {}, h.signed("scratch.none.v1@sbxcron"), ""},
		{"unsigned", nil, func([]byte) [][]byte { return [][]byte{{0}} }, "sig_invalid"},
		{"zeroes for a signature", nil, func(raw []byte) [][]byte { return [][]byte{make([]byte, 150)} }, "sig_invalid"},
		{"a bad signature before a good one", nil, func(raw []byte) [][]byte {
			return [][]byte{{0}, h.sign("scratch.none.v1@sbxcron", raw)}
		}, "sig_invalid"},
		{"sixteen good signatures", nil, func(raw []byte) [][]byte {
			return many(16, h.sign("scratch.none.v1@sbxcron", raw))
		}, "sig_invalid"},
		{"apply_before passed", func(op *jobspec.Op) { op.ApplyBefore = op.Created }, h.signed("scratch.none.v1@sbxcron"), "apply_before_passed"},
		{"created ahead", func(op *jobspec.Op) {
			op.Created = op.Created.Add(time.Hour)
			op.ApplyBefore = op.Created.Add(time.Hour)
		}, h.signed("scratch.none.v1@sbxcron"), "created_invalid"},
		{"created before the last op", func(op *jobspec.Op) { op.Created = op.Created.Add(-24 * time.Hour) }, h.signed("scratch.none.v1@sbxcron"), "created_invalid"},
		{"wrong namespace", nil, h.signed("workspace.none.v1@sbxcron"), "namespace_mismatch"},
		{"revoked key", asBob, by(t, revoked), "key_revoked"},
		{"expired key", asBob, by(t, expired), "key_expired"},
		{"unknown key", asBob, by(t, stranger), "key_unknown"},
		{"another's name", asBob, h.signed("scratch.none.v1@sbxcron"), "key_not_for_principal"},
		{"seq far ahead", func(op *jobspec.Op) { op.Seq = 1<<53 - 1 }, h.signed("scratch.none.v1@sbxcron"), "seq_invalid"},
		{"another predecessor", func(op *jobspec.Op) { op.Prev = jobspec.DigestOf(nil) }, h.signed("scratch.none.v1@sbxcron"), "head_moved"},
		{"another host", func(op *jobspec.Op) { op.Host = "000102030405060708090a0b0c0d0e0f" }, h.signed("scratch.none.v1@sbxcron"), "host_mismatch"},
		{"an older spec put back", func(op *jobspec.Op) { op.Job, op.Revision = "j", 1 }, h.signed("scratch.none.v1@sbxcron"), "job_exists"},
	} {
		t.Run(c.name, func(t *testing.T) {
			op := *draft
			if c.edit != nil {
				c.edit(&op)
			}
			raw := encode(t, &op)
			beyond := h.twin(t)
			beyond.putEntries(store.Entry{Seq: 2, Op: raw, Sigs: c.sign(raw)})
			switch c.code { // times in ops and trust files have whole seconds
			case jobspec.CodeApplyBeforePassed:
				time.Sleep(1100 * time.Millisecond)
			case jobspec.CodeKeyExpired: // the op itself says that it is older than that
				time.Sleep(time.Until(expired.ValidBefore.Add(1100 * time.Millisecond)))
				if op.Created.Time().After(expired.ValidBefore) {
					t.Fatal("the op is not older than the end of its key")
				}
			}
			beyond.judged(t, in, c.code)
		})
	}
	h.garbage(t, in)
}

// judged starts on what lies beyond the pin. Without a code it must be in force.
func (h *house) judged(t *testing.T, in *insider, code jobspec.Code) {
	t.Helper()
	reader, err := in.open(t, h, false) // a command that only reads says the same
	if err != nil {
		t.Fatal(err)
	}
	readerErr := reader.Proven()
	reader.Close()
	e, err := in.open(t, h, true)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	pin, err := store.ReadPin(h.dirs())
	if err != nil {
		t.Fatal(err)
	}
	if code == "" {
		if e.Proven() != nil || readerErr != nil || pin.Seq != 2 {
			t.Errorf("pin at %d, %v, %v; want it in force", pin.Seq, e.Proven(), readerErr)
		}
		return
	}
	for _, err := range []error{e.Proven(), readerErr} {
		if err == nil || api.Wrap(err).Exit != 12 || pin.Seq != 1 {
			t.Errorf("pin at %d, %v; want that nothing runs, class 12", pin.Seq, err)
			continue
		}
		if got := cause(err); got != code {
			t.Errorf("refused for %q (%v), want %q", got, err, code)
		}
	}
}

// cause is the code below the one that says "beyond the pin".
func cause(err error) jobspec.Code {
	if u, ok := err.(interface{ Unwrap() error }); ok && u.Unwrap() != nil {
		return jobspec.CodeOf(u.Unwrap())
	}
	return jobspec.CodeOf(err)
}

func many(n int, sig []byte) [][]byte {
	var all [][]byte
	for range n {
		all = append(all, sig)
	}
	return all
}

func (h *house) signed(namespace string) func([]byte) [][]byte {
	return func(raw []byte) [][]byte { return [][]byte{h.sign(namespace, raw)} }
}

func by(t *testing.T, k *signingtest.Key) func([]byte) [][]byte {
	return func(raw []byte) [][]byte { return [][]byte{k.Sign(t, "scratch.none.v1@sbxcron", raw)} }
}

func asBob(op *jobspec.Op) { op.Principal = "bob" }

// garbage is what is no op at all, and through the whole program.
func (h *house) garbage(t *testing.T, in *insider) {
	for i, raw := range []string{"{}", "x", `{"type":"sbxcron.op/v2"}`, `{"type":"sbxcron.op/v1","type":"sbxcron.op/v1"}`} {
		t.Run(fmt.Sprintf("garbage %d", i), func(t *testing.T) {
			bad := h.twin(t)
			bad.putEntries(store.Entry{Seq: 2, Op: []byte(raw), Sigs: [][]byte{h.sign("scratch.none.v1@sbxcron", []byte(raw))}})
			nothingRuns(t, in, bad, "op 2 ")
			if i == 0 {
				bad.brokenNow("garbage beyond the pin", "run", "j")
			}
		})
	}
}
