package bwrap

import (
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/record"
	"github.com/sbxcron/sbxcron/runner"
	"golang.org/x/sys/unix"
)

// A copy is mounted over a name in a directory of the host. Renaming that name
// from another mount namespace succeeds and takes the mount away with it
// (rename(2), since Linux 3.18), and the interpreter of a script opens the
// script by its name after execve. So the name is watched from before the mount
// until the interpreter must have opened it: a rename changes the inode's change
// time, which no call can set, and leaves its trace however quickly it is undone.

// nameTime is how long after execve names are looked at.
const nameTime = time.Second

// heldName is one name that a copy is mounted over.
type heldName struct {
	path string
	dir  int // O_PATH descriptor of its directory
	seen nameState
}

// nameState identifies what a name means and that it was not moved since.
type nameState struct {
	dev, ino uint64
	ctime    unix.Timespec
}

// holdNames looks at the names of all copies, with the job's rights. It runs
// before bwrap mounts anything.
func (b *Backend) holdNames(p *runner.Blueprint) ([]heldName, error) {
	var held []heldName
	var failed error
	err := b.spawn.as(p.Account.UID, p.Account.GID, func() {
		for _, m := range p.Mounts {
			if m.Kind != runner.Copy || m.Own || byDescriptor(p.Exec, m) {
				continue
			}
			h, err := holdName(m.Dst)
			if err != nil {
				failed = refusal(jobspec.CodeDriftExecMissing, m.Dst, "%v", err)
				return
			}
			held = append(held, h)
		}
	})
	if err = errors.Join(err, failed); err != nil {
		closeNames(held)
		return nil, err
	}
	return held, nil
}

// byDescriptor is a program that is started by the descriptor that the stub
// looked at: whatever becomes of its name, it is not opened once more.
func byDescriptor(e runner.Exec, m runner.Mount) bool {
	return e.Sealed && e.ELF && m.Dst == e.Path
}

func holdName(path string) (heldName, error) {
	dir, err := unix.Openat2(unix.AT_FDCWD, filepath.Dir(path), &unix.OpenHow{Flags: unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS})
	if err != nil {
		return heldName{}, fmt.Errorf("open the directory of %q: %w", path, err)
	}
	h := heldName{path: path, dir: dir}
	if h.seen, err = h.now(); err != nil {
		unix.Close(dir)
		return heldName{}, fmt.Errorf("look at %q: %w", path, err)
	}
	return h, nil
}

func (h heldName) now() (nameState, error) {
	var st unix.Stat_t
	err := unix.Fstatat(h.dir, filepath.Base(h.path), &st, unix.AT_SYMLINK_NOFOLLOW)
	return nameState{uint64(st.Dev), st.Ino, st.Ctim}, err
}

func closeNames(held []heldName) {
	for _, h := range held {
		closeFDs(h.dir)
	}
}

// moved returns the first name that does not mean what it meant, or "".
func (r *run) moved() string {
	var path string
	err := r.b.spawn.as(r.p.Account.UID, r.p.Account.GID, func() {
		for _, h := range r.names {
			if now, err := h.now(); err != nil || now != h.seen {
				path = h.path
				return
			}
		}
	})
	if err != nil && len(r.names) > 0 {
		return r.names[0].path // it cannot be shown any more
	}
	return path
}

// watchNames looks again and again, at growing distances, until nameTime has
// passed or the run is over, and ends the run at the first name that moved.
func (r *run) watchNames() {
	defer close(r.namesDone)
	if len(r.names) == 0 {
		return
	}
	<-r.execDone
	for wait, over := time.Millisecond, false; ; wait *= 2 {
		if path := r.moved(); path != "" {
			r.nameMoved = path
			r.Kill(jobspec.CodeDriftScript)
			return
		}
		if over || wait > nameTime {
			return
		}
		select {
		case <-r.ended:
			over = true // one last look
		case <-time.After(wait):
		}
	}
}

// reportMoved makes a run killed whose bytes cannot be shown to be the approved
// ones, also when it was over before it could be stopped.
func (r *run) reportMoved(end *record.End) {
	if r.nameMoved == "" {
		return
	}
	end.Outcome = record.OutcomeKilled
	end.Reasons = []record.Reason{{Code: jobspec.CodeDriftScript, Target: r.nameMoved,
		Detail: "the name was moved while the run began; that the approved bytes ran cannot be shown"}}
}
