package bwrap

import (
	"fmt"
	"time"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/record"
	"github.com/sbxcron/sbxcron/runner/internal/left"
)

// coarse is how far the time that file systems stamp with may lie behind the
// clock: one tick of the slowest kernel.
const coarse = 10 * time.Millisecond

// reportLeft makes a run denied that left in a writable folder what others would
// trust without looking. The filter keeps a job from making set-id files; for
// them this is the second look.
func (r *run) reportLeft(end *record.End) {
	if len(r.watched) == 0 {
		return
	}
	var folders []left.Folder
	for _, w := range r.watched {
		folders = append(folders, left.Folder{Path: w.path, Dir: w.dir})
	}
	var found []string
	err := asAccount(r.p.Account, func() (err error) {
		found, err = left.Look{UID: r.p.Account.UID, Since: r.began, MayCreate: r.p.MayCreate}.At(folders)
		return err
	})
	if err != nil {
		end.Reasons = append(end.Reasons, record.Reason{Code: jobspec.CodeInternal, Detail: fmt.Sprintf("look for set-id files: %v", err)})
		found = append(found, r.watched[0].path) // nobody knows what lies there
	}
	left.Tell(end, found)
}
