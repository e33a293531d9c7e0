package bwrap

import (
	"fmt"
	"os"
	"slices"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/record"
	"github.com/sbxcron/sbxcron/runner/internal/left"
	"github.com/sbxcron/sbxcron/runner/internal/protect"
	"golang.org/x/sys/unix"
)

// watchedDir is a writable directory and the protected names that were missing
// when the run began.
type watchedDir struct {
	path    string
	dir     *os.File
	missing []string
}

// watchGuards keeps the writable directories open beyond the plan, whose files
// the caller may close at Release.
func (r *run) watchGuards(guards []guarded) error {
	for _, g := range r.p.Guard {
		fd, err := unix.FcntlInt(r.p.Pins.File(g.Pin).Fd(), unix.F_DUPFD_CLOEXEC, 0)
		if err != nil {
			return fmt.Errorf("hold %s: %w", g.Path, err)
		}
		w := watchedDir{path: g.Host, dir: os.NewFile(uintptr(fd), g.Host)}
		for _, name := range g.Protect() {
			path := g.Path + "/" + name
			found := slices.ContainsFunc(guards, func(x guarded) bool { return x.path == path })
			if !found && !slices.Contains(r.p.MayCreate, name) {
				w.missing = append(w.missing, name)
			}
		}
		r.watched = append(r.watched, w)
	}
	return nil
}

// reportCreated makes a run denied that left a protected name where there was
// none: nothing outside has trusted it yet, and nobody shall without looking.
// It looks with the job's rights; where it cannot look at all, it says so.
func (r *run) reportCreated(end *record.End) {
	if len(r.watched) == 0 {
		return
	}
	var found []string
	err := r.b.spawn.as(r.p.Account.UID, r.p.Account.GID, func() {
		for _, w := range r.watched {
			found = append(found, w.made()...)
		}
	})
	if err != nil {
		end.Reasons = append(end.Reasons, record.Reason{Code: jobspec.CodeInternal, Detail: fmt.Sprintf("look for new protected names: %v", err)})
	}
	left.Tell(end, found)
}

// made lists the names that were missing and exist now.
func (w watchedDir) made() []string {
	var found []string
	for _, name := range w.missing {
		if protect.Exists(int(w.dir.Fd()), name) {
			found = append(found, w.path+"/"+name)
		}
	}
	return found
}
