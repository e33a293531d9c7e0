package bwrap

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/record"
	"github.com/sbxcron/sbxcron/runner"
	"github.com/sbxcron/sbxcron/runner/witness"
)

// witnessTime bounds how long a witness may take for what is left to read once a
// run is over. Another process of its account may have stopped it.
const witnessTime = 5 * time.Second

// reader is a running witness.
type reader struct {
	proc    *os.Process
	events  *os.File // what it tells
	control *os.File // closed to end it
}

// startWitness starts our own program once more, with the rights of the account
// and three files: control, the events that it tells, and what it reads.
func (b *Backend) startWitness(a runner.Account, mode string, input *os.File) (*reader, error) {
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		return nil, err
	}
	defer null.Close()
	control, theirControl, err := pipe("control", false)
	if err != nil {
		return nil, err
	}
	defer theirControl.Close()
	events, theirEvents, err := pipe("events", true)
	if err != nil {
		control.Close()
		return nil, err
	}
	defer theirEvents.Close()
	proc, err := b.spawn.self([]string{witness.ChildName, mode}, []*os.File{theirControl, theirEvents, null, input}, credential(a))
	if err != nil {
		closeAll(control, events)
		return nil, fmt.Errorf("start a witness: %w", err)
	}
	return &reader{proc: proc, events: events, control: control}, nil
}

// each calls take for every event until the witness ends. Its error says that
// the witness did not end by itself and well.
func (w *reader) each(take func(witness.Event)) error {
	var told error
	for told == nil {
		var e witness.Event
		if e, told = witness.Read(w.events); told == nil {
			take(e)
		}
	}
	if !errors.Is(told, io.EOF) {
		w.proc.Kill()
	}
	state, err := w.proc.Wait()
	closeAll(w.events, w.control)
	switch {
	case !errors.Is(told, io.EOF):
		return fmt.Errorf("read what the witness tells: %w", told)
	case err != nil:
		return err
	case !state.Success():
		return fmt.Errorf("the witness ended with %s", state)
	}
	return nil
}

// finish lets the witness read what is left and end, in a bounded time.
func (w *reader) finish() {
	w.control.Close()
	w.events.SetReadDeadline(time.Now().Add(witnessTime)) // it is a pipe that can have one
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
		r.channel.pipe.SetReadDeadline(time.Now()) // it is a pipe that can have one
	}()
	told := r.channel.awaitFirst()
	if !told {
		<-over
		if !r.channel.waiting() {
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
	w, err := r.b.startWitness(r.p.Account, witness.ModeEvents, r.channel.pipe)
	if err != nil {
		return err
	}
	heard, watched := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(watched)
		select {
		case <-r.ended:
			w.finish()
		case <-heard:
		}
	}()
	defer func() {
		close(heard)
		<-watched
	}()
	return w.each(func(e witness.Event) {
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
