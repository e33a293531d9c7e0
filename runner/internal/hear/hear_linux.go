package hear

import (
	"fmt"
	"os"
	"time"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/record"
	"github.com/sbxcron/sbxcron/runner"
	"github.com/sbxcron/sbxcron/runner/internal/channel"
	"github.com/sbxcron/sbxcron/runner/witness"
)

// Ear is what hears one run.
type Ear struct {
	Spawn   witness.Spawn // starts our own program with the rights of the job's account
	Denials *runner.Denials
	Kill    func(jobspec.Code)
}

// Events notes what shims tell until ended is closed and the pipe is empty, and
// ends the run where the rules say so. A run whose attempts cannot be noted any
// more is ended too: its shims would wait for a reader. The error says why they
// could not be.
func (e Ear) Events(c *channel.Channel, ended <-chan struct{}) error {
	over := make(chan struct{})
	go func() {
		defer close(over)
		<-ended
		c.Pipe().SetReadDeadline(time.Now()) // it is a pipe that can have one
	}()
	if !c.AwaitFirst() {
		<-over
		if !c.Waiting() {
			return nil
		}
	}
	err := e.witnessed(c.Pipe(), ended)
	if err != nil {
		e.Kill(jobspec.CodeSbxWitnessFailed)
	}
	<-over
	return err
}

// witnessed is the life of the witness of a run.
func (e Ear) witnessed(pipe *os.File, ended <-chan struct{}) error {
	w, err := witness.Start(e.Spawn, witness.ModeEvents, pipe)
	if err != nil {
		return err
	}
	heard, watched := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(watched)
		select {
		case <-ended:
			w.Finish()
		case <-heard:
		}
	}()
	defer func() {
		close(heard)
		<-watched
	}()
	return w.Each(func(x witness.Event) {
		if why := e.Denials.Observed(runner.Attempt{Code: x.Code, Target: x.Target, Count: x.Count}); why != "" {
			e.Kill(why)
		}
	})
}

// Result has an agent's own result, of the kind that the word names, read for what
// was denied to it. One that cannot be understood is a failure: it may hide a no. A
// run that was ended from outside left no result to be judged; kept is nil where
// none was asked for.
func (e Ear) Result(word string, kept *os.File, end *record.End) {
	if kept == nil || !end.Exited || end.Outcome != record.OutcomeSucceeded && end.Outcome != record.OutcomeFailed {
		return
	}
	if why := e.read(word, kept, end); why != "" {
		end.Outcome = record.OutcomeFailed
		end.Reasons = append(end.Reasons, record.Reason{Code: jobspec.CodeResultUnreadable, Target: word, Detail: why})
	}
}

// read returns why the result is not understood, "" when it is.
func (e Ear) read(word string, kept *os.File, end *record.End) string {
	for _, o := range end.Outputs {
		if o.Stream == "out" && o.Truncated {
			return fmt.Sprintf("only %d of its %d bytes were kept", o.Kept, o.Bytes)
		}
	}
	w, err := witness.Start(e.Spawn, word, kept)
	if err != nil {
		return err.Error()
	}
	w.Hurry()
	why := ""
	err = w.Each(func(x witness.Event) {
		if x.Code == jobspec.CodeResultUnreadable {
			why = x.Target
			return
		}
		e.Denials.Observed(runner.Attempt{Code: x.Code, Target: x.Target, Count: x.Count})
	})
	if err != nil {
		return err.Error()
	}
	return why
}

// Report puts what was denied into the end of the run. Lost is the error of Events.
func (e Ear) Report(lost error, end *record.End) {
	if lost != nil {
		end.Outcome = record.OutcomeKilled
		end.Reasons = []record.Reason{{Code: jobspec.CodeSbxWitnessFailed, Detail: lost.Error()}}
	}
	e.Denials.Into(end)
}
