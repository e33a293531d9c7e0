package bwrap

import (
	"fmt"
	"os"
	"slices"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/record"
	"github.com/sbxcron/sbxcron/runner"
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
		w := watchedDir{path: g.Path, dir: os.NewFile(uintptr(fd), g.Path)}
		for _, name := range runner.ProtectedNames() {
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
func (r *run) reportCreated(end *record.End) {
	for _, w := range r.watched {
		for _, name := range w.missing {
			var st unix.Stat_t
			if err := unix.Fstatat(int(w.dir.Fd()), name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
				continue // missing, as before, or not reachable even for us
			}
			end.Outcome = record.OutcomeDenied
			end.Denials = append(end.Denials, record.Denial{Code: jobspec.CodeFsProtectedCreated, Target: w.path + "/" + name,
				Certainty: "observed", Count: 1, FirstAt: record.Stamp(end.EndedAt)})
		}
	}
}
