package checkpoint_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/store/checkpoint"
	"github.com/sbxcron/sbxcron/store/merkle"
)

// story is a host as it answers: what it has written, and its keys.
type story struct {
	t       testing.TB
	genesis []byte
	lines   string
	file    bytes.Buffer
	tree    merkle.Frontier
	keys    []key
	ends    []string
	newest  checkpoint.Checkpoint
	note    string
}

func newStory(t testing.TB) *story {
	s := &story{t: t, lines: "a", keys: []key{newKey(t)}}
	op := &jobspec.Op{Type: jobspec.OpType, Host: host, Action: jobspec.Genesis, Root: &jobspec.GenesisBody{AuditKey: s.keys[0].public}}
	var err error
	if s.genesis, err = op.Encode(); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *story) write(n int) {
	for range n {
		s.tree.Add(merkle.LeafHash(fmt.Appendf(nil, "%s %d", s.lines, s.tree.Size())), func(h merkle.Hash) { s.file.Write(h[:]) })
	}
	s.sign("")
}

func (s *story) sign(next string) {
	s.newest = at(int64(len(s.keys)), 0)
	s.newest.Size, s.newest.Root, s.newest.Next = s.tree.Size(), s.tree.Root(), next
	s.note = sign(s.t, s.newest, s.keys[len(s.keys)-1])
}

func (s *story) end() {
	k := newKey(s.t)
	s.sign(k.public)
	s.ends = append(s.ends, s.note)
	s.keys = append(s.keys, k)
}

// answer is what an honest host says to m, and what a dishonest one says, too,
// where it has no better.
func (s *story) answer(m checkpoint.Memory) checkpoint.Answer {
	a := checkpoint.Answer{Genesis: s.genesis, Checkpoint: s.note}
	if first := max(m.Epoch, 1) - 1; int(first) < len(s.ends) {
		a.Epochs = s.ends[first:]
	}
	if c, ok := m.Seen(); ok && c.Size <= s.newest.Size {
		_, proof, err := merkle.NewStored(bytes.NewReader(s.file.Bytes())).Consistency(s.newest.Size, s.newest.Root, c.Size)
		if err != nil {
			s.t.Fatal(err)
		}
		for _, h := range proof {
			a.Proof = append(a.Proof, h.Base64())
		}
	}
	return a
}

func (s *story) fork() *story {
	f := *s
	f.file = *bytes.NewBuffer(bytes.Clone(s.file.Bytes()))
	f.tree, f.keys, f.ends = s.tree.Clone(), append([]key(nil), s.keys...), append([]string(nil), s.ends...)
	return &f
}

func advance(t *testing.T, m checkpoint.Memory, s *story) checkpoint.Memory {
	t.Helper()
	next, err := m.Advance(host, s.answer(m))
	if err != nil {
		t.Fatal(err)
	}
	return next
}

func TestAMemoryFollowsAnHonestHostThroughItsEpochs(t *testing.T) {
	s := newStory(t)
	var m checkpoint.Memory
	early, err := m.Advance(host, checkpoint.Answer{Genesis: s.genesis})
	if err != nil || early.Checkpoint != "" || early.Key != s.keys[0].public {
		t.Fatalf("before the first checkpoint: %+v, %v", early, err)
	}
	m = early
	dir := t.TempDir()
	for step := range 12 {
		s.write(step % 4)
		if step%3 == 2 {
			s.end()
		}
		m = advance(t, m, s)
		if err := m.Keep(dir); err != nil {
			t.Fatal(err)
		}
		back, err := checkpoint.Recall(dir, host, os.Getuid())
		if err != nil || back != m {
			t.Fatalf("kept %+v, recalled %+v, %v", m, back, err)
		}
		if c, ok := m.Seen(); !ok || c != s.newest || m.Epoch != int64(len(s.keys)) {
			t.Fatalf("step %d: %+v", step, m)
		}
	}
	s.sign("")
	advance(t, checkpoint.Memory{}, s) // one who comes late
	advance(t, early, s)               // one who was away for all epochs
}

func TestAMemoryRefusesAnOlderOrAnotherHistory(t *testing.T) {
	old := newStory(t)
	old.write(5)
	past := old.fork() // a snapshot, to be restored
	old.end()
	old.sign("")
	middle := old.fork()
	old.write(7)
	m := advance(t, checkpoint.Memory{}, old)
	for what, c := range map[string]struct {
		host func() *story
		code jobspec.Code
	}{
		"the same":                    {func() *story { return old }, ""},
		"an older state":              {func() *story { return past }, jobspec.CodeCheckpointRollback},
		"an older state of its epoch": {func() *story { return middle }, jobspec.CodeCheckpointRollback},
		"an older state that went on": {func() *story {
			f := middle.fork()
			f.lines = "b"
			f.write(9)
			return f
		}, jobspec.CodeCheckpointFork},
		"an older state that went on to the same size": {func() *story {
			f := middle.fork()
			f.lines = "b"
			f.write(7)
			return f
		}, jobspec.CodeCheckpointFork},
		"another installation": {func() *story { s := newStory(t); s.write(99); return s }, jobspec.CodeCheckpointFork},
		"a key that nobody certified": {func() *story {
			f := old.fork()
			f.keys[len(f.keys)-1] = newKey(t)
			f.write(1)
			return f
		}, jobspec.CodeCheckpointInvalid},
	} {
		s := c.host()
		next, err := m.Advance(host, s.answer(m))
		wantCode(t, what, err, c.code)
		if err != nil && next != (checkpoint.Memory{}) {
			t.Errorf("%s: remembered %+v", what, next)
		}
	}
	for what, change := range map[string]func(a *checkpoint.Answer){
		"no checkpoint":     func(a *checkpoint.Answer) { a.Checkpoint = "" },
		"no genesis":        func(a *checkpoint.Answer) { a.Genesis = nil },
		"a proof of nobody": func(a *checkpoint.Answer) { a.Proof = []string{"x"} },
		"epochs once more":  func(a *checkpoint.Answer) { a.Epochs = old.ends },
	} {
		a := old.answer(m)
		change(&a)
		if _, err := m.Advance(host, a); err == nil {
			t.Errorf("%s: accepted", what)
		}
	}
	if _, err := m.Advance("ffffffffffffffffffffffffffffffff", old.answer(m)); err == nil {
		t.Error("another host: accepted")
	}
}

func TestAMemoryThatIsDamagedIsNoEmptyOne(t *testing.T) {
	s := newStory(t)
	s.write(3)
	dir := t.TempDir()
	if err := advance(t, checkpoint.Memory{}, s).Keep(dir); err != nil {
		t.Fatal(err)
	}
	path := checkpoint.MemoryFile(dir, host)
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for what, b := range map[string][]byte{"empty": {}, "cut": good[:len(good)/2], "other text": []byte("{}"), "longer": append(bytes.Clone(good), '\n')} {
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		if m, err := checkpoint.Recall(dir, host, os.Getuid()); err == nil {
			t.Errorf("%s: %+v", what, m)
		}
	}
	if err := os.Rename(path, filepath.Join(dir, "elsewhere")); err != nil {
		t.Fatal(err)
	}
	if m, err := checkpoint.Recall(dir, host, os.Getuid()); err != nil || m != (checkpoint.Memory{}) {
		t.Errorf("nothing seen: %+v, %v", m, err)
	}
}
