package channel

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// closed is a RUN that only root can go into.
func closed(t *testing.T) string {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root: nobody else keeps pipes away from RUN")
	}
	run := filepath.Join(t.TempDir(), "run")
	if err := os.Mkdir(run, 0o700); err != nil {
		t.Fatal(err)
	}
	return run
}

func TestAServiceGoesOnWithTheFolderOfOneThatWasKilled(t *testing.T) {
	run := closed(t)
	killed, err := Open(run) // and never closed
	if err != nil {
		t.Fatal(err)
	}
	old, young := filepath.Join(killed.Dir(), "old"), filepath.Join(killed.Dir(), "young")
	for path, age := range map[string]time.Duration{old: 2 * maxSetup, young: 0} {
		at := time.Now().Add(-age)
		if err := errors.Join(os.WriteFile(path, nil, 0o600), os.Chtimes(path, at, at)); err != nil {
			t.Fatal(err)
		}
	}
	next, err := Open(run)
	if err != nil {
		t.Fatal(err)
	}
	if next.Dir() != killed.Dir() {
		t.Errorf("%s after %s", next.Dir(), killed.Dir())
	}
	if _, err := os.Lstat(old); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("what a dead service left: %v", err)
	}
	if err := os.Remove(young); err != nil {
		t.Error(err)
	}
	next.Close()
	if _, err := os.Lstat(next.Dir()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("after the end: %v", err)
	}
	last, err := Open(run)
	if err != nil {
		t.Fatal(err)
	}
	last.Close()
}

// Whoever can write RUN cannot have another folder emptied or opened to others.
func TestALinkInRUNLeadsToNoOtherFolder(t *testing.T) {
	run := closed(t)
	others := filepath.Join(t.TempDir(), "others")
	long := time.Now().Add(-time.Hour)
	kept := filepath.Join(others, "kept")
	if err := errors.Join(os.Mkdir(others, 0o700), os.WriteFile(kept, nil, 0o600), os.Chtimes(kept, long, long)); err != nil {
		t.Fatal(err)
	}
	open, err := os.MkdirTemp("/tmp", filepath.Base(awayPrefix))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(open) })
	if err := os.Chmod(open, 0o777); err != nil {
		t.Fatal(err)
	}
	foreign, err := os.MkdirTemp("/tmp", filepath.Base(awayPrefix))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(foreign) })
	if err := os.Chown(foreign, 1, 1); err != nil {
		t.Fatal(err)
	}
	for _, to := range []string{others, awayPrefix + "x/../.." + others, open, foreign, "/tmp", "", awayPrefix + "gone"} {
		link := filepath.Join(run, "events-at")
		os.Remove(link) // there is none yet
		if to != "" {
			if err := os.Symlink(to, link); err != nil {
				t.Fatal(err)
			}
		}
		f, err := Open(run)
		if err != nil {
			t.Fatal(err)
		}
		if dir := f.Dir(); dir == to || filepath.Dir(dir) != "/tmp" {
			t.Errorf("link to %q: %s", to, dir)
		}
		f.Close()
	}
	if info, err := os.Stat(others); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", info, err)
	}
	if _, err := os.Lstat(kept); err != nil {
		t.Error(err)
	}
}
