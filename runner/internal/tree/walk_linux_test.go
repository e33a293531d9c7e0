package tree

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func folder(t testing.TB, files ...string) *os.File {
	t.Helper()
	dir := t.TempDir()
	for _, f := range files {
		path := filepath.Join(dir, f)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, nil, 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	top, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { top.Close() })
	return top
}

func paths(t *testing.T, top *os.File, most int, enter func(string) error) ([]string, error) {
	t.Helper()
	var all []string
	err := Walk(top, most, func(e Entry) error {
		all = append(all, e.Path)
		return enter(e.Path)
	}, nothing)
	slices.Sort(all)
	return all, err
}

func everything(string) error { return nil }

func nothing(Entry) error { return nil }

func TestLinksAreSeenAndNotFollowed(t *testing.T) {
	top, other := folder(t, "a/b", "c"), folder(t, "secret")
	for name, to := range map[string]string{"link": other.Name(), "up": "..", "self": ".", "a/loop": "../a"} {
		if err := os.Symlink(to, filepath.Join(top.Name(), name)); err != nil {
			t.Fatal(err)
		}
	}
	got, err := paths(t, top, 100, everything)
	if want := []string{"a", "a/b", "a/loop", "c", "link", "self", "up"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v", got, err)
	}
}

func TestAWalkHasAnEnd(t *testing.T) {
	top := folder(t, "1", "2", "3")
	if _, err := paths(t, top, 2, everything); !errors.Is(err, ErrTooMuch) {
		t.Errorf("too many: %v", err)
	}
	deep := "d"
	for range maxDepth + 2 {
		deep += "/d"
	}
	if _, err := paths(t, folder(t, deep+"/f"), 1000, everything); !errors.Is(err, ErrTooMuch) {
		t.Errorf("too deep: %v", err)
	}
}

func TestAFolderCanBeLeftOut(t *testing.T) {
	got, err := paths(t, folder(t, "in/f", "out/f"), 100, func(p string) error {
		if p == "out" {
			return SkipFolder
		}
		return nil
	})
	if want := []string{"in", "in/f", "out"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v", got, err)
	}
	stop := errors.New("stop")
	if _, err := paths(t, folder(t, "f"), 100, func(string) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("an error of visit is lost: %v", err)
	}
}

// TestClosedFoldersAreTold as an ordinary user: root reads everything.
func TestClosedFoldersAreTold(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("needs an ordinary user: root reads what nobody may read")
	}
	top := folder(t, "blind/f", "names/f", "open/f", "shut/f")
	for name, mode := range map[string]os.FileMode{"blind": 0o311, "names": 0o644, "shut": 0} {
		path := filepath.Join(top.Name(), name)
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { os.Chmod(path, 0o755) })
	}
	var closed []string
	err := Walk(top, 100, nothing, func(e Entry) error {
		closed = append(closed, e.Path)
		return nil
	})
	slices.Sort(closed)
	if want := []string{"blind", "names", "shut"}; err != nil || !slices.Equal(closed, want) {
		t.Errorf("%q, %v", closed, err)
	}
}

func BenchmarkWalk10000Files(b *testing.B) {
	var files []string
	for i := range 10_000 {
		files = append(files, fmt.Sprintf("%d/%d", i/100, i))
	}
	top := folder(b, files...)
	for b.Loop() {
		if err := Walk(top, 1<<20, nothing, nothing); err != nil {
			b.Fatal(err)
		}
	}
}
