//go:build linux

package sweep

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/sbxcron/sbxcron/runner/statedir"
	"github.com/sbxcron/sbxcron/store"
)

// Prefix begins the name of each folder that may be swept. Nothing else is ever
// removed, whoever calls the child.
const Prefix = "sbxcron-try-"

// childName is argv[0] of the child.
const childName = "sbxcron: sweeper"

// patience is how long the child tries. A sandbox that dies with the process may
// hold its last files for a moment.
const patience = 10 * time.Second

// ChildMain is the life of the child. In any other process it returns at once.
func ChildMain() {
	if len(os.Args) != 2 || os.Args[0] != childName {
		return
	}
	// The terminal's signals are for the process that is watched.
	signal.Ignore(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)
	_, _ = io.Copy(io.Discard, os.Stdin) // ends when the last process that holds the other end does
	if err := remove(os.Args[1], patience); err != nil {
		os.Exit(1)
	}
	os.Exit(0)
}

// Sweeper waits to remove one folder.
type Sweeper struct {
	dir  string
	cmd  *exec.Cmd
	pipe *os.File
}

// Watch starts the child for a folder that this process has made.
func Watch(dir string) (*Sweeper, error) {
	if err := sweepable(dir); err != nil {
		return nil, err
	}
	r, w, err := os.Pipe() // close-on-exec: no other child keeps it open
	if err != nil {
		return nil, fmt.Errorf("watch %q: %w", dir, err)
	}
	defer r.Close()
	cmd := exec.Command("/proc/self/exe")
	cmd.Args, cmd.Env, cmd.Dir = []string{childName, dir}, []string{}, "/"
	cmd.Stdin = r
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("watch %q: %w", dir, err), w.Close())
	}
	return &Sweeper{dir: dir, cmd: cmd, pipe: w}, nil
}

// Done has the folder removed now and waits until it is gone.
func (s *Sweeper) Done() error {
	if err := s.pipe.Close(); err != nil {
		return fmt.Errorf("sweep %q: %w", s.dir, err)
	}
	if err := s.cmd.Wait(); err != nil {
		return fmt.Errorf("sweep %q: it could not be removed whole: %w", s.dir, err)
	}
	return nil
}

// sweepable refuses everything but a real folder of ours with the right name.
func sweepable(dir string) error {
	info, err := os.Lstat(dir)
	if err != nil {
		return fmt.Errorf("sweep: %w", err)
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok || !info.IsDir() || int(st.Uid) != os.Geteuid() || !filepath.IsAbs(dir) || !strings.HasPrefix(filepath.Base(dir), Prefix) {
		return fmt.Errorf("sweep %q: not a throw-away folder of this account", dir)
	}
	return nil
}

// removeStates has the state folders of jobs removed with the rights of their
// accounts: root has given up those that it would need itself.
func removeStates(dir string) error {
	if os.Geteuid() != 0 {
		return nil
	}
	dirs, err := store.RootDirs(dir, 0)
	if err != nil {
		return err
	}
	names, err := statedir.Names(dirs.JobsState())
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := statedir.Remove(dirs.JobsState(), name); err != nil {
			return err
		}
	}
	return nil
}

// remove follows no link (os.RemoveAll works by descriptors).
func remove(dir string, limit time.Duration) error {
	for end := time.Now().Add(limit); ; time.Sleep(50 * time.Millisecond) {
		if err := sweepable(dir); errors.Is(err, os.ErrNotExist) {
			return nil
		} else if err != nil {
			return err
		}
		err := errors.Join(removeStates(dir), os.RemoveAll(dir))
		if err == nil || time.Now().After(end) {
			return err
		}
	}
}
