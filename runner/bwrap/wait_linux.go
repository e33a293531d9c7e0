package bwrap

import (
	"fmt"
	"strings"
	"syscall"
	"time"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/record"
	"github.com/sbxcron/sbxcron/runner"
	"github.com/sbxcron/sbxcron/runner/internal/hear"
	"golang.org/x/sys/unix"
)

// Wait returns when the whole tree is gone and the output is drained.
func (r *run) Wait() record.End {
	<-r.ended
	<-r.execDone
	<-r.eventsDone
	r.watchers.Wait()
	r.timer.Stop()
	end := record.End{StartedAt: r.started, EndedAt: r.finished}
	hear.Drain(&end, hear.Stream{From: r.pipes.out, Drained: r.drained[0], To: r.captures[0]},
		hear.Stream{From: r.pipes.err, Drained: r.drained[1], To: r.captures[1]})
	end.Resources = r.resources()
	r.endSupervisor()
	r.classify(&end)
	runner.MaskEnd(r.secrets, &end)
	r.release()
	return end
}

// resources adds what bwrap and the namespace's init used, with everything that
// they waited for: building the sandbox is part of it. The largest resident set is
// the init's alone where it was ours to reap: that of bwrap begins with the one of
// the service, whose memory it shared until it was executed (getrusage(2), vfork).
func (r *run) resources() record.Resources {
	res := record.Resources{CPUMillis: time.Duration(r.usage.Utime.Nano() + r.usage.Stime.Nano()).Milliseconds(), MaxRSSBytes: r.usage.Maxrss << 10}
	if u, ok := r.state.SysUsage().(*syscall.Rusage); ok {
		res.CPUMillis += (r.state.UserTime() + r.state.SystemTime()).Milliseconds()
		if res.MaxRSSBytes == 0 {
			res.MaxRSSBytes = u.Maxrss << 10
		}
	}
	return res
}

// classify says how the run ended: what we did to it comes first, then what the
// kernel says of the payload, then bwrap's own exit status.
func (r *run) classify(end *record.End) {
	if r.execFail != nil && strings.Contains(rowName(r.table, r.execFail.Row), runner.OfExecutable) {
		no := movedAway(r.table, *r.execFail)
		end.Outcome = record.OutcomeRefused
		end.Reasons = append(end.Reasons, record.Reason{Code: no.Reason, Target: r.p.Exec.Path, Detail: no.Detail})
		return
	}
	if r.execFail != nil {
		end.Outcome = record.OutcomeRefused
		end.Reasons = append(end.Reasons, record.Reason{Code: jobspec.CodeSbxSetupFailed, Target: r.p.Exec.Path,
			Detail: fmt.Sprintf("the payload could not be executed: row %d gave %d (%v)", r.execFail.Row, r.execFail.Result, unix.Errno(-r.execFail.Result))})
		return
	}
	r.exitStatus(end)
	over := r.overLimit(end)
	switch {
	case r.why == jobspec.CodeLimitTimeout:
		end.Outcome = record.OutcomeTimedOut
		end.Reasons = append(end.Reasons, r.limitReason(r.why))
		r.starved(end)
	case r.why == jobspec.CodeSbxProxyFailed:
		end.Outcome = record.OutcomeKilled
		end.Reasons = append(end.Reasons, record.Reason{Code: r.why, Target: supervisor, Detail: "the process that answers what the job asks the kernel ended"})
	case r.why == jobspec.CodeLimitTmp:
		end.Outcome = record.OutcomeKilled // reportPrivate names the place
	case r.why != "":
		end.Outcome = record.OutcomeKilled
		end.Reasons = append(end.Reasons, r.limitReason(r.why))
	case over == jobspec.CodeLimitMemory || over == jobspec.CodeLimitCPU:
		end.Outcome = record.OutcomeKilled
		end.Reasons = append(end.Reasons, r.limitReason(over))
	case over != "":
		end.Outcome = record.OutcomeFailed // whatever it says of itself
		end.Reasons = append(end.Reasons, r.limitReason(over))
	case end.Exited && end.ExitCode == 0:
		end.Outcome = record.OutcomeSucceeded
	default:
		end.Outcome = record.OutcomeFailed
	}
	r.reportPrivate(end)
	r.reportGrowth(end)
	r.reportHeard(end)
	r.reportUntold(end)
	r.connections.Into(end)
	r.reportCreated(end)
	r.reportLeft(end)
}

// exitStatus finds the payload's exit code or signal. Newer kernels (6.15) tell
// it through the pidfd; bwrap reports death by signal n as exit code 128+n,
// which a program can also choose.
func (r *run) exitStatus(end *record.End) {
	info := unix.PidfdInfo{Mask: unix.PIDFD_INFO_EXIT}
	if err := unix.IoctlPidfdInfo(r.payload, &info); err == nil && info.Mask&unix.PIDFD_INFO_EXIT != 0 {
		status := unix.WaitStatus(info.Exit_code)
		r.exact = true
		if status.Signaled() {
			end.Signal = unix.SignalName(status.Signal())
			return
		}
		end.Exited, end.ExitCode = true, status.ExitStatus()
		return
	}
	var doc struct {
		Code *int `json:"exit-code"`
	}
	if err := r.json.Decode(&doc); err != nil || doc.Code == nil {
		return // the sandbox was killed before bwrap saw an exit
	}
	end.Exited, end.ExitCode = true, *doc.Code
}
