package signing_test

import (
	"strings"
	"testing"
	"time"

	"github.com/sbxcron/sbxcron/signing"
	"github.com/sbxcron/sbxcron/signing/signingtest"
)

const ns = "workspace.none.v1@sbxcron"

var (
	opBytes = []byte(`{"type":"sbxcron.op/v1","host":"9c1f","seq":7}`)
	noon    = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	all     = signing.Algorithms{ECDSAP256: true, RSA: true}
)

// stockTypes are the arguments of ssh-keygen for each type that may sign.
var stockTypes = map[string][]string{
	"ed25519":    {"-t", "ed25519", "-N", ""},
	"ecdsa-p256": {"-t", "ecdsa", "-b", "256", "-N", ""},
	"rsa-3072":   {"-t", "rsa", "-b", "3072", "-N", ""},
}

func trustOf(t *testing.T, allowed, revoked string, a signing.Algorithms) *signing.Trust {
	t.Helper()
	trust, err := signing.ParseTrust([]byte(allowed), []byte(revoked), a)
	if err != nil {
		t.Fatal(err)
	}
	return trust
}

func TestSignatureOfStockSSHKeygenIsAccepted(t *testing.T) {
	for name, args := range stockTypes {
		t.Run(name, func(t *testing.T) {
			key := signingtest.StockKey(t, args...)
			armored := signingtest.StockSign(t, nil, key, ns, opBytes)
			trust := trustOf(t, string(signingtest.PublicLine(t, key+".pub", "alice", ns)), "", all)

			sig, err := signing.ParseSignature(armored)
			if err != nil {
				t.Fatal(err)
			}
			if got := signing.Armor(sig.Blob()); string(got) != string(armored) {
				t.Errorf("armor differs from ssh-keygen's:\n%s\n%s", got, armored)
			}
			st, err := trust.Verify(opBytes, sig.Blob(), noon)
			if err != nil {
				t.Fatal(err)
			}
			if !st.Valid() || st.Principal() != "alice" || st.Namespace() != ns || string(st.Bytes()) != string(opBytes) ||
				st.KeyID() != sig.KeyID() || st.Trust() != trust.Digest() {
				t.Errorf("statement says %q %q %q", st.Principal(), st.Namespace(), st.KeyID())
			}
			out, err := signingtest.Run(t, nil, nil, "ssh-keygen", "-l", "-f", key+".pub")
			if err != nil || !strings.Contains(out, st.KeyID()) {
				t.Errorf("ssh-keygen prints %q (%v), we %q", out, err, st.KeyID())
			}
		})
	}
}

func TestOurSignatureIsAcceptedByStockSSHKeygen(t *testing.T) {
	k := signingtest.NewKey(t, "alice", "manage.v1@sbxcron", ns)
	k.ValidAfter, k.ValidBefore = noon.Add(-time.Hour), noon.Add(time.Hour)
	armored := signing.Armor(k.Sign(t, ns, opBytes))
	other := signingtest.NewKey(t, "bob", ns)
	ask := signingtest.Stock{
		Allowed: signingtest.AllowedSigners(t, other, k), Revoked: signingtest.RevokedKeys(other),
		Principal: "alice", Namespace: ns, At: noon,
	}
	tests := map[string]struct {
		change func(*signingtest.Stock)
		msg    []byte
		good   bool
	}{
		"as signed":       {func(*signingtest.Stock) {}, opBytes, true},
		"first instant":   {func(s *signingtest.Stock) { s.At = k.ValidAfter }, opBytes, true},
		"last instant":    {func(s *signingtest.Stock) { s.At = k.ValidBefore }, opBytes, true},
		"too early":       {func(s *signingtest.Stock) { s.At = k.ValidAfter.Add(-time.Second) }, opBytes, false},
		"too late":        {func(s *signingtest.Stock) { s.At = k.ValidBefore.Add(time.Second) }, opBytes, false},
		"other bytes":     {func(*signingtest.Stock) {}, append([]byte(" "), opBytes...), false},
		"other namespace": {func(s *signingtest.Stock) { s.Namespace = "manage.v1@sbxcron" }, opBytes, false},
		"other principal": {func(s *signingtest.Stock) { s.Principal = "bob" }, opBytes, false},
		"revoked":         {func(s *signingtest.Stock) { s.Revoked = signingtest.RevokedKeys(k) }, opBytes, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			q := ask
			tt.change(&q)
			err := q.Verify(t, tt.msg, armored)
			if (err == nil) != tt.good {
				t.Errorf("ssh-keygen: %v", err)
			}
			// The same question to ourselves, where principal and namespace are
			// not asked but answered.
			trust := trustOf(t, string(q.Allowed), string(q.Revoked), signing.Algorithms{})
			st, err := trust.Verify(tt.msg, k.Sign(t, ns, opBytes), q.At)
			if ours := err == nil && st.Principal() == q.Principal && st.Namespace() == q.Namespace; ours != tt.good {
				t.Errorf("we differ: %v", err)
			}
		})
	}
}

func TestRevocationNamesAnyKeyType(t *testing.T) {
	var revoked string
	for _, args := range [][]string{
		{"-t", "ed25519", "-N", ""}, {"-t", "ecdsa", "-b", "256", "-N", ""}, {"-t", "ecdsa", "-b", "384", "-N", ""},
		{"-t", "ecdsa", "-b", "521", "-N", ""}, {"-t", "rsa", "-b", "1024", "-N", ""},
	} {
		key := signingtest.StockKey(t, args...)
		out, err := signingtest.Run(t, nil, nil, "ssh-keygen", "-y", "-f", key)
		if err != nil {
			t.Fatal(err)
		}
		revoked += out
	}
	k := signingtest.NewKey(t, "alice", ns)
	trust := trustOf(t, k.Line(t), "# left in 2026\n\n"+revoked, signing.Algorithms{})
	if _, err := trust.Verify(opBytes, k.Sign(t, ns, opBytes), noon); err != nil {
		t.Error(err)
	}
}
