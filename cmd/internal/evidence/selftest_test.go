package evidence_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/sbxcron/sbxcron/cmd/internal/evidence/tamper"
	"github.com/sbxcron/sbxcron/jobspec"
)

// state are the digests of all files below the folders of a host.
func (h *host) state() map[string]jobspec.Digest {
	all := map[string]jobspec.Digest{}
	must(h.t, filepath.WalkDir(filepath.Dir(h.dirs.State), func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		b, err := os.ReadFile(path)
		all[path] = jobspec.DigestOf(b)
		return err
	}))
	return all
}

func TestTheSelftestNamesAllThatItDoesAndChangesNothing(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir()) // nobody else leaves anything there
	h := newHost(t, "").history()
	before := h.state()
	results, err := tamper.Try(t.Context(), tamper.Files(h.bundle()))
	must(t, err)
	if len(results) != len(tamper.Table())+1 || len(results) < 35 {
		t.Errorf("%d results", len(results))
	}
	if r := results[0]; r.Named || r.Problem != nil || len(r.Failed) > 0 {
		t.Errorf("against the whole bundle: %+v", r)
	}
	for _, r := range results[1:] {
		lacks := r.Tampering == "a denied run becomes a success" || r.Tampering == "a refusal becomes a success" // no such line here
		if r.Tried == lacks || r.Named == lacks {
			t.Errorf("%+v", r)
		}
	}
	after := h.state()
	if len(after) != len(before) || len(before) < 10 {
		t.Errorf("%d files before, %d after", len(before), len(after))
	}
	for path, d := range before {
		if after[path] != d {
			t.Errorf("%s was changed", path)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(os.TempDir(), "sbxcron-selftest-*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// Whose judge names nothing would be told: a bundle in which the rows find nothing to
// change counts none of them as named.
func TestTheSelftestCountsNothingThatItDidNotTry(t *testing.T) {
	results, err := tamper.Try(t.Context(), tamper.Files{})
	must(t, err)
	for _, r := range results[1:] {
		if r.Tried || r.Named {
			t.Errorf("%+v", r)
		}
	}
}
