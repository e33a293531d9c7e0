package bwrap

import (
	"errors"
	"fmt"
	"time"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/record"
	"github.com/sbxcron/sbxcron/runner"
	"github.com/sbxcron/sbxcron/runner/internal/rights"
	"github.com/sbxcron/sbxcron/runner/internal/tree"
)

// maxCounted bounds how many files are counted for limits.workspace_growth.
const maxCounted = 1 << 20

// growthPause is the least time between two counts of the writable folders, and
// growthShare how much longer than a count the pause is: counting takes at most
// a twentieth of a core.
const (
	growthPause = 250 * time.Millisecond
	growthShare = 20
)

// errUncounted is a folder that the job closed, maybe to hide what it takes.
var errUncounted = errors.New("a folder of the job cannot be counted")

// asAccount runs f with the file system rights of the job's account.
func asAccount(a runner.Account, f func() error) error {
	if !a.Drop {
		return f()
	}
	return rights.As(a.UID, a.GID, f)
}

// size counts what the writable folders take on disk. A file that was deleted
// while it is open is not among them.
func (r *run) size() (int64, error) {
	var bytes int64
	seen := map[[2]uint64]bool{} // of several names, and of folders in folders
	err := asAccount(r.p.Account, func() error {
		for _, w := range r.watched {
			err := tree.Walk(w.dir, maxCounted, func(e tree.Entry) error {
				id := [2]uint64{e.Stat.Dev, e.Stat.Ino}
				if len(r.watched) > 1 || e.Stat.Nlink > 1 {
					if seen[id] {
						return nil
					}
					seen[id] = true
				}
				bytes += e.Stat.Blocks * 512
				return nil
			}, r.uncounted)
			if err != nil {
				return fmt.Errorf("count %s: %w", w.path, err)
			}
		}
		return nil
	})
	return bytes, err
}

// uncounted judges a folder that may not be read. What lay there closed before
// the run is left out of both counts; one that the job closes is not.
func (r *run) uncounted(e tree.Entry) error {
	if int(e.Stat.Uid) == r.p.Account.UID && !time.Unix(e.Stat.Ctim.Unix()).Before(r.began.Add(-coarse)) {
		return errUncounted
	}
	return nil
}

// measureBefore counts once before the job begins. Without a first count there
// is nothing to hold growth against.
func (r *run) measureBefore() error {
	if r.p.Limits.WorkspaceGrowthBytes <= 0 || len(r.watched) == 0 {
		return nil
	}
	n, err := r.size()
	if err != nil {
		return refusal(jobspec.CodeSbxResource, "limits.workspace_growth", "%v", err)
	}
	r.grows, r.before = true, n
	return nil
}

// watchGrowth ends a run whose folders grow beyond its limit.
func (r *run) watchGrowth() {
	defer r.watchers.Done()
	if !r.grows {
		return
	}
	for pause := growthPause; ; {
		select {
		case <-r.ended:
			return
		case <-time.After(pause):
		}
		begin := time.Now()
		if over, _ := r.overgrown(); over {
			r.Kill(jobspec.CodeLimitWorkspace)
			return
		}
		pause = max(growthPause, growthShare*time.Since(begin))
	}
}

// overgrown reports whether the folders grew too much. So many files that they
// are not counted any more are too much, and so is a folder that cannot be.
func (r *run) overgrown() (bool, error) {
	n, err := r.size()
	if errors.Is(err, tree.ErrTooMuch) || errors.Is(err, errUncounted) {
		return true, nil
	}
	r.grown.Store(n - r.before)
	return err == nil && n-r.before > r.p.Limits.WorkspaceGrowthBytes, err
}

// reportGrowth looks once more when the run is over: one that was faster than
// the watcher has grown all the same, and is no success.
func (r *run) reportGrowth(end *record.End) {
	if !r.grows || r.why == jobspec.CodeLimitWorkspace {
		return
	}
	over, err := r.overgrown()
	if (over || err != nil) && end.Outcome == record.OutcomeSucceeded {
		end.Outcome = record.OutcomeFailed
	}
	switch {
	case err != nil:
		end.Reasons = append(end.Reasons, record.Reason{Code: jobspec.CodeInternal, Target: "limits.workspace_growth", Detail: err.Error()})
	case over:
		end.Reasons = append(end.Reasons, r.limitReason(jobspec.CodeLimitWorkspace))
	}
}
