package daemon

import (
	"context"
	"fmt"
	"time"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/record"
)

// stateCheck measures the job's state folder once the run is over.
func (x *examination) stateCheck() func() *record.Reason {
	name, limit := x.x.State, x.x.Op.Spec.Limits.StateBytes
	if name == "" {
		return func() *record.Reason { return nil }
	}
	folder := x.e.Examiner.StateFolder(name, x.x.Account)
	return func() *record.Reason {
		seen, file, err := folder.Look(false)
		if file != nil {
			file.Close()
		}
		switch {
		case err != nil:
			return &record.Reason{Code: jobspec.CodeStateUnusable, Target: folder.Path(), Detail: err.Error()}
		case seen.Problem != "":
			return &record.Reason{Code: seen.Problem, Target: folder.Path(), Detail: seen.Detail}
		case seen.Size > limit:
			return &record.Reason{Code: jobspec.CodeStateOverQuota, Target: folder.Path(),
				Detail: fmt.Sprintf("it holds %d bytes, the limit is %d; the next run will not start", seen.Size, limit)}
		}
		return nil
	}
}

// sweep removes the state folders of removed jobs: at the start, after each
// change of the chain, and every hour for what could not be removed then.
func (d *daemon) sweep(ctx context.Context) {
	for {
		gone, err := d.svc.SweepState(ctx)
		if err != nil && ctx.Err() == nil {
			d.Log.Warn("remove state folders", "cause", err.Error())
		}
		for _, name := range gone {
			d.Log.Info("removed the state folder of a removed job", "folder", name)
		}
		select {
		case <-ctx.Done():
			return
		case <-d.svc.chainChanged:
		case <-time.After(pruneEvery):
		}
	}
}
