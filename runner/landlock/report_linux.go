package landlock

import (
	"context"
	"fmt"
	"os"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/record"
	"github.com/sbxcron/sbxcron/runner/internal/hear"
	"github.com/sbxcron/sbxcron/runner/internal/left"
	"github.com/sbxcron/sbxcron/runner/internal/protect"
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
func (r *run) watchGuards() error {
	for _, g := range r.p.Guard {
		fd, err := unix.FcntlInt(r.p.Pins.File(g.Pin).Fd(), unix.F_DUPFD_CLOEXEC, 0)
		if err != nil {
			return fmt.Errorf("hold %s: %w", g.Path, err)
		}
		w := watchedDir{path: g.Host, dir: os.NewFile(uintptr(fd), g.Host)}
		for _, name := range g.Protect() {
			if !slices.Contains(r.p.MayCreate, name) && !protect.Exists(fd, name) {
				w.missing = append(w.missing, name)
			}
		}
		r.watched = append(r.watched, w)
	}
	return nil
}

// reportCreated makes a run denied that left a protected name where there was none.
func (r *run) reportCreated(end *record.End) {
	var found []string
	for _, w := range r.watched {
		for _, name := range w.missing {
			if protect.Exists(int(w.dir.Fd()), name) {
				found = append(found, w.path+"/"+name)
			}
		}
	}
	left.Tell(end, found)
}

// reportLeft makes a run denied that left in a writable folder what others would
// trust without looking.
func (r *run) reportLeft(end *record.End) {
	if len(r.watched) == 0 {
		return
	}
	var folders []left.Folder
	for _, w := range r.watched {
		folders = append(folders, left.Folder{Path: w.path, Dir: w.dir})
	}
	found, err := left.Look{UID: r.p.Account.UID, Since: r.began, MayCreate: r.p.MayCreate}.At(folders)
	if err != nil {
		end.Reasons = append(end.Reasons, record.Reason{Code: jobspec.CodeInternal, Detail: fmt.Sprintf("look for set-id files: %v", err)})
		found = append(found, r.watched[0].path) // nobody knows what lies there
	}
	left.Tell(end, found)
}

// spawn starts our own program for a witness, which ends with its control pipe.
func spawn(argv []string, files []*os.File) (*os.Process, error) {
	return startSelf(context.Background(), argv, files)
}

// ear hears what shims tell and what an agent printed.
func (r *run) ear() hear.Ear { return hear.Ear{Spawn: spawn, Denials: r.denials, Kill: r.Kill} }

// watchEvents notes what shims tell while the run goes on.
func (r *run) watchEvents() {
	defer close(r.eventsDone)
	r.lostEvents = r.ear().Events(r.channel, r.ended)
}

// reportHeard puts into the end of the run what its agent's result and its shims
// said.
func (r *run) reportHeard(end *record.End) {
	r.ear().Result(r.p.Result, r.result, end)
	r.ear().Report(r.lostEvents, end)
}
