package engine

import (
	"os"
	"testing"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/signing/signingtest"
	"github.com/sbxcron/sbxcron/store"
	"golang.org/x/crypto/ssh"
)

// What is remembered of a signature never hides a change of what it stands on.
func TestARememberedSignatureIsJudgedAnewWhenTrustChanges(t *testing.T) {
	b := newBench(t)
	b.commit(jobspec.Add, "job")
	e := b.open(true)
	want := func(when string, code jobspec.Code) {
		t.Helper()
		for range 2 {
			v, err := e.Current("job")
			must(t, err)
			if v.Refused != code || v.Signed.Valid() != (code == "") {
				t.Errorf("%s: refused %q (%s), valid %v; want %q", when, v.Refused, v.Detail, v.Signed.Valid(), code)
			}
		}
	}
	want("at first", "")
	allowed, err := os.ReadFile(b.dirs.AllowedSigners())
	must(t, err)
	must(t, os.WriteFile(b.dirs.RevokedKeys(), ssh.MarshalAuthorizedKey(b.key.Public()), 0o600))
	want("revoked", jobspec.CodeKeyRevoked)
	must(t, os.WriteFile(b.dirs.RevokedKeys(), nil, 0o600))
	want("no more", "")
	other := signingtest.FixedKey(t, "bob", "bob", jobspec.JobNamespaces()...)
	must(t, os.WriteFile(b.dirs.AllowedSigners(), signingtest.AllowedSigners(t, other), 0o600))
	want("another is trusted", jobspec.CodeKeyUnknown)
	must(t, os.WriteFile(b.dirs.AllowedSigners(), allowed, 0o600))
	want("as before", "")
}

func TestAMemoTellsEachByteOfAnEntryApart(t *testing.T) {
	b := newBench(t)
	b.commit(jobspec.Add, "job")
	e := b.open(true)
	v, err := e.Current("job")
	must(t, err)
	trust, err := e.trust()
	must(t, err)
	var asked int
	ask := func(entry store.Entry) {
		_, err := e.memo.of(trust, entry, func() (Verified, error) { asked++; return Verified{Refused: jobspec.CodeSigInvalid}, nil })
		must(t, err)
	}
	ask(v.Entry)
	if asked != 0 {
		t.Error("what was just verified is not remembered")
	}
	for i, change := range []func(e *store.Entry){
		func(e *store.Entry) { e.Op = append([]byte{}, e.Op...); e.Op[len(e.Op)/2] ^= 1 },
		func(e *store.Entry) { s := append([]byte{}, e.Sigs[0]...); s[len(s)/2] ^= 1; e.Sigs = [][]byte{s} },
		func(e *store.Entry) { e.Sigs = append(e.Sigs, e.Sigs[0]) },
	} {
		entry := v.Entry
		change(&entry)
		if ask(entry); asked != i+1 {
			t.Errorf("change %d was not judged", i)
		}
	}
}
