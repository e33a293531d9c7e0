package pin

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sbxcron/sbxcron/jobspec"
)

// aged opens a script in a folder as if all of it were changed last a while ago.
func aged(t *testing.T, d string) *Set {
	t.Helper()
	for _, dir := range []string{"up/ws", "up/data"} {
		if err := os.MkdirAll(filepath.Join(d, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"up/ws/job.sh", "up/data/x", "new"} {
		if err := os.WriteFile(filepath.Join(d, name), []byte("#!/bin/sh\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	s, err := Open(t.Context(), Account{UID: os.Geteuid()}, []Request{
		{Use: jobspec.UseBound, Role: jobspec.RoleScript, Path: filepath.Join(d, "up/ws/job.sh")},
		{Use: jobspec.UseCwd, Path: filepath.Join(d, "up/ws")},
		{Use: jobspec.UseRead, Path: filepath.Join(d, "up/data")},
	}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	s.began = s.began.Add(time.Hour)
	return s
}

func TestWhatAColdLookWouldSeeOtherwiseIsAChange(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("needs an ordinary user: root opens no path without a child")
	}
	for name, c := range map[string]struct {
		do   func(d string) error
		same bool
	}{
		"nothing": {func(string) error { return nil }, true},
		"the script is written": {func(d string) error {
			return os.WriteFile(filepath.Join(d, "up/ws/job.sh"), []byte("#!/bin/sh\n"), 0o755)
		}, false},
		"another takes its name": {func(d string) error {
			return os.Rename(filepath.Join(d, "new"), filepath.Join(d, "up/ws/job.sh"))
		}, false},
		"it is removed": {func(d string) error { return os.Remove(filepath.Join(d, "up/ws/job.sh")) }, false},
		"its mode":      {func(d string) error { return os.Chmod(filepath.Join(d, "up/ws/job.sh"), 0o700) }, false},
		"its times set back": {func(d string) error {
			return os.Chtimes(filepath.Join(d, "up/ws/job.sh"), time.Unix(1, 0), time.Unix(1, 0))
		}, false},
		"a folder above is another": {func(d string) error {
			if err := os.Rename(filepath.Join(d, "up"), filepath.Join(d, "old")); err != nil {
				return err
			}
			return os.CopyFS(filepath.Join(d, "up"), os.DirFS(filepath.Join(d, "old")))
		}, false},
		"a folder above is a link": {func(d string) error {
			if err := os.Rename(filepath.Join(d, "up"), filepath.Join(d, "old")); err != nil {
				return err
			}
			return os.Symlink(filepath.Join(d, "old"), filepath.Join(d, "up"))
		}, false},
		"a name in the cwd":         {func(d string) error { return os.Mkdir(filepath.Join(d, "up/ws/.git"), 0o755) }, false},
		"a name in what it reads":   {func(d string) error { return os.Mkdir(filepath.Join(d, "up/data/y"), 0o755) }, true},
		"the mode of what it reads": {func(d string) error { return os.Chmod(filepath.Join(d, "up/data"), 0o700) }, false},
		"a file beside all of it":   {func(d string) error { return os.Remove(filepath.Join(d, "new")) }, true},
	} {
		t.Run(name, func(t *testing.T) {
			d := t.TempDir()
			s := aged(t, d)
			if !s.Unchanged() {
				t.Fatal("changed before anything was done")
			}
			if err := c.do(d); err != nil {
				t.Fatal(err)
			}
			if s.Unchanged() != c.same {
				t.Errorf("unchanged: %v", !c.same)
			}
		})
	}
}

// A change in the tick of the opening bears the same time as what was opened.
func TestAYoungFileIsNeverSaidToBeUnchanged(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("needs an ordinary user: root opens no path without a child")
	}
	s := aged(t, t.TempDir())
	s.began = s.began.Add(-time.Hour)
	if s.Unchanged() {
		t.Error("a file of this moment is unchanged")
	}
}

func TestAMountSomewhereIsAChange(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("needs an ordinary user: root opens no path without a child")
	}
	s := aged(t, t.TempDir())
	s.mounts = append(s.mounts, "99 1 0:99 / /srv rw - tmpfs none rw\n"...)
	if s.Unchanged() {
		t.Error("with another list of mounts all is unchanged")
	}
}

func TestAnAdoptedFolderIsLookedAtToo(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	fd, err := unix.Open(dir, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	var s Set
	s.Adopt(jobspec.Observation{}, os.NewFile(uintptr(fd), dir))
	defer s.Close()
	if s.mounts, err = os.ReadFile("/proc/self/mountinfo"); err != nil {
		t.Fatal(err)
	}
	if !s.Unchanged() {
		t.Error("changed by itself")
	}
	if err := os.Rename(dir, dir+"2"); err != nil {
		t.Fatal(err)
	}
	if s.Unchanged() {
		t.Error("unchanged under another name")
	}
}
