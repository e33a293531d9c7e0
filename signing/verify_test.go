package signing_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/sbxcron/sbxcron/signing"
	"github.com/sbxcron/sbxcron/signing/signingtest"
)

func TestVerifyNamesWhatIsWrong(t *testing.T) {
	alice := signingtest.NewKey(t, "alice", "manage.v1@sbxcron", ns)
	alice.ValidAfter, alice.ValidBefore = noon.Add(-time.Hour), noon.Add(time.Hour)
	bob, mallory := signingtest.NewKey(t, "bob", ns), signingtest.NewKey(t, "mallory", ns)
	gone := signingtest.NewKey(t, "gone", ns)
	allowed := string(signingtest.AllowedSigners(t, alice, bob))
	trust := trustOf(t, allowed, string(signingtest.RevokedKeys(bob, gone)), signing.Algorithms{})
	sig := alice.Sign(t, ns, opBytes)

	tests := map[string]struct {
		msg, sig []byte
		at       time.Time
		want     string
	}{
		"good":                     {opBytes, sig, noon, ""},
		"at the first instant":     {opBytes, sig, alice.ValidAfter, ""},
		"at the last instant":      {opBytes, sig, alice.ValidBefore, ""},
		"before":                   {opBytes, sig, alice.ValidAfter.Add(-1), "key_not_yet_valid"},
		"after":                    {opBytes, sig, alice.ValidBefore.Add(1), "key_expired"},
		"no time":                  {opBytes, sig, time.Time{}, "key_not_yet_valid"},
		"no signature":             {opBytes, nil, noon, "sig_missing"},
		"empty signature":          {opBytes, []byte{}, noon, "sig_missing"},
		"no message":               {nil, sig, noon, "sig_invalid"},
		"other message":            {append(opBytes[:len(opBytes):len(opBytes)], ' '), sig, noon, "sig_invalid"},
		"unknown key":              {opBytes, mallory.Sign(t, ns, opBytes), noon, "key_unknown"},
		"revoked key":              {opBytes, bob.Sign(t, ns, opBytes), noon, "key_revoked"},
		"revoked key of long ago":  {opBytes, bob.Sign(t, ns, opBytes), noon.AddDate(-9, 0, 0), "key_revoked"},
		"revoked key not listed":   {opBytes, gone.Sign(t, ns, opBytes), noon, "key_revoked"},
		"namespace of git":         {opBytes, alice.Sign(t, "git", opBytes), noon, "key_not_for_namespace"},
		"namespace of file":        {opBytes, alice.Sign(t, "file", opBytes), noon, "key_not_for_namespace"},
		"namespace of other tier":  {opBytes, alice.Sign(t, "workspace.proxy.v1@sbxcron", opBytes), noon, "key_not_for_namespace"},
		"namespace in upper case":  {opBytes, alice.Sign(t, strings.ToUpper(ns), opBytes), noon, "key_not_for_namespace"},
		"prefix of a namespace":    {opBytes, alice.Sign(t, "workspace", opBytes), noon, "key_not_for_namespace"},
		"bad first, good second":   {opBytes, append(mallory.Sign(t, ns, opBytes), sig...), noon, "sig_invalid"},
		"a thousand signatures":    {opBytes, repeat(sig, 1000), noon, "sig_invalid"},
		"only the first six bytes": {opBytes, []byte("SSHSIG"), noon, "sig_invalid"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			st, err := trust.Verify(tt.msg, tt.sig, tt.at)
			if got := code(t, err); got != tt.want {
				t.Errorf("got %q (%v), want %q", got, err, tt.want)
			}
			if st.Valid() != (tt.want == "") {
				t.Errorf("statement valid: %v", st.Valid())
			}
		})
	}
}

func TestAllowsForetellsWhatVerifySays(t *testing.T) {
	alice, bob := signingtest.NewKey(t, "alice", ns), signingtest.NewKey(t, "bob", ns)
	alice.ValidAfter, alice.ValidBefore = noon.Add(-time.Hour), noon.Add(time.Hour)
	stranger := signingtest.NewKey(t, "stranger", ns)
	trust := trustOf(t, string(signingtest.AllowedSigners(t, alice, bob)), string(signingtest.RevokedKeys(bob)), signing.Algorithms{})
	for _, k := range []*signingtest.Key{alice, bob, stranger} {
		for _, namespace := range []string{ns, "root.v1@sbxcron"} {
			for _, at := range []time.Time{noon, noon.AddDate(-1, 0, 0), noon.AddDate(1, 0, 0), {}} {
				_, err := trust.Verify(opBytes, k.Sign(t, namespace, opBytes), at)
				if got, want := code(t, trust.Allows(k.Public(), namespace, at)), code(t, err); got != want {
					t.Errorf("%s %s %v: foretold %q, was %q", k.Principal, namespace, at, got, want)
				}
			}
		}
	}
}

func repeat(b []byte, n int) []byte {
	var out []byte
	for range n {
		out = append(out, b...)
	}
	return out
}

func TestErrorNamesKeyAndPrincipal(t *testing.T) {
	k := signingtest.NewKey(t, "alice", ns)
	_, err := signingtest.Trust(t, k).Verify([]byte("else"), k.Sign(t, ns, opBytes), noon)
	var u *signing.UntrustedError
	if !errors.As(err, &u) || u.Principal != "alice" || u.KeyID != k.KeyID() || !strings.Contains(err.Error(), k.KeyID()) {
		t.Errorf("got %v", err)
	}
}

func TestHistoryKeepsGoodSignaturesOfRevokedKeysApart(t *testing.T) {
	k := signingtest.NewKey(t, "alice", ns)
	k.ValidBefore = noon
	trust := trustOf(t, k.Line(t), string(signingtest.RevokedKeys(k)), signing.Algorithms{})
	r, err := trust.Check(opBytes, k.Sign(t, ns, opBytes), noon)
	if err != nil {
		t.Fatal(err)
	}
	if !r.Known || !r.Revoked || r.Signer.Principal != "alice" || r.Signature.Namespace != ns {
		t.Errorf("got %+v", r)
	}
	if code(t, r.Err()) != "key_revoked" || r.ErrBeforeRevocation() != nil {
		t.Errorf("got %v and %v", r.Err(), r.ErrBeforeRevocation())
	}
	late, err := trust.Check(opBytes, k.Sign(t, ns, opBytes), noon.Add(time.Second))
	if err != nil || code(t, late.ErrBeforeRevocation()) != "key_expired" {
		t.Errorf("got %v, %v", late.ErrBeforeRevocation(), err)
	}
	if _, err := trust.Check([]byte("else"), k.Sign(t, ns, opBytes), noon); code(t, err) != "sig_invalid" {
		t.Errorf("other bytes: %v", err)
	}
}

func TestZeroValuesTrustNobody(t *testing.T) {
	k := signingtest.NewKey(t, "alice", ns)
	if st, err := new(signing.Trust).Verify(opBytes, k.Sign(t, ns, opBytes), noon); code(t, err) != "key_unknown" || st.Valid() {
		t.Errorf("zero trust: %v", err)
	}
	if err := (signing.Result{}).Err(); err == nil {
		t.Error("zero result counts")
	}
	if err := (signing.Result{Known: true}).ErrBeforeRevocation(); err == nil {
		t.Error("result from elsewhere counts")
	}
}

func TestAlgorithmNeedsItsPolicy(t *testing.T) {
	for name, args := range stockTypes {
		t.Run(name, func(t *testing.T) {
			key := signingtest.StockKey(t, args...)
			sig, err := signing.ParseSignature(signingtest.StockSign(t, nil, key, ns, opBytes))
			if err != nil {
				t.Fatal(err)
			}
			bob := signingtest.NewKey(t, "bob", ns)
			_, err = signingtest.Trust(t, bob).Verify(opBytes, sig.Blob(), noon)
			line := signingtest.PublicLine(t, key+".pub", "alice", ns)
			_, trustErr := signing.ParseTrust(line, []byte{}, signing.Algorithms{})
			want, wantTrust := "sig_alg_unsupported", "trust_refused"
			if name == "ed25519" {
				want, wantTrust = "key_unknown", ""
			}
			if got := code(t, err); got != want {
				t.Errorf("signature: got %q, want %q", got, want)
			}
			if got := code(t, trustErr); got != wantTrust {
				t.Errorf("trust file: got %q, want %q", got, wantTrust)
			}
		})
	}
}

func TestEveryFlippedBitOfASignatureIsRefused(t *testing.T) {
	for name, args := range stockTypes {
		t.Run(name, func(t *testing.T) {
			key := signingtest.StockKey(t, args...)
			armored := signingtest.StockSign(t, nil, key, ns, opBytes)
			sig, err := signing.ParseSignature(armored)
			if err != nil {
				t.Fatal(err)
			}
			trust := trustOf(t, string(signingtest.PublicLine(t, key+".pub", "alice", ns)), "", all)
			blob := sig.Blob()
			for i := range len(blob) * 8 {
				blob[i/8] ^= 1 << (i % 8)
				if st, err := trust.Verify(opBytes, blob, noon); err == nil || st.Valid() {
					t.Errorf("bit %d of the blob flipped: accepted", i)
				}
				blob[i/8] ^= 1 << (i % 8)
			}
		})
	}
}

func TestEveryFlippedBitOfTheArmorIsRefused(t *testing.T) {
	k := signingtest.NewKey(t, "alice", ns)
	trust, armored := signingtest.Trust(t, k), signing.Armor(k.Sign(t, ns, opBytes))
	for i := range len(armored) * 8 {
		armored[i/8] ^= 1 << (i % 8)
		if verifyText(trust, armored) == nil {
			t.Errorf("bit %d flipped: accepted", i)
		}
		armored[i/8] ^= 1 << (i % 8)
	}
}

func TestEveryFlippedBitOfTheMessageIsRefused(t *testing.T) {
	k := signingtest.NewKey(t, "alice", ns)
	trust, sig := signingtest.Trust(t, k), k.Sign(t, ns, opBytes)
	msg := append([]byte(nil), opBytes...)
	for i := range len(msg) * 8 {
		msg[i/8] ^= 1 << (i % 8)
		if _, err := trust.Verify(msg, sig, noon); code(t, err) != "sig_invalid" {
			t.Errorf("bit %d: %v", i, err)
		}
		msg[i/8] ^= 1 << (i % 8)
	}
}

func TestStatementDoesNotShareMemoryWithTheCaller(t *testing.T) {
	k := signingtest.NewKey(t, "alice", ns)
	msg := append([]byte(nil), opBytes...)
	st, err := signingtest.Trust(t, k).Verify(msg, k.Sign(t, ns, msg), noon)
	if err != nil {
		t.Fatal(err)
	}
	msg[0], st.Bytes()[1] = 'X', 'X'
	if string(st.Bytes()) != string(opBytes) {
		t.Errorf("got %s", st.Bytes())
	}
}
