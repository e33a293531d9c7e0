package bwrap

import (
	"os"
	"time"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/record"
	"github.com/sbxcron/sbxcron/runner"
	"github.com/sbxcron/sbxcron/runner/witness"
)

// startWitness starts our own program once more, with the rights of the account.
func (b *Backend) startWitness(a runner.Account, mode string, input *os.File) (*witness.Reader, error) {
	return witness.Start(func(argv []string, files []*os.File) (*os.Process, error) {
		return b.spawn.self(argv, files, credential(a))
	}, mode, input)
}

// watchEvents notes what shims tell while the run goes on, and ends the run where
// the rules say so. A run whose attempts cannot be noted any more is ended too:
// its shims would wait for a reader.
func (r *run) watchEvents() {
	defer close(r.eventsDone)
	over := make(chan struct{})
	go func() {
		defer close(over)
		<-r.ended
		r.channel.Pipe().SetReadDeadline(time.Now()) // it is a pipe that can have one
	}()
	told := r.channel.AwaitFirst()
	if !told {
		<-over
		if !r.channel.Waiting() {
			return
		}
	}
	r.lostEvents = r.hearEvents()
	if r.lostEvents != nil {
		r.Kill(jobspec.CodeSbxWitnessFailed)
	}
	<-over
}

// hearEvents is the life of the witness of a run.
func (r *run) hearEvents() error {
	w, err := r.b.startWitness(r.p.Account, witness.ModeEvents, r.channel.Pipe())
	if err != nil {
		return err
	}
	heard, watched := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(watched)
		select {
		case <-r.ended:
			w.Finish()
		case <-heard:
		}
	}()
	defer func() {
		close(heard)
		<-watched
	}()
	return w.Each(func(e witness.Event) {
		if why := r.denials.Observed(runner.Attempt{Code: e.Code, Target: e.Target, Count: e.Count}); why != "" {
			r.Kill(why)
		}
	})
}

// reportEvents puts what was denied into the end of the run.
func (r *run) reportEvents(end *record.End) {
	if r.lostEvents != nil {
		end.Outcome = record.OutcomeKilled
		end.Reasons = []record.Reason{{Code: jobspec.CodeSbxWitnessFailed, Detail: r.lostEvents.Error()}}
	}
	r.denials.Into(end)
}
