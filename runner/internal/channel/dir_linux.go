package channel

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// channelDir makes the folder for the pipes of runs: in RUN, which the accounts
// of jobs can pass through but not list. bwrap looks the pipe up by its path,
// with the job's rights; where RUN lies below a folder that is closed to others,
// the pipes lie in a folder of their own below /tmp.
func channelDir(run string) (string, error) {
	dir := filepath.Join(run, "events")
	if os.Geteuid() == 0 && !passable(run) {
		var err error
		if dir, err = awayDir(run); err != nil {
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

// awayPrefix begins the names of folders below /tmp.
const awayPrefix = "/tmp/sbxcron-events-"

// awayDir is the folder below /tmp, which a link in RUN names: a service that was
// killed leaves its folder behind, and the next one goes on with it. Root's folder
// in a sticky one is nobody's to exchange; whatever else the link leads to is not
// used and not touched.
func awayDir(run string) (string, error) {
	link := filepath.Join(run, "events-at")
	if dir, err := os.Readlink(link); err == nil && strings.HasPrefix(dir, awayPrefix) && filepath.Clean(dir) == dir && filepath.Dir(dir) == "/tmp" {
		var st unix.Stat_t
		if unix.Lstat(dir, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFDIR && st.Uid == 0 && st.Mode&0o022 == 0 {
			return dir, nil
		}
	}
	dir, err := os.MkdirTemp("/tmp", filepath.Base(awayPrefix))
	if err != nil {
		return "", err
	}
	if err := os.Remove(link); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", errors.Join(err, os.Remove(dir))
	}
	if err := os.Symlink(dir, link); err != nil {
		return "", errors.Join(err, os.Remove(dir))
	}
	return dir, nil
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
