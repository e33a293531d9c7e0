package landlock

import (
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/record"
	"github.com/sbxcron/sbxcron/runner"
	"github.com/sbxcron/sbxcron/runner/internal/ends"
)

// drainTime bounds the reading of what still lies in the pipes when the tree is
// gone.
const drainTime = 10 * time.Second

// Wait returns when the whole tree is gone and the output is drained.
func (r *run) Wait() record.End {
	<-r.ended
	<-r.execDone
	<-r.eventsDone
	r.timer.Stop()
	end := record.End{StartedAt: r.started, EndedAt: r.b.now()}
	limit := time.Now().Add(drainTime)
	for i, f := range []*os.File{r.out, r.err} {
		f.SetReadDeadline(limit) // it is a pipe that can have one
		<-r.drained[i]
		kept, err := r.captures[i].Finish()
		if err != nil {
			end.Reasons = append(end.Reasons, record.Reason{Code: jobspec.CodeSbxResource, Target: kept.Stream, Detail: err.Error()})
		}
		end.Outputs = append(end.Outputs, kept)
	}
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
	r.reportResult(end)
	r.reportEvents(end)
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
