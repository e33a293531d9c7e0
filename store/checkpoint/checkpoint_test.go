package checkpoint_test

import (
	"crypto/rand"
	"fmt"
	"strings"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/note"
	"pgregory.net/rapid"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/store/checkpoint"
	"github.com/sbxcron/sbxcron/store/merkle"
)

const host = jobspec.HostID("9c1f00000000000000000000000000ab")

// key is an audit key with the text that certifies it.
type key struct {
	note.Signer
	public string
}

func newKey(t testing.TB) key {
	t.Helper()
	private, public, err := note.GenerateKey(rand.Reader, checkpoint.Origin(host))
	if err != nil {
		t.Fatal(err)
	}
	s, err := note.NewSigner(private)
	if err != nil {
		t.Fatal(err)
	}
	return key{s, public}
}

// tree gives the root of the first n of the lines of a story.
func tree(story string, n int64) merkle.Frontier {
	var f merkle.Frontier
	for i := range n {
		f.Add(merkle.LeafHash(fmt.Appendf(nil, "%s %d", story, i)), nil)
	}
	return f
}

func at(epoch, size int64) checkpoint.Checkpoint {
	f := tree("a", size)
	return checkpoint.Checkpoint{Origin: checkpoint.Origin(host), Size: size, Root: f.Root(), Epoch: epoch,
		Time: jobspec.InstantOf(time.Date(2026, 12, 1, 4, 0, int(size), 0, time.UTC)), Seq: 0, Head: jobspec.DigestOf([]byte("op"))}
}

func sign(t testing.TB, c checkpoint.Checkpoint, k note.Signer) string {
	t.Helper()
	s, err := c.Sign(k)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func newKeys(t testing.TB, k key) *checkpoint.Keys {
	t.Helper()
	keys, err := checkpoint.NewKeys(k.public)
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

func wantCode(t *testing.T, what string, err error, code jobspec.Code) {
	t.Helper()
	if jobspec.CodeOf(err) != code {
		t.Errorf("%s: %v, want %s", what, err, code)
	}
}

func TestTextIsTheOneThatTheDocumentShows(t *testing.T) {
	c := at(1, 2)
	c.Next = "sbxcron-9c1f+00000000+AAAA"
	want := "sbxcron-9c1f00000000000000000000000000ab\n2\n" + c.Root.Base64() + "\nepoch 1\ntime 2026-12-01T04:00:02Z\nchain 0 " + c.Head.String() +
		"\nnext sbxcron-9c1f+00000000+AAAA\n"
	if c.Text() != want {
		t.Errorf("got\n%swant\n%s", c.Text(), want)
	}
}

func TestKeysGoFromEpochToEpoch(t *testing.T) {
	k1, k2, k3 := newKey(t), newKey(t), newKey(t)
	keys := newKeys(t, k1)
	end1, end2 := at(1, 5), at(2, 5) // the second epoch is empty
	end1.Next, end2.Next = k2.public, k3.public
	for _, s := range []string{sign(t, end1, k1), sign(t, end2, k2)} {
		if _, err := keys.End(s); err != nil {
			t.Fatal(err)
		}
	}
	if keys.Epoch() != 3 || keys.Key() != k3.public {
		t.Errorf("epoch %d", keys.Epoch())
	}
	for _, c := range []struct {
		what string
		c    checkpoint.Checkpoint
		k    key
		code jobspec.Code
	}{
		{"in the first epoch", at(1, 3), k1, ""},
		{"in the newest", at(3, 9), k3, ""},
		{"the key of a later epoch for an older one", at(1, 3), k3, jobspec.CodeCheckpointInvalid},
		{"the key of an older epoch for a later one", at(3, 9), k1, jobspec.CodeCheckpointInvalid},
		{"an older key beyond the end of its epoch", at(1, 6), k1, jobspec.CodeCheckpointRollback},
		{"a later key before its epoch began", at(3, 4), k3, jobspec.CodeCheckpointRollback},
		{"an epoch that nobody certified", at(4, 9), k3, jobspec.CodeCheckpointInvalid},
	} {
		got, err := keys.Open(sign(t, c.c, c.k))
		wantCode(t, c.what, err, c.code)
		if err == nil && got != c.c {
			t.Errorf("%s: %+v", c.what, got)
		}
	}
	other := tree("b", 5)
	forged := end1
	forged.Root = other.Root()
	_, err := keys.Open(sign(t, forged, k1))
	wantCode(t, "a second last checkpoint", err, jobspec.CodeCheckpointFork)
	again, err := checkpoint.ResumeKeys(2, k2.public, end1)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := again.End(sign(t, end2, k2)); err != nil || again.Epoch() != 3 {
		t.Errorf("resumed: epoch %d, %v", again.Epoch(), err)
	}
	_, err = again.Open(sign(t, at(1, 3), k1))
	wantCode(t, "before what was resumed", err, jobspec.CodeCheckpointInvalid)
}

func TestAnEpochIsEndedInOrderAndByAKeyThatIsNew(t *testing.T) {
	k1, k2 := newKey(t), newKey(t)
	end := at(1, 5)
	end.Next = k2.public
	stranger, err := note.NewEd25519VerifierKey("sbxcron-else", make([]byte, 32))
	if err != nil {
		t.Fatal(err)
	}
	for what, c := range map[string]func(*checkpoint.Checkpoint){
		"no next key":                 func(c *checkpoint.Checkpoint) { c.Next = "" },
		"a next key of nothing":       func(c *checkpoint.Checkpoint) { c.Next = "x" },
		"a next key of elsewhere":     func(c *checkpoint.Checkpoint) { c.Next = stranger },
		"its own key once more":       func(c *checkpoint.Checkpoint) { c.Next = k1.public },
		"the second before the first": func(c *checkpoint.Checkpoint) { c.Epoch = 2 },
	} {
		bad := end
		c(&bad)
		_, err := newKeys(t, k1).End(sign(t, bad, k1))
		wantCode(t, what, err, jobspec.CodeCheckpointInvalid)
	}
}

func TestNoOtherSpellingOfACheckpointIsAccepted(t *testing.T) {
	k := newKey(t)
	good := sign(t, at(1, 7), k)
	keys := newKeys(t, k)
	if _, err := keys.Open(good); err != nil {
		t.Fatal(err)
	}
	for i := range len(good) {
		for bit := range 8 {
			b := []byte(good)
			b[i] ^= 1 << bit
			if _, err := keys.Open(string(b)); err == nil {
				t.Fatalf("byte %d, bit %d: accepted\n%s", i, bit, b)
			}
		}
	}
	text, signature, _ := strings.Cut(good, "\n\n")
	for what, bad := range map[string]string{
		"empty":             "",
		"no signature":      text + "\n\n",
		"signed twice":      good + signature,
		"text behind it":    good + "x\n",
		"a line end more":   good + "\n",
		"carriage returns":  strings.ReplaceAll(good, "\n", "\r\n"),
		"a break inside":    text + "\n\n" + signature[:60] + "\r" + signature[60:],
		"a longer text":     text + "\nmore 1\n\n" + signature,
		"of endless length": text + strings.Repeat("\n", 1<<20),
	} {
		if _, err := keys.Open(bad); err == nil {
			t.Errorf("%s: accepted", what)
		}
		if what != "signed twice" {
			continue
		}
		if _, err := checkpoint.Unverified(bad); err == nil {
			t.Errorf("%s: read", what)
		}
	}
}

func TestWhatFollowsIsLargerAndTheSameLog(t *testing.T) {
	old := at(2, 10)
	old.Seq = 3
	f := tree("b", 10)
	for what, c := range map[string]struct {
		change func(*checkpoint.Checkpoint)
		code   jobspec.Code
	}{
		"the same":           {func(*checkpoint.Checkpoint) {}, ""},
		"smaller":            {func(c *checkpoint.Checkpoint) { *c = at(2, 9) }, jobspec.CodeCheckpointRollback},
		"an older epoch":     {func(c *checkpoint.Checkpoint) { c.Epoch = 1 }, jobspec.CodeCheckpointRollback},
		"another story":      {func(c *checkpoint.Checkpoint) { c.Root = f.Root() }, jobspec.CodeCheckpointFork},
		"an older chain":     {func(c *checkpoint.Checkpoint) { c.Seq = 2 }, jobspec.CodeCheckpointRollback},
		"another op":         {func(c *checkpoint.Checkpoint) { c.Head = jobspec.DigestOf(nil) }, jobspec.CodeCheckpointFork},
		"larger, no proof":   {func(c *checkpoint.Checkpoint) { *c = at(2, 11); c.Seq = 3 }, jobspec.CodeCheckpointFork},
		"another host's":     {func(c *checkpoint.Checkpoint) { c.Origin = "sbxcron-x" }, jobspec.CodeCheckpointInvalid},
		"a later, empty one": {func(c *checkpoint.Checkpoint) { c.Epoch = 9 }, ""},
	} {
		next := old
		c.change(&next)
		wantCode(t, what, checkpoint.Follows(old, next, nil), c.code)
	}
}

func TestReplayNamesWhatTheLinesDoNotGive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int64Range(3, 60).Draw(t, "lines")
		sizes := rapid.SliceOfNDistinct(rapid.Int64Range(1, n), 1, 3, rapid.ID).Draw(t, "sizes")
		var all []checkpoint.Named
		var largest int64
		for _, s := range sizes {
			all = append(all, checkpoint.Named{Checkpoint: at(1, s), Where: fmt.Sprint("checkpoint of ", s)})
			largest = max(largest, s)
		}
		lines := make([][]byte, n)
		for i := range lines {
			lines[i] = fmt.Appendf(nil, "a %d", i)
		}
		run := func(lines [][]byte) ([]checkpoint.Fault, int64) {
			r := checkpoint.NewReplay(all)
			for _, l := range lines {
				r.Line(l)
			}
			return r.End()
		}
		if faults, proven := run(lines); len(faults) != 0 || proven != largest {
			t.Fatalf("untouched: %v, %d proven of %d", faults, proven, largest)
		}
		at := rapid.Int64Range(0, largest-1).Draw(t, "at")
		changed := append([][]byte(nil), lines...)
		switch rapid.SampledFrom([]string{"edit", "remove", "insert", "cut", "swap"}).Draw(t, "how") {
		case "edit":
			changed[at] = append([]byte("x"), changed[at]...)
		case "remove":
			changed = append(changed[:at], changed[at+1:]...)
		case "insert":
			changed = append(changed[:at:at], append([][]byte{[]byte("new")}, lines[at:]...)...)
		case "cut":
			changed = changed[:at]
		case "swap":
			other := (at + 1) % n
			changed[at], changed[other] = changed[other], changed[at]
			at = min(at, other)
		}
		faults, _ := run(changed)
		if len(faults) == 0 {
			t.Fatalf("nothing found at %d", at)
		}
		for _, f := range faults {
			if f.Size <= at || f.After > at {
				t.Errorf("leaf %d: %s", at, f.Detail(int64(len(changed))))
			}
		}
	})
}

func FuzzOpen(f *testing.F) {
	k := newKey(f)
	keys := newKeys(f, k)
	f.Add(sign(f, at(1, 3), k))
	f.Fuzz(func(t *testing.T, s string) {
		u, uerr := checkpoint.Unverified(s)
		c, err := keys.Open(s)
		if err == nil && (uerr != nil || c != u || sign(t, c, k) != s) {
			t.Errorf("%q opens as %+v", s, c)
		}
		if uerr == nil && !strings.HasPrefix(s, u.Text()+"\n") {
			t.Errorf("%q reads as %+v", s, u)
		}
	})
}
