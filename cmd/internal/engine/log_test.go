package engine

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/sbxcron/sbxcron/cmd/internal/api"
	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/signing/auditkey"
	"github.com/sbxcron/sbxcron/store/checkpoint"
	"github.com/sbxcron/sbxcron/store/merkle"
	"github.com/sbxcron/sbxcron/store/storetest"
)

// strangeNote is a checkpoint of this host's log, signed with a key that nobody
// has certified.
func strangeNote(t testing.TB) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "key")
	if _, err := auditkey.Create(path, checkpoint.Origin(storetest.Host)); err != nil {
		t.Fatal(err)
	}
	key, err := auditkey.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	note, err := checkpoint.Checkpoint{Origin: checkpoint.Origin(storetest.Host), Root: merkle.EmptyRoot(), Epoch: 1,
		Time: jobspec.InstantOf(storetest.Epoch()), Head: jobspec.DigestOf(nil)}.Sign(key)
	if err != nil {
		t.Fatal(err)
	}
	return note
}

// Whoever does not hold the audit key signs nothing, and what is shown to others
// is what lies there.
func TestWhoHasNoAuditKeyMakesNoCheckpoint(t *testing.T) {
	b := newBench(t)
	e := b.open(true)
	must(t, e.NoteBoot(1))
	if made, err := e.Checkpoint(); err == nil || len(made) != 0 {
		t.Errorf("made %v, %v", made, err)
	}
	seal, err := e.Seal(context.Background(), api.SealQuery{})
	must(t, err)
	if seal.Checkpoint != "" || len(seal.Genesis) == 0 {
		t.Errorf("%+v", seal)
	}
}
