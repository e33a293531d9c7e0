package bwrap

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/record"
	"github.com/sbxcron/sbxcron/runner"
	"github.com/sbxcron/sbxcron/runner/internal/rights"
)

// private is a place that only the job has: a tmpfs of limits.tmp bytes. The
// kernel tells nobody but the job when it is full, so the service looks.
type private struct {
	path  string
	dir   *os.File  // keeps the file system when the sandbox is gone
	since time.Time // when it was found full, zero while it is not
}

// fullTime is how long a private place must be full before that ends the run: a
// job that makes room again when it is told that there is none goes on.
const fullTime = 400 * time.Millisecond

// openPrivate takes hold of the private places while the stub waits at the
// barrier. They are reached through the sandbox's init, which the kernel lets
// only its own account look into.
func (r *run) openPrivate(initPID int) error {
	open := func() error {
		root, err := unix.Open(fmt.Sprintf("/proc/%d/root", initPID), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err != nil {
			return fmt.Errorf("look into the sandbox: %w", err)
		}
		defer unix.Close(root)
		for _, path := range privatePlaces(r.p) {
			if err := r.holdPrivate(root, path); err != nil {
				return fmt.Errorf("hold %s of the sandbox: %w", path, err)
			}
		}
		return nil
	}
	if !r.p.Account.Drop {
		return open()
	}
	return rights.AsWhole(r.p.Account.UID, r.p.Account.GID, open)
}

// privatePlaces are the places that are bounded by their size, and by nothing
// that lies over them.
func privatePlaces(p *runner.Blueprint) []string {
	var all []string
	for i, m := range p.Mounts {
		covered := slices.ContainsFunc(p.Mounts[i+1:], func(x runner.Mount) bool { return x.Dst == m.Dst })
		if m.Kind == runner.Tmpfs && !covered {
			all = append(all, m.Dst)
		}
	}
	return all
}

func (r *run) holdPrivate(root int, path string) error {
	fd, err := unix.Openat2(root, strings.TrimPrefix(path, "/"), &unix.OpenHow{Flags: unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS})
	if err != nil {
		return err
	}
	r.private = append(r.private, &private{path: path, dir: os.NewFile(uintptr(fd), path)})
	var st unix.Statfs_t
	if err := unix.Fstatfs(fd, &st); err != nil {
		return err
	}
	if st.Type != unix.TMPFS_MAGIC {
		return errors.New("it is no tmpfs")
	}
	return nil
}

// room says what of a private place is used up, "" for nothing.
func (p *private) room() string {
	var st unix.Statfs_t
	if unix.Fstatfs(int(p.dir.Fd()), &st) != nil {
		return ""
	}
	return used(st)
}

// used says what of a file system is used up. One without a bound counts
// neither blocks nor files.
func used(st unix.Statfs_t) string {
	switch {
	case st.Blocks > 0 && st.Bfree == 0:
		return fmt.Sprintf("all of its %d bytes are used", st.Blocks*uint64(st.Bsize))
	case st.Files > 0 && st.Ffree == 0:
		return fmt.Sprintf("all of its %d files are used", st.Files)
	}
	return ""
}

// full reports whether a private place has been full for a while.
func (r *run) full(now time.Time) bool {
	for _, p := range r.private {
		switch {
		case p.room() == "":
			p.since = time.Time{}
		case p.since.IsZero():
			p.since = now
		case now.Sub(p.since) >= fullTime:
			return true
		}
	}
	return false
}

// reportPrivate names the places that were full at the end. A job that was over
// before the watcher looked has met its limit all the same, and is no success.
func (r *run) reportPrivate(end *record.End) {
	for _, p := range r.private {
		why := p.room()
		if why == "" {
			continue
		}
		if end.Outcome == record.OutcomeSucceeded {
			end.Outcome = record.OutcomeFailed
		}
		end.Reasons = append(end.Reasons, record.Reason{Code: jobspec.CodeLimitTmp, Target: p.path, Detail: why})
	}
}
