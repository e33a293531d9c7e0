package bwrap

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

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
			if signal == unix.SIGSTOP {
				awaitStopped(t, all[0])
			}
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

// awaitStopped waits until each thread of a process stands: one takes the signal,
// and the others go on until it has.
func awaitStopped(t *testing.T, pid int) {
	t.Helper()
	for limit := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", pid))
		must(t, err)
		standing := 0
		for _, file := range threads {
			if text, err := os.ReadFile(file); err == nil && strings.Contains(string(text), "State:\tT") {
				standing++
			}
		}
		if standing > 0 && standing == len(threads) {
			return
		}
		if time.Now().After(limit) {
			t.Fatalf("%d of %d threads stand", standing, len(threads))
		}
	}
}
