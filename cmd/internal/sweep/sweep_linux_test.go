//go:build linux

package sweep

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

const envWatch = "SWEEP_WATCH" // folder: be a process that watches it and waits

func TestMain(m *testing.M) {
	ChildMain()
	if dir := os.Getenv(envWatch); dir != "" {
		if _, err := Watch(dir); err != nil {
			os.Exit(1)
		}
		os.Stdout.WriteString("ready\n")
		time.Sleep(time.Minute)
	}
	os.Exit(m.Run())
}

// full makes a folder with something in it, and a link that leads out.
func full(t *testing.T, name string) (dir, outside string) {
	t.Helper()
	outside = filepath.Join(t.TempDir(), "outside")
	dir = filepath.Join(t.TempDir(), name)
	for _, d := range []string{outside, filepath.Join(dir, "a", "b")} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range []string{filepath.Join(outside, "keep"), filepath.Join(dir, "a", "b", "file")} {
		if err := os.WriteFile(f, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(outside, filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	return dir, outside
}

func gone(path string) bool {
	_, err := os.Lstat(path)
	return errors.Is(err, fs.ErrNotExist)
}

func TestDoneRemovesTheFolderAndFollowsNoLink(t *testing.T) {
	dir, outside := full(t, Prefix+"1")
	s, err := Watch(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Done(); err != nil || !gone(dir) || gone(filepath.Join(outside, "keep")) {
		t.Errorf("%v, folder gone %v, outside gone %v", err, gone(dir), gone(filepath.Join(outside, "keep")))
	}
}

// A process that is killed cannot clean up; its folder goes all the same.
func TestAKilledProcessLeavesNoFolder(t *testing.T) {
	dir, _ := full(t, Prefix+"2")
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), envWatch+"="+dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 16)); err != nil {
		t.Fatal(err)
	}
	if gone(dir) {
		t.Fatal("swept while the process lives")
	}
	_ = cmd.Process.Signal(syscall.SIGKILL)
	_ = cmd.Wait() // killed
	for end := time.Now().Add(patience); !gone(dir); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the folder is left behind")
		}
	}
}

func TestOnlyThrowAwayFoldersAreSwept(t *testing.T) {
	dir, outside := full(t, "precious")
	link := filepath.Join(t.TempDir(), Prefix+"link")
	if err := os.Symlink(outside, link); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{dir, link, filepath.Join(dir, "a", "b", "file"), filepath.Join(dir, "absent"), "/"} {
		if _, err := Watch(path); err == nil {
			t.Errorf("%s is watched", path)
		}
		if err := remove(path, 0); err == nil && !gone(path) || gone(dir) || gone(outside) {
			t.Errorf("%s: %v", path, err)
		}
	}
}
