package scheduler

import (
	"time"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/record"
	"github.com/sbxcron/sbxcron/scheduler/calendar"
)

// Origin is what stands in every row: where it was made.
type Origin struct {
	Host    jobspec.HostID
	Boot    string // kernel boot id
	Version string // of sbxcron
	PID     int64
	Self    record.Requester // the service, where it holds a job by itself
}

// rows makes leaves.
type rows struct {
	origin Origin
	now    func() time.Time
}

func (w rows) base(kind record.Kind, key Key) *record.Leaf {
	return &record.Leaf{
		Host: w.origin.Host, Boot: w.origin.Boot, Version: w.origin.Version, PID: w.origin.PID, Zone: calendar.ZoneDataVersion(),
		Kind: kind, Time: record.Stamp(w.now()), Job: key.Job, Op: key.Op, Seq: key.Seq,
	}
}

// about is base for a row that covers slots up to an instant. It is stated no
// earlier than a slot can be claimed, also where the clock was set back just now:
// what covers a slot that is yet to come was not written here.
func (w rows) about(kind record.Kind, key Key, until time.Time) *record.Leaf {
	l := w.base(kind, key)
	if at := until.Add(-ClaimAhead); record.ParseStamp(l.Time).Before(at) {
		l.Time = record.Stamp(at)
	}
	return l
}

// slots is a final row without a run, for one or more neighbouring slots.
func (w rows) slots(kind record.Kind, outcome record.Outcome, key Key, slots []jobspec.Slot, at time.Time, why record.Reason) *record.Leaf {
	l := w.about(kind, key, at)
	l.Outcome, l.Trigger, l.Reasons = outcome, record.BySchedule, []record.Reason{why}
	l.Slot, l.Scheduled = &slots[0], record.Stamp(at)
	if n := len(slots); n > 1 {
		l.SlotLast, l.SlotCount = &slots[n-1], int64(n)
	}
	return bounded(l)
}

func (w rows) missed(key Key, span calendar.Span) *record.Leaf {
	l := w.slots(record.Missed, record.OutcomeMissed, key, []jobspec.Slot{span.First}, span.FirstAt, record.Reason{Code: jobspec.CodeMissedSkipped})
	if span.Count > 1 {
		l.SlotLast, l.SlotCount, l.Until = &span.Last, span.Count, record.Stamp(span.LastAt)
	}
	return l
}

func (w rows) held(key Key, due calendar.Due, h Hold) *record.Leaf {
	l := w.slots(record.Held, record.OutcomeHeld, key, due.Slots, due.At, record.Reason{Code: h.CauseCode()})
	l.RequestedBy = &h.By
	return l
}

func (w rows) overlap(key Key, due calendar.Due, other string) *record.Leaf {
	return w.slots(record.Skipped, record.OutcomeSkipped, key, due.Slots, due.At, record.Reason{Code: jobspec.CodeOverlapSkipped, Target: other})
}

func (w rows) coalesced(key Key, slots []jobspec.Slot, at time.Time) *record.Leaf {
	return w.slots(record.Skipped, record.OutcomeSkipped, key, slots, at, record.Reason{Code: jobspec.CodeCoalesced})
}

// manual is an operator's act.
func (w rows) manual(kind record.Kind, key Key, by record.Requester) *record.Leaf {
	l := w.base(kind, key)
	l.RequestedBy = &by
	return l
}

// ofRun is a row about a run and its first slot; the others have rows of their own.
func (w rows) ofRun(kind record.Kind, outcome record.Outcome, r *run) *record.Leaf {
	l := w.about(kind, r.key, r.due.At)
	l.Run, l.Trigger, l.RequestedBy, l.Outcome = r.id, r.trigger, r.by, outcome
	if len(r.due.Slots) > 0 {
		l.Slot, l.Scheduled = &r.due.Slots[0], record.Stamp(r.due.At)
	}
	return l
}

func (w rows) heldRun(r *run, h Hold) *record.Leaf {
	l := w.ofRun(record.Held, record.OutcomeHeld, r)
	l.RequestedBy, l.Reasons = &h.By, []record.Reason{{Code: h.CauseCode()}}
	return l
}

func (w rows) skipped(r *run, why record.Reason, by *record.Requester) *record.Leaf {
	l := w.ofRun(record.Skipped, record.OutcomeSkipped, r)
	l.Reasons = []record.Reason{why}
	if by != nil {
		l.RequestedBy = by
	}
	return l
}

func (w rows) lost(r *run, why record.Reason) *record.Leaf {
	l := w.ofRun(record.Lost, record.OutcomeLost, r)
	l.Reasons = []record.Reason{why}
	return l
}

// lostAtStart answers a started row that an earlier service left open.
func (w rows) lostAtStart(started *record.Leaf) *record.Leaf {
	l := w.base(record.Lost, Key{started.Job, started.Op, started.Seq})
	l.Run, l.Trigger, l.RequestedBy = started.Run, started.Trigger, started.RequestedBy
	l.Slot, l.SlotLast, l.SlotCount, l.Scheduled = started.Slot, started.SlotLast, started.SlotCount, started.Scheduled
	l.Outcome, l.Reasons = record.OutcomeLost, []record.Reason{{Code: jobspec.CodeLostRun}}
	return l
}

func (w rows) refused(r *run, v Verified, b Basis, why ...record.Reason) *record.Leaf {
	l := w.ofRun(record.Refused, record.OutcomeRefused, r)
	judged(l, v, b)
	l.Reasons = why
	return bounded(l)
}

// claimed is the claim of a slot that has not come yet, by a run whose sandbox
// stands. It says nothing of a start.
func (w rows) claimed(r *run, v Verified, b Basis, f record.Facts) *record.Leaf {
	l := w.started(r, v, b, f)
	l.Kind = record.Claimed
	return l
}

func (w rows) started(r *run, v Verified, b Basis, f record.Facts) *record.Leaf {
	l := w.ofRun(record.Started, "", r)
	judged(l, v, b)
	l.Backend, l.BackendFile, l.Plan, l.Stub = f.Backend, f.BackendFile, f.Plan, f.Stub
	l.Layers, l.Probe, l.UID, l.Soft, l.Credentials = f.Layers, f.Probe, int64(f.UID), f.Soft, f.Credentials
	return bounded(l)
}

// judged fills in who signed and what was decided.
func judged(l *record.Leaf, v Verified, b Basis) {
	l.Policy, l.SameUID, l.Weaker, l.Notes = b.Policy, b.SameUID, b.Weaker, b.Notes
	if b.Verdicts != (jobspec.Verdicts{}) {
		l.Verdicts = &b.Verdicts
	}
	if v.Signed.Valid() {
		op, st := v.Signed.Op(), v.Signed.Statement()
		l.Trust, l.Revoked = st.Trust(), st.Revoked()
		l.Principal, l.KeyID, l.Tier, l.Net = op.Principal, st.KeyID(), op.Tier, op.Net
	}
}

func (w rows) finished(r *run, h *halt, end record.End, sealed Sealed) *record.Leaf {
	l := w.ofRun(record.Finished, end.Outcome, r)
	if h != nil && h.by != nil {
		l.RequestedBy = h.by
	}
	l.Reasons, l.Denials, l.Outputs, l.Text = end.Reasons, end.Denials, sealed.Outputs, sealed.Text
	l.Connections = end.Connections
	l.StartedAt, l.EndedAt = stamp(end.StartedAt), stamp(end.EndedAt)
	l.ExitCode, l.Exited, l.Signal = int64(end.ExitCode), end.Exited, end.Signal
	if end.Resources != (record.Resources{}) {
		l.Resources = &end.Resources
	}
	return bounded(l)
}

// neverRan is the final row of a claimed run whose payload was not let go.
func (w rows) neverRan(r *run, why record.Reason) *record.Leaf {
	l := w.ofRun(record.Finished, record.OutcomeRefused, r)
	l.Reasons = []record.Reason{why}
	return bounded(l)
}

func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return record.Stamp(t)
}
