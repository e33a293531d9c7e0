package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Who may put files into the folder must not make the plan wait for ever, and no
// device is read.
func TestWhatIsNoFileInAFolderOfJobsIsNamedAndNotOpened(t *testing.T) {
	f := newFolder(t, "good", "")
	pipe, link := filepath.Join(f.dir, "pipe.toml"), filepath.Join(f.dir, "link.toml")
	if err := unix.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/dev/zero", link); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(pipe, filepath.Join(f.dir, "further.toml")); err != nil {
		t.Fatal(err)
	}
	done := make(chan int, 1)
	go func() { done <- f.run("plan", "-f", f.dir, "--dry-run") }()
	select {
	case code := <-done:
		if code != 65 || strings.Count(f.err.String(), "is no regular file") != 3 {
			t.Errorf("exit %d\n%s", code, f.err.String())
		}
	case <-time.After(5 * time.Second):
		t.Fatal("the plan waits for who writes into a pipe")
	}
}
