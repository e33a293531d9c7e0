package landlock

import (
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/record"
	"github.com/sbxcron/sbxcron/runner"
	"github.com/sbxcron/sbxcron/runner/internal/ends"
	"github.com/sbxcron/sbxcron/runner/internal/hear"
)

// Wait returns when the whole tree is gone and the output is drained.
func (r *run) Wait() record.End {
	<-r.ended
	<-r.execDone
	<-r.eventsDone
	r.timer.Stop()
	end := record.End{StartedAt: r.started, EndedAt: r.b.now()}
	hear.Drain(&end, hear.Stream{From: r.out, Drained: r.drained[0], To: r.captures[0]},
		hear.Stream{From: r.err, Drained: r.drained[1], To: r.captures[1]})
	end.Resources = record.Resources{CPUMillis: r.keeper.end.CPU, MaxRSSBytes: r.keeper.end.RSS}
	r.classify(&end)
	runner.MaskEnd(r.secrets, &end)
	r.release()
	return end
}

// classify says how the run ended: what we did to it comes first, then what the
// keeper says of the payload.
func (r *run) classify(end *record.End) {
	if r.execFail != nil {
		end.Outcome = record.OutcomeRefused
		end.Reasons = append(end.Reasons, record.Reason{Code: jobspec.CodeSbxSetupFailed, Target: r.p.Exec.Path,
			Detail: fmt.Sprintf("the payload could not be executed: row %d gave %d (%v)", r.execFail.Row, r.execFail.Result, unix.Errno(-r.execFail.Result))})
		return
	}
	known := r.keeper.end.Over
	if known {
		exitStatus(end, unix.WaitStatus(r.keeper.end.Status))
	}
	switch {
	case r.why == jobspec.CodeLimitTimeout:
		end.Outcome = record.OutcomeTimedOut
		end.Reasons = append(end.Reasons, record.Reason{Code: r.why, Target: fmt.Sprintf("%d s", r.p.Limits.TimeoutSeconds)})
	case r.why == jobspec.CodeLimitOutput:
		end.Outcome = record.OutcomeKilled
		end.Reasons = append(end.Reasons, record.Reason{Code: r.why, Target: fmt.Sprintf("%d bytes", ends.FloodBytes(r.p.Limits.OutputBytes)), Detail: "a stream brought more than is ever read; only limits.output of it would have been kept"})
	case r.why != "":
		end.Outcome = record.OutcomeKilled
		end.Reasons = append(end.Reasons, record.Reason{Code: r.why})
	case !known:
		end.Outcome = record.OutcomeKilled
		end.Reasons = append(end.Reasons, record.Reason{Code: jobspec.CodeSbxProxyFailed, Target: "keeper", Detail: "the process that the run comes from ended before the run; look for what it left behind"})
	case end.Exited && end.ExitCode == 0:
		end.Outcome = record.OutcomeSucceeded
	default:
		end.Outcome = record.OutcomeFailed
	}
	r.limits(end)
	r.reportHeard(end)
	r.reportCreated(end)
	r.reportLeft(end)
}

func exitStatus(end *record.End, status unix.WaitStatus) {
	if status.Signaled() {
		end.Signal = unix.SignalName(status.Signal())
		return
	}
	end.Exited, end.ExitCode = true, status.ExitStatus()
}

// limits names a limit that the payload's own death tells of.
func (r *run) limits(end *record.End) {
	l := r.p.Limits
	switch end.Signal {
	case unix.SignalName(unix.SIGXFSZ):
		end.Reasons = append(end.Reasons, record.Reason{Code: jobspec.CodeLimitFsize, Target: fmt.Sprintf("%d bytes", l.FileSizeBytes)})
	case unix.SignalName(unix.SIGXCPU):
		end.Outcome = record.OutcomeKilled
		end.Reasons = append(end.Reasons, record.Reason{Code: jobspec.CodeLimitCPU, Target: fmt.Sprintf("%d percent", l.CPUPercent), Detail: "a process used as much processor time as the whole job may"})
	}
}
