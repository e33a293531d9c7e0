package merkle_test

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"golang.org/x/mod/sumdb/tlog"
	"pgregory.net/rapid"

	"github.com/sbxcron/sbxcron/store/merkle"
)

// The inputs and roots that the Certificate Transparency project tests its own
// trees with.
var (
	ctLeaves = []string{"", "00", "10", "2021", "3031", "40414243", "5051525354555657", "606162636465666768696a6b6c6d6e6f"}
	ctRoots  = []string{
		"6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
		"fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
		"aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
		"d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
		"4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
		"76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
		"ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
		"5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
	}
)

// kept is a tree with its hashes as a file holds them.
type kept struct {
	merkle.Frontier
	file bytes.Buffer
	tree []merkle.Frontier // by size
}

func (k *kept) add(line []byte) {
	if k.tree == nil {
		k.tree = []merkle.Frontier{{}}
	}
	k.Add(merkle.LeafHash(line), func(h merkle.Hash) { k.file.Write(h[:]) })
	k.tree = append(k.tree, k.Clone())
}

func (k *kept) stored() merkle.Stored { return merkle.NewStored(bytes.NewReader(k.file.Bytes())) }

func grown(n int) *kept {
	k := &kept{}
	for i := range n {
		k.add(fmt.Appendf(nil, "line %d", i))
	}
	return k
}

func TestRootsAreThoseOfRFC6962(t *testing.T) {
	var k kept
	if got := merkle.EmptyRoot().String(); got != "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" || k.Root() != merkle.EmptyRoot() {
		t.Errorf("empty tree: %s", got)
	}
	for i, text := range ctLeaves {
		line, err := hex.DecodeString(text)
		if err != nil {
			t.Fatal(err)
		}
		k.add(line)
		if got := k.Root().String(); got != ctRoots[i] {
			t.Errorf("%d leaves: root %s, want %s", i+1, got, ctRoots[i])
		}
	}
}

// The file that we write is the one that the library would, and the roots are its.
func TestFrontierAgreesWithTheLibraryAtEverySize(t *testing.T) {
	var theirs []tlog.Hash
	reader := tlog.HashReaderFunc(func(places []int64) ([]tlog.Hash, error) {
		out := make([]tlog.Hash, len(places))
		for i, p := range places {
			out[i] = theirs[p]
		}
		return out, nil
	})
	var k kept
	for i := range int64(300) {
		line := fmt.Appendf(nil, "line %d", i)
		k.add(line)
		more, err := tlog.StoredHashes(i, line, reader)
		if err != nil {
			t.Fatal(err)
		}
		theirs = append(theirs, more...)
		root, err := tlog.TreeHash(i+1, reader)
		if err != nil {
			t.Fatal(err)
		}
		if k.Root() != merkle.Hash(root) {
			t.Fatalf("%d leaves: another root than the library's", i+1)
		}
		if got := int64(k.file.Len()); got != merkle.StoredBytes(i+1) {
			t.Fatalf("%d leaves: %d bytes kept, want %d", i+1, got, merkle.StoredBytes(i+1))
		}
	}
	var all bytes.Buffer
	for _, h := range theirs {
		all.Write(h[:])
	}
	if !bytes.Equal(all.Bytes(), k.file.Bytes()) {
		t.Error("the kept hashes are not those of the library")
	}
}

func TestEveryProofOfASmallTreeHoldsAndNoOther(t *testing.T) {
	const n = 40
	k := grown(n)
	for size := int64(1); size <= n; size++ {
		root := k.tree[size].Root()
		for i := range size {
			leaf, proof, err := k.stored().Inclusion(size, root, i)
			if err != nil {
				t.Fatal(err)
			}
			if leaf != merkle.LeafHash(fmt.Appendf(nil, "line %d", i)) {
				t.Fatalf("leaf %d has another hash", i)
			}
			if merkle.CheckInclusion(proof, size, root, (i+1)%(size+1), leaf) == nil {
				t.Fatalf("the proof of leaf %d holds for another of %d", i, size)
			}
		}
		for from := range size + 1 {
			old, proof, err := k.stored().Consistency(size, root, from)
			if err != nil || old != k.tree[from].Root() {
				t.Fatalf("from %d to %d: %v", from, size, err)
			}
			if from > 0 && merkle.CheckConsistency(proof, size, root, from, k.tree[from-1].Root()) == nil {
				t.Fatalf("from %d to %d: another tree passes", from, size)
			}
		}
	}
}

func TestNoChangedProofPasses(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.Int64Range(2, 500).Draw(t, "size")
		k := grown(int(size))
		root := k.Root()
		index := rapid.Int64Range(0, size-1).Draw(t, "index")
		from := rapid.Int64Range(1, size-1).Draw(t, "from")
		leaf, in, err := k.stored().Inclusion(size, root, index)
		if err != nil {
			t.Fatal(err)
		}
		old, con, err := k.stored().Consistency(size, root, from)
		if err != nil {
			t.Fatal(err)
		}
		change := func(p []merkle.Hash) []merkle.Hash {
			p = append([]merkle.Hash(nil), p...)
			switch rapid.IntRange(0, 3).Draw(t, "how") {
			case 0:
				return append(p, merkle.Hash{})
			case 1:
				return p[:len(p)-1]
			case 2:
				if len(p) > 1 && p[0] != p[len(p)-1] {
					p[0], p[len(p)-1] = p[len(p)-1], p[0]
					return p
				}
			}
			bit := rapid.IntRange(0, len(p)*256-1).Draw(t, "bit")
			p[bit/256][bit%256/8] ^= 1 << (bit % 8)
			return p
		}
		if merkle.CheckInclusion(change(in), size, root, index, leaf) == nil {
			t.Error("a changed proof of inclusion passes")
		}
		if merkle.CheckConsistency(change(con), size, root, from, old) == nil {
			t.Error("a changed proof of consistency passes")
		}
	})
}

// The file of hashes is believed in nothing: whatever is changed in it gives an
// error or the right answer.
func TestADamagedFileOfHashesGivesNoWrongAnswer(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.Int64Range(2, 200).Draw(t, "size")
		k := grown(int(size))
		root, data := k.Root(), bytes.Clone(k.file.Bytes())
		if rapid.Bool().Draw(t, "cut") {
			data = data[:rapid.IntRange(0, len(data)-1).Draw(t, "length")]
		} else {
			bit := rapid.IntRange(0, len(data)*8-1).Draw(t, "bit")
			data[bit/8] ^= 1 << (bit % 8)
		}
		s := merkle.NewStored(bytes.NewReader(data))
		if f, err := s.Frontier(size, root); err == nil && f.Root() != root {
			t.Error("a frontier with another root")
		}
		index := rapid.Int64Range(0, size-1).Draw(t, "index")
		if leaf, _, err := s.Inclusion(size, root, index); err == nil && leaf != merkle.LeafHash(fmt.Appendf(nil, "line %d", index)) {
			t.Error("a wrong leaf with a proof")
		}
		from := rapid.Int64Range(0, size).Draw(t, "from")
		if old, _, err := s.Consistency(size, root, from); err == nil && old != k.tree[from].Root() {
			t.Error("a wrong older tree with a proof")
		}
	})
}

func TestFrontierFromKeptHashesGoesOnLikeTheFirst(t *testing.T) {
	k := grown(77)
	f, err := k.stored().Frontier(50, k.tree[50].Root())
	if err != nil {
		t.Fatal(err)
	}
	for i := 50; i < 77; i++ {
		f.Add(merkle.LeafHash(fmt.Appendf(nil, "line %d", i)), nil)
	}
	if f.Root() != k.Root() || f.Size() != 77 {
		t.Error("another tree")
	}
	if _, err := k.stored().Frontier(50, k.Root()); err == nil {
		t.Error("accepted under the root of another size")
	}
}

func TestSizesThatNoTreeHasAreRefused(t *testing.T) {
	k := grown(3)
	var h merkle.Hash
	for _, c := range []struct{ size, at int64 }{{0, 0}, {-1, 0}, {3, 3}, {3, -1}, {1 << 62, 5}, {1<<63 - 1, 5}, {-1 << 63, -1}} {
		if merkle.CheckInclusion(nil, c.size, h, c.at, h) == nil {
			t.Errorf("inclusion of %d in %d passes", c.at, c.size)
		}
		if _, _, err := k.stored().Inclusion(c.size, h, c.at); err == nil {
			t.Errorf("inclusion of %d in %d was proven", c.at, c.size)
		}
	}
	for _, c := range []struct{ size, from int64 }{{0, 1}, {-1, -1}, {3, 4}, {1<<63 - 1, 5}, {1 << 62, 1 << 61}} {
		if merkle.CheckConsistency(nil, c.size, h, c.from, h) == nil {
			t.Errorf("consistency of %d with %d passes", c.from, c.size)
		}
	}
	if merkle.CheckConsistency(nil, 0, h, 0, merkle.EmptyRoot()) == nil {
		t.Error("a tree without leaves has another root than the empty one")
	}
}

func TestHashesHaveOneSpelling(t *testing.T) {
	h := merkle.EmptyRoot()
	if got, err := merkle.ParseHash(h.Base64()); err != nil || got != h {
		t.Fatal(got, err)
	}
	text := h.Base64()
	for _, bad := range []string{"", text + "\n", text[:20] + "\n" + text[20:], strings.TrimRight(text, "="), "AAAA",
		text[:42] + "V" + text[43:]} {
		if bad == text {
			continue
		}
		if _, err := merkle.ParseHash(bad); err == nil && bad != text {
			t.Errorf("%q accepted", bad)
		}
	}
}
