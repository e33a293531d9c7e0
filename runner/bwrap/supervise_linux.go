package bwrap

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/runner"
	"github.com/sbxcron/sbxcron/runner/supervise"
)

// supervisor is the target in records of what happens to the process that
// answers opens.
const supervisor = "supervisor"

// startSupervisor starts the supervisor of a plan, if it has one, from the spawn
// thread, so that it dies with the service like everything else.
func (b *Backend) startSupervisor(p *runner.Blueprint) (*supervise.Helper, error) {
	if len(p.Names) == 0 {
		return nil, nil
	}
	h, err := supervise.Start(func(argv []string, files []*os.File) (*os.Process, error) {
		return b.spawn.self(argv, files, credential(p.Account))
	})
	if err != nil {
		return nil, refusal(jobspec.CodeSbxProxyFailed, supervisor, "%v", err)
	}
	return h, nil
}

const listenerRemedy = "put the script where only root can write, or embed it as [script]"

// handOver has the supervisor take the stub's listener and lets the stub go on.
func (r *run) handOver(initPID int, until time.Time) error {
	if r.helper == nil {
		return refusal(jobspec.CodeInternal, supervisor, "the stub has a listener and the run no supervisor")
	}
	pid, payload, err := onlyChild(initPID)
	if err != nil {
		return err
	}
	r.payload = payload // before anybody can want to kill it
	err = r.helper.Take(pid, payload, supervise.Config{Names: r.p.Names}, until, r.note)
	var no *supervise.Error
	switch {
	case errors.As(err, &no) && no.Moved:
		return refusal(jobspec.CodeDriftExecPath, no.Target, "%s; the name was moved while the sandbox was built, and nothing was started", no.Detail)
	case errors.As(err, &no) && no.Listener:
		return refusal(jobspec.CodeSbxFeatureMissing, runner.LayerListener, "%s; %s", no.Detail, listenerRemedy)
	case err != nil:
		return refusal(jobspec.CodeSbxProxyFailed, supervisor, "%v", err)
	}
	r.watchDone = make(chan struct{})
	go r.watchSupervisor(r.helper.Gone())
	if _, err := r.pipes.barrier.Write([]byte{runner.TakenByte}); err != nil {
		return fmt.Errorf("go on after the listener was taken: %w", err)
	}
	return nil
}

// note notes what the supervisor refused, and ends the run where the rules say so.
func (r *run) note(e supervise.Event) {
	if why := r.denials.Observed(e); why != "" {
		r.Kill(why)
	}
}

// watchSupervisor kills the run when nobody answers its opens any more. The
// kernel refuses them from then on; see package supervise.
func (r *run) watchSupervisor(gone <-chan struct{}) {
	defer close(r.watchDone)
	<-gone
	r.Kill(jobspec.CodeSbxProxyFailed)
}

// endSupervisor ends it when the tree is gone.
func (r *run) endSupervisor() {
	if r.helper == nil {
		return
	}
	r.helper.End()
	if r.watchDone != nil {
		<-r.watchDone
	}
	r.helper = nil
}
