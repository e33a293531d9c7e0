package signingtest_test

import (
	"testing"
	"time"

	"github.com/sbxcron/sbxcron/signing/signingtest"
)

func TestStatementWentThroughTheVerifier(t *testing.T) {
	k := signingtest.FixedKey(t, "seed", "alice", "a", "b")
	k.ValidBefore = time.Date(2001, 1, 1, 0, 0, 0, 0, time.UTC)
	st := k.Statement(t, "b", []byte("said"))
	trust := signingtest.Trust(t, k)
	if !st.Valid() || string(st.Bytes()) != "said" || st.Namespace() != "b" || st.Principal() != "alice" ||
		st.KeyID() != k.KeyID() || st.Trust() != trust.Digest() {
		t.Errorf("got %+v", st)
	}
	if again := signingtest.FixedKey(t, "seed", "x"); again.KeyID() != k.KeyID() {
		t.Error("another key of the same seed")
	}
	if st.Revoked() != trust.RevokedDigest() {
		t.Error("the statement names another revoked_keys")
	}
	if trust.RevokedDigest() == trust.Digest() || signingtest.NewKey(t, "x").KeyID() == k.KeyID() {
		t.Error("digests or keys alike")
	}
}
