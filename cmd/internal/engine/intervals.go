package engine

import (
	"time"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/record"
	"github.com/sbxcron/sbxcron/scheduler"
	"github.com/sbxcron/sbxcron/scheduler/calendar"
	"github.com/sbxcron/sbxcron/store"
)

// Intervals lists the stretches of time in which specs are in force on this host,
// and those that ended after the service was last started, so that no slot up to
// their end goes without a line. ops is the length of the chain.
func (e *Engine) Intervals() (all []scheduler.Entry, ops int64, err error) {
	chain, err := e.opened()
	if err != nil {
		return nil, 0, err
	}
	accepted, lastBoot, err := e.acceptances()
	if err != nil {
		return nil, 0, err
	}
	state := chain.State()
	w, now := newIntervalWalk(state.View.Named()), e.Now()
	for seq := range state.Len() {
		op, _ := state.Head(seq)
		w.take(op, accepted.believed(op, now))
	}
	out := w.all[:0]
	for n := range w.all {
		i := &w.all[n]
		if !i.Until.IsZero() && i.Until.Before(lastBoot) {
			continue
		}
		if err := fillSpec(chain, state, i); err != nil {
			return nil, 0, err
		}
		out = append(out, *i)
	}
	return out, state.Len(), nil
}

// IntervalsSince lists what the ops from that place on have changed. A chain that is
// shorter is another one.
func (e *Engine) IntervalsSince(ops int64) (c scheduler.Changes, err error) {
	chain, err := e.opened()
	if err != nil {
		return c, err
	}
	state := chain.State()
	if c.Ops = state.Len(); c.Ops < ops {
		c.All = true
		c.Entries, c.Ops, err = e.Intervals()
		return c, err
	}
	accepted, _, err := e.acceptances()
	if err != nil {
		return c, err
	}
	seen, now := map[jobspec.Name]bool{}, e.Now()
	for seq := ops; seq < c.Ops; seq++ {
		op, _ := state.Head(seq)
		if !op.Action.AboutJob() || seen[op.Job] {
			continue
		}
		seen[op.Job] = true
		j, _ := state.View.Job(op.Job)
		if j.State != jobspec.JobActive {
			c.Gone = append(c.Gone, op.Job)
			continue
		}
		force, _ := state.Head(j.ForceSeq)
		i := scheduler.Entry{Job: op.Job, Seq: j.SpecSeq, Since: accepted.believed(force, now)}
		i.Signed = signedBefore(force, i.Since) // a spec that was in force already stays where it is due; see Timetable.Confirm
		if err := fillSpec(chain, state, &i); err != nil {
			return c, err
		}
		c.Entries = append(c.Entries, i)
	}
	return c, nil
}

// intervalWalk goes over the ops. There may be a million jobs, so it keeps no more
// of each than its place among all stretches.
type intervalWalk struct {
	open []int32 // by the job's place: the newest stretch, ended or not, from 1; 0 for none
	all  []scheduler.Entry
}

func newIntervalWalk(jobs int) intervalWalk {
	return intervalWalk{open: make([]int32, jobs), all: make([]scheduler.Entry, 0, jobs)}
}

func (w *intervalWalk) take(op jobspec.OpHead, at time.Time) {
	if !op.Action.AboutJob() {
		return
	}
	spec := op.Seq // of the op that holds the spec
	if newest := w.open[op.Place]; newest > 0 {
		last := &w.all[newest-1]
		if op.Action == jobspec.Enable && last.Until.IsZero() {
			last.Signed = signedBefore(op, at)
			return // it was in force already
		}
		if last.Until.IsZero() {
			last.Until = at
		}
		if op.Action == jobspec.Enable {
			spec = last.Seq
		}
	}
	if op.Action == jobspec.Disable || op.Action == jobspec.Remove {
		return
	}
	w.all = append(w.all, scheduler.Entry{Job: op.Job, Seq: spec, Since: at, Signed: signedBefore(op, at)})
	w.open[op.Place] = int32(len(w.all))
}

// fillSpec adds what the spec says. The view holds that of each job's last spec; an
// earlier one is read from the chain. One that cannot be read has no schedule: its
// job is told of as a problem, and the others run.
func fillSpec(chain Entries, state *store.State, i *scheduler.Entry) error {
	i.Op, _ = state.Digest(i.Seq)
	if when, by, tier, ok := state.View.Spec(i.Seq); ok {
		i.Schedule, i.Anchor, i.Principal, i.Tier = when.Schedule, when.Anchor.Time(), by, tier
		return nil
	}
	entry, err := chain.Entry(i.Seq)
	if err != nil {
		return err
	}
	if op, err := jobspec.DecodeOp(entry.Op); err == nil {
		i.Schedule, i.Anchor, i.Principal, i.Tier = op.Spec.Schedule, op.Created.Time(), op.Principal, op.Tier
	}
	return nil
}

// NoteBoot records that the service starts: with which trust files, and which
// ops were accepted by a commit that ended before its line was written.
func (e *Engine) NoteBoot(pid int) error {
	accepted, _, err := e.acceptances()
	if err != nil {
		return err
	}
	leaves := append([]*record.Leaf{{Kind: record.Boot, PID: int64(pid), Zone: calendar.ZoneDataVersion()}}, e.newZoneData()...)
	if e.chainErr != nil {
		leaves = append(leaves, &record.Leaf{Kind: record.Alert, Reasons: []record.Reason{{Code: jobspec.CodeOf(e.chainErr), Detail: e.chainErr.Error()}}})
	}
	if chain, err := e.opened(); err == nil {
		if leaves, err = e.noteAccepted(chain.State(), accepted, leaves); err != nil {
			return err
		}
	}
	if err := e.note(leaves...); err != nil {
		return err
	}
	_, _ = e.trust() // keeps what is in force; a fault is told of by Problems
	return nil
}

// noteAtOnce bounds how many lines one append takes, which are all in memory and share
// one sync.
const noteAtOnce = 1 << 14

// noteAccepted adds the lines of ops that have none. It gives back those that are not
// in the ledger yet.
func (e *Engine) noteAccepted(state *store.State, accepted acceptTimes, leaves []*record.Leaf) ([]*record.Leaf, error) {
	for seq := range state.Len() {
		if _, ok := accepted.at(seq); ok {
			continue
		}
		if len(leaves) >= noteAtOnce {
			if err := e.note(leaves...); err != nil {
				return nil, err
			}
			leaves = leaves[:0]
		}
		op, _ := state.Head(seq)
		digest, _ := state.Digest(seq)
		leaves = append(leaves, &record.Leaf{Kind: record.OpAccepted, Job: op.Job, Op: digest, Seq: seq, Principal: op.Principal})
	}
	return leaves, nil
}

// OpenRuns are the starts that no end follows.
func (e *Engine) OpenRuns() ([]*record.Leaf, error) {
	rows, err := e.runs.Open()
	if err != nil {
		return nil, err
	}
	out := make([]*record.Leaf, 0, len(rows))
	for _, r := range rows {
		out = append(out, r.Start)
	}
	return out, nil
}
