package bwrap

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/record"
	"github.com/sbxcron/sbxcron/runner/internal/tree"
	"golang.org/x/sys/unix"
)

// maxLooked bounds how many files are looked at after a run. The filter keeps a
// job from making what is looked for; this is the second look.
const maxLooked = 20_000

// coarse is how far the time that file systems stamp with may lie behind the
// clock: one tick of the slowest kernel.
const coarse = 10 * time.Millisecond

// reportLeft looks through the writable folders for files that were changed
// during the run and run as their owner, which would be somebody's rights for
// whoever starts them, and for hooks of repositories below the folder. The bits
// are taken off with the job's own rights; hooks stay for a person to look at.
func (r *run) reportLeft(end *record.End) {
	if len(r.watched) == 0 {
		return
	}
	var found []string
	err := asAccount(r.p.Account, func() error {
		for _, w := range r.watched {
			if err := w.look(r.began.Add(-coarse), r.p.MayCreate, &found); err != nil && !errors.Is(err, tree.ErrTooMuch) {
				return err
			}
		}
		return nil
	})
	if err != nil {
		end.Reasons = append(end.Reasons, record.Reason{Code: jobspec.CodeInternal, Detail: fmt.Sprintf("look for set-id files: %v", err)})
	}
	for _, path := range found {
		end.Outcome = record.OutcomeDenied
		end.Denials = append(end.Denials, record.Denial{Code: jobspec.CodeFsProtectedCreated, Target: path,
			Certainty: "observed", Count: 1, FirstAt: record.Stamp(end.EndedAt)})
	}
}

// mostLeft bounds how many finds one record names.
const mostLeft = 20

func (w watchedDir) look(since time.Time, mayCreate []string, found *[]string) error {
	return tree.Walk(w.dir, maxLooked, func(e tree.Entry) error {
		if e.Stat.Mode&unix.S_IFMT == unix.S_IFDIR {
			return enter(e.Path)
		}
		if e.Stat.Mode&unix.S_IFMT != unix.S_IFREG || time.Unix(e.Stat.Ctim.Unix()).Before(since) {
			return nil
		}
		switch {
		case runsAsOwner(e.Stat.Mode):
			takeOff(e)
		case !isHook(e, mayCreate):
			return nil
		}
		if len(*found) < mostLeft {
			*found = append(*found, w.path+"/"+e.Path)
		}
		return nil
	})
}

// enter leaves out the part of a repository that is large and trusted by nobody.
func enter(folder string) error {
	if path.Base(folder) == "objects" && path.Base(path.Dir(folder)) == jobspec.GitFolder {
		return tree.SkipFolder
	}
	return nil
}

// runsAsOwner tells set-id programs. The set-group bit without the group's right
// to execute is an old mark of locked files.
func runsAsOwner(mode uint32) bool {
	return mode&unix.S_ISUID != 0 || mode&unix.S_ISGID != 0 && mode&unix.S_IXGRP != 0
}

// isHook tells a hook of a repository below the folder: git runs it for whoever
// works there next. That of the folder itself is protected by its name.
func isHook(e tree.Entry, mayCreate []string) bool {
	dir, name := path.Split(e.Path)
	repo, isHooks := strings.CutSuffix(dir, "/"+jobspec.GitFolder+"/hooks/")
	return isHooks && repo != "" && e.Stat.Mode&0o111 != 0 && !strings.HasSuffix(name, ".sample") &&
		!slices.Contains(mayCreate, jobspec.GitFolder) && !slices.Contains(mayCreate, jobspec.GitFolder+"/hooks")
}

// takeOff removes the set-id bits of exactly the file that was looked at: through
// its descriptor, since its name may mean another by now. A file of somebody
// else, which the job could not have made, stays and is reported.
func takeOff(e tree.Entry) {
	fd, err := unix.Openat2(e.Dir, e.Name, &unix.OpenHow{Flags: unix.O_PATH | unix.O_NOFOLLOW | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS})
	if err != nil {
		return
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if unix.Fstat(fd, &st) != nil || st.Ino != e.Stat.Ino || st.Dev != e.Stat.Dev || st.Mode&unix.S_IFMT != unix.S_IFREG {
		return
	}
	// fchmod(2) takes no O_PATH descriptor; its name in procfs leads to that inode.
	_ = unix.Chmod(fmt.Sprintf("/proc/self/fd/%d", fd), st.Mode&0o7777&^(unix.S_ISUID|unix.S_ISGID))
}
