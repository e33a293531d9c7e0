package bwrap

import (
	"testing"

	"golang.org/x/sys/unix"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/record"
)

// A process of the job's account outside can stop or kill the one that tells what
// the job tried, when the job is over and its last attempts were not told.
func TestARunThatWasMaybeNotToldWholeIsNoSuccess(t *testing.T) {
	for name, signal := range map[string]unix.Signal{"killed": unix.SIGKILL, "stopped": unix.SIGSTOP} {
		t.Run(name, func(t *testing.T) {
			b := open(t)
			r, proc := begin(t, b, "exit 0")
			<-r.ended
			all := supervisors(t)
			if len(all) != 1 {
				t.Fatalf("supervisors %v", all)
			}
			must(t, unix.Kill(all[0], signal))
			end := waitEnd(t, proc)
			if end.Outcome != record.OutcomeKilled || len(end.Reasons) != 1 || end.Reasons[0].Code != jobspec.CodeSbxProxyFailed || end.Reasons[0].Target != supervisor {
				t.Errorf("ended as %+v", end)
			}
			if left := supervisors(t); len(left) != 0 {
				t.Errorf("supervisors %v are left", left)
			}
		})
	}
}
