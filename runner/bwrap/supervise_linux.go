package bwrap

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/record"
	"github.com/sbxcron/sbxcron/runner"
	"github.com/sbxcron/sbxcron/runner/internal/ready"
	"github.com/sbxcron/sbxcron/runner/supervise"
)

// supervisor is the target in records of what happens to the process that
// answers opens.
const supervisor = "supervisor"

// newSupervisors makes the pool that supervisors are taken from. They are started
// from the spawn thread, so that they die with the service like everything else.
func (b *Backend) newSupervisors() *supervise.Pool {
	return supervise.NewPool(mostIdle(), func(a runner.Account, argv []string, files []*os.File) (*os.Process, error) {
		return b.spawn.self(argv, files, credential(a))
	})
}

// mostIdle is how many supervisors wait for a run at most: as many runs go on at
// the same time by default.
func mostIdle() int { return 2 * runtime.NumCPU() }

// startSupervisor takes a supervisor for a plan, or starts one.
func (b *Backend) startSupervisor(p *runner.Blueprint) (*supervise.Lent, error) {
	h, err := b.helpers.Get(p.Account)
	if err != nil {
		return nil, refusal(jobspec.CodeSbxProxyFailed, supervisor, "%v", err)
	}
	return h, nil
}

const listenerRemedy = "use a kernel that lets a process have a listener of its own (5.19 or newer), outside of a container that has one"

// handOver waits until the supervisor has taken the stub's listener.
func (r *run) handOver(initPID int, until time.Time) error {
	taken, err := r.helper.Take(until)
	if err == nil {
		err = r.holdPayload(initPID, taken)
	}
	var no *supervise.Error
	switch {
	case err != nil && r.initIsGone():
		return fmt.Errorf("the sandbox ended while its listener was taken: %w", err)
	case errors.As(err, &no) && no.Moved:
		return refusal(jobspec.CodeDriftExecPath, no.Target, "%s; the name was moved while the sandbox was built, and nothing was started", no.Detail)
	case errors.As(err, &no) && no.Listener:
		return refusal(jobspec.CodeSbxFeatureMissing, runner.LayerListener, "%s; %s", no.Detail, listenerRemedy)
	case err != nil:
		return refusal(jobspec.CodeSbxProxyFailed, supervisor, "%v", err)
	}
	r.helper.Listen(r.note, r.connections.Add)
	r.watchDone = make(chan struct{})
	go r.watchSupervisor(r.helper.Gone(), r.helper.Over())
	return nil
}

// holdPayload takes hold of the process that the listener was taken from, before
// anybody can want to kill it.
func (r *run) holdPayload(initPID, taken int) error {
	pid, payload, err := onlyChild(initPID)
	if err != nil {
		return err
	}
	r.payload = payload
	if pid != taken {
		return fmt.Errorf("the supervisor took the listener of process %d, the stub is process %d", taken, pid)
	}
	return nil
}

// expect tells the supervisor of the sandbox that bwrap builds.
func (r *run) expect(initPID int) error {
	if err := r.helper.Expect(initPID, r.init, r.pipes.status, superviseConfig(r.p)); err != nil {
		return refusal(jobspec.CodeSbxProxyFailed, supervisor, "%v", err)
	}
	return nil
}

// superviseConfig is what the supervisor needs to know of a run.
func superviseConfig(p *runner.Blueprint) supervise.Config {
	return supervise.Config{Names: p.Names, Opens: p.Opens(), Net: p.Egress, Ports: p.Ports(), Sockets: p.Sockets}
}

// initIsGone reports whether the sandbox was ended, by the service for one.
func (r *run) initIsGone() bool {
	said, err := ready.Now(r.init, unix.POLLIN)
	return err == nil && said != 0
}

// note notes what the supervisor refused, and ends the run where the rules say so.
func (r *run) note(e supervise.Event) {
	if why := r.denials.Observed(e); why != "" {
		r.Kill(why)
	}
}

// watchSupervisor kills the run when nobody answers its opens any more. The
// kernel refuses them from then on; see package supervise.
func (r *run) watchSupervisor(gone, over <-chan struct{}) {
	defer close(r.watchDone)
	<-over
	select {
	case <-gone:
		r.Kill(jobspec.CodeSbxProxyFailed)
	default:
	}
}

// endSupervisor gives it back when the tree is gone, and has heard everything then,
// or knows that it has not.
func (r *run) endSupervisor() {
	if r.helper == nil {
		return
	}
	r.untold = !r.helper.Return()
	if r.watchDone != nil {
		<-r.watchDone
	}
	r.helper = nil
}

// reportUntold is for a run whose last attempts nobody may have heard of: the
// process that tells them ended, or was killed, before it had. It is no success.
func (r *run) reportUntold(end *record.End) {
	byItself := end.Outcome == record.OutcomeSucceeded || end.Outcome == record.OutcomeFailed
	if !r.untold || !byItself {
		return
	}
	end.Outcome = record.OutcomeKilled
	end.Reasons = append(end.Reasons, record.Reason{Code: jobspec.CodeSbxProxyFailed, Target: supervisor,
		Detail: "the process that tells what the job asked the kernel ended before it had told everything"})
}
