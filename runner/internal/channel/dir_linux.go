package channel

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// channelDir makes the folder for the pipes of runs: in RUN, which the accounts
// of jobs can pass through but not list. bwrap looks the pipe up by its path,
// with the job's rights; where RUN lies below a folder that is closed to others,
// the pipes lie in a folder of their own below /tmp.
func channelDir(run string) (string, error) {
	dir := filepath.Join(run, "events")
	if os.Geteuid() == 0 && !passable(run) {
		var err error
		if dir, err = os.MkdirTemp("/tmp", "sbxcron-events-"); err != nil {
			return "", fmt.Errorf("make the folder for pipes: %w", err)
		}
	} else if err := os.Mkdir(dir, 0o711); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", fmt.Errorf("make the folder for pipes: %w", err)
	}
	if err := os.Chmod(dir, 0o711); err != nil { // the umask has no say
		return "", fmt.Errorf("open the folder for pipes: %w", err)
	}
	return dir, removeOld(dir)
}

// passable reports whether everybody may go through a folder and all above it.
func passable(dir string) bool {
	for {
		info, err := os.Stat(dir)
		if err != nil || info.Mode().Perm()&0o001 == 0 {
			return false
		}
		if dir == filepath.Dir(dir) {
			return true
		}
		dir = filepath.Dir(dir)
	}
}

// maxSetup is longer than any sandbox takes to be built.
const maxSetup = 40 * time.Second

// removeOld removes the names that a service left that was killed while it built
// sandboxes. Younger ones may be another's.
func removeOld(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("look for old pipes: %w", err)
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || time.Since(info.ModTime()) < maxSetup {
			continue
		}
		if err := os.Remove(filepath.Join(dir, e.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove an old pipe: %w", err)
		}
	}
	return nil
}
