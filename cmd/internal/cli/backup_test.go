package cli

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/sbxcron/sbxcron/store"
)

// A backup that is written over the only other one is none while it is made.
func TestABackupIsNotWrittenOverAFile(t *testing.T) {
	b := newBench(t)
	root := filepath.Join(t.TempDir(), "root")
	for _, dir := range []string{root, filepath.Join(root, "conf"), filepath.Join(root, "state")} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	dirs, err := store.RootDirs(root, os.Getuid())
	if err != nil {
		t.Fatal(err)
	}
	b.site.dirs = dirs
	if err := os.WriteFile(dirs.Host(), []byte(testHost+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "backup")
	if err := os.WriteFile(path, []byte("the last one"), 0o600); err != nil {
		t.Fatal(err)
	}
	if status := b.run("store", "backup", path); status != 65 {
		t.Errorf("exit %d\n%s", status, b.err.String())
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != "the last one" {
		t.Errorf("%q, %v", text, err)
	}
}
