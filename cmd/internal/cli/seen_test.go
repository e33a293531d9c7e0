package cli

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/signing/auditkey"
	"github.com/sbxcron/sbxcron/store/checkpoint"
	"github.com/sbxcron/sbxcron/store/merkle"
)

// signsLedger makes the bench's service one with an audit key and returns what
// makes its newest checkpoint, of lines of a story.
func (b *bench) signsLedger() func(story string, size int64) {
	b.t.Helper()
	path := filepath.Join(b.t.TempDir(), "key")
	public, err := auditkey.Create(path, checkpoint.Origin(testHost))
	if err != nil {
		b.t.Fatal(err)
	}
	key, err := auditkey.Load(path)
	if err != nil {
		b.t.Fatal(err)
	}
	genesis := &jobspec.Op{Type: jobspec.OpType, Host: testHost, Action: jobspec.Genesis, Root: &jobspec.GenesisBody{AuditKey: public}}
	if b.svc.seal.Genesis, err = genesis.Encode(); err != nil {
		b.t.Fatal(err)
	}
	return func(story string, size int64) {
		var tree merkle.Frontier
		for range size {
			tree.Add(merkle.LeafHash([]byte(story)), nil)
		}
		c := checkpoint.Checkpoint{Origin: checkpoint.Origin(testHost), Size: size, Root: tree.Root(), Epoch: 1, Time: jobspec.InstantOf(noon), Head: b.svc.head.Prev}
		if b.svc.seal.Checkpoint, err = c.Sign(key); err != nil {
			b.t.Fatal(err)
		}
	}
}

// submittedCheckpoints are those of the ops that were submitted.
func (b *bench) submittedCheckpoints() (all []string) {
	b.t.Helper()
	for _, s := range b.svc.submitted {
		op, err := jobspec.DecodeOp(s.Op)
		if err != nil {
			b.t.Fatal(err)
		}
		all = append(all, op.Checkpoint)
	}
	return all
}

func TestEachOpCarriesTheNewestCheckpoint(t *testing.T) {
	b := newBench(t)
	newest := b.signsLedger()
	newest("a", 4)
	for _, args := range [][]string{line(plainJob, []string{"--yes"}, command), {"audit", "attest", "--yes"}} {
		if code := b.run(args...); code != 0 {
			t.Fatalf("%q: exit %d\n%s", args, code, b.err.String())
		}
	}
	for _, note := range b.submittedCheckpoints() {
		if note != b.svc.seal.Checkpoint {
			t.Errorf("an op carries %q", note)
		}
	}
	if len(b.svc.submitted) != 2 {
		t.Errorf("%d ops", len(b.svc.submitted))
	}
}

func TestOneOpOfAPlanCarriesTheCheckpointForAll(t *testing.T) {
	f := newFolder(t, "a", "", "b", "", "c", "")
	f.signsLedger()("a", 4)
	f.items(0, "--out", f.plan)
	for _, args := range [][]string{{"sign", f.plan, "--yes", "--json"}, {"apply", f.plan, f.plan + ".sig", "--json"}} {
		if code := f.run(args...); code != 0 {
			t.Fatalf("%s: exit %d\n%s", args, code, f.err.String())
		}
	}
	if got := f.submittedCheckpoints(); len(got) != 3 || got[0] != f.svc.seal.Checkpoint || got[1] != "" || got[2] != "" {
		t.Errorf("%q", got)
	}
}

// Nothing is signed, and no key is touched, onto a history that is older than, or
// other than, the one that was seen.
func TestNothingIsSignedOntoAnotherHistoryThanTheOneSeen(t *testing.T) {
	b := newBench(t)
	newest := b.signsLedger()
	newest("a", 4)
	b.svc.status.Host = testHost
	if code := b.run("audit", "attest", "--yes"); code != 0 {
		t.Fatalf("exit %d\n%s", code, b.err.String())
	}
	used := b.key.used
	for code, host := range map[jobspec.Code]func(){
		jobspec.CodeCheckpointRollback: func() { newest("a", 3) },
		jobspec.CodeCheckpointFork:     func() { newest("b", 4) },
		jobspec.CodeCheckpointInvalid:  func() { b.svc.seal.Checkpoint = strings.Replace(b.svc.seal.Checkpoint, "\n4\n", "\n5\n", 1) },
	} {
		newest("a", 4)
		host()
		for _, args := range [][]string{line(plainJob, []string{"--yes"}, command), {"audit", "attest", "--yes"}} {
			if got := b.run(append([]string{"--json"}, args...)...); got != 12 || b.errorDoc().ErrCode != string(code) {
				t.Errorf("%s: %q: exit %d, %s", code, args[0], got, b.err.String())
			}
		}
		dir := b.site.seen
		if got := b.run("--json", "audit", "follow", dir); got != 20 || b.errorDoc().ErrCode != string(code) {
			t.Errorf("%s: follow: exit %d, %s", code, got, b.err.String())
		}
	}
	if b.key.used != used {
		t.Error("the key was used")
	}
}

func TestWithoutACheckpointThereIsNothingToAttest(t *testing.T) {
	b := newBench(t)
	if code := b.run("--json", "audit", "attest", "--yes"); code != 5 || b.errorDoc().ErrCode != string(codeNoCheckpoint) {
		t.Errorf("exit %d, %s", code, b.err.String())
	}
	if len(b.svc.submitted) != 0 || b.key.used != 0 {
		t.Error("something was signed")
	}
}

func TestFollowKeepsTheNoteThatVerifyTakes(t *testing.T) {
	b := newBench(t)
	newest := b.signsLedger()
	newest("a", 4)
	b.svc.status.Host = testHost
	dir := filepath.Join(t.TempDir(), "kept")
	if code := b.run("--json", "audit", "follow", dir); code != 0 {
		t.Fatalf("exit %d\n%s", code, b.err.String())
	}
	var doc struct{ Item followed }
	if err := json.Unmarshal(b.out.Bytes(), &doc); err != nil || doc.Item.Size != 4 || doc.Item.Epoch != 1 || doc.Item.Host != testHost {
		t.Errorf("%+v, %v", doc.Item, err)
	}
	kept, err := os.ReadFile(filepath.Join(dir, string(testHost)+".checkpoint"))
	if err != nil || string(kept) != b.svc.seal.Checkpoint {
		t.Errorf("%q, %v", kept, err)
	}
	for _, name := range []jobspec.HostID{"ffffffffffffffffffffffffffffffff", "", "../x"} {
		b.svc.status.Host = name
		if code := b.run("--json", "audit", "follow", dir); code != 20 {
			t.Errorf("a host that calls itself %q: exit %d, %s", name, code, b.err.String())
		}
	}
}

// Commands of one account at one time neither fail nor forget.
func TestManyCommandsRememberAtOneTime(t *testing.T) {
	b := newBench(t)
	b.signsLedger()("a", 4)
	dir := t.TempDir()
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 20 {
				app := &App{}
				if m, err := app.follow(t.Context(), b.svc, dir, testHost); err != nil || m.Checkpoint != b.svc.seal.Checkpoint {
					t.Errorf("%+v, %v", m, err)
				}
				if err := os.Remove(checkpoint.MemoryFile(dir, testHost)); err != nil && !errors.Is(err, fs.ErrNotExist) {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	left, err := os.ReadDir(dir)
	if err != nil || len(left) > 1 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
