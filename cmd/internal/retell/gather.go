package retell

import (
	"slices"
	"time"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/record"
	"github.com/sbxcron/sbxcron/signing"
	"github.com/sbxcron/sbxcron/store"
)

// Source is what a report is made of.
type Source struct {
	Ops        []store.Entry
	Lines      Lines
	Trust      []store.TrustCopy // every list of signers that was kept
	Checkpoint string            // the newest signed note
}

// gathering is a report while the lines are read.
type gathering struct {
	*Report
	f       Filter
	tallies map[tallyKey]*Tally
	trust   trustPair
	policy  jobspec.Digest
}

type tallyKey struct {
	job jobspec.Name
	op  jobspec.Digest
}

// trustPair is the trust files that were loaded last.
type trustPair struct{ trust, revoked jobspec.Digest }

// Make makes the report of a span. What cannot be read is named in it: it never
// fails for damage, and never hides it.
func Make(src Source, f Filter) *Report {
	g := &gathering{Report: &Report{Until: f.Until, Checkpoint: src.Checkpoint}, f: f, tallies: map[tallyKey]*Tally{}}
	if !f.Since.IsZero() {
		g.Since = &f.Since
	}
	for _, e := range src.Ops {
		g.op(e)
	}
	if err := src.Lines.Scan(0, g.line); err != nil {
		g.Unread = append(g.Unread, err.Error())
	}
	g.keys(src.Trust)
	for _, t := range g.tallies {
		g.Ran = append(g.Ran, *t)
	}
	slices.SortFunc(g.Ran, func(a, b Tally) int {
		if a.Job != b.Job {
			return compare(a.Job, b.Job)
		}
		return int(a.Seq - b.Seq)
	})
	return g.Report
}

func compare(a, b jobspec.Name) int {
	if a < b {
		return -1
	}
	return 1
}

// op takes an op that was signed in the span. Who signed is said by the key of the
// signature; whether it was good, audit verify says.
func (g *gathering) op(e store.Entry) {
	op, err := jobspec.DecodeOp(e.Op)
	if err != nil {
		g.Unread = append(g.Unread, err.Error())
		return
	}
	d := jobspec.DigestOf(e.Op)
	if op.Action == jobspec.Genesis {
		g.Host, g.Genesis = op.Host, d
	}
	at := op.Created.Time()
	if at.Before(g.f.Since) || !g.f.Until.IsZero() && !at.Before(g.f.Until) || g.f.Job != "" && op.Job != g.f.Job {
		return
	}
	a := Approval{Seq: op.Seq, Op: d, Created: at, Action: string(op.Action), Job: op.Job, Revision: op.Revision, Principal: op.Principal,
		Sigs: len(e.Sigs), Tier: wordOf(op.Tier), Net: wordOf(op.Net)}
	if len(e.Sigs) > 0 {
		if sig, err := signing.ParseSignature(e.Sigs[0]); err == nil {
			a.KeyID = sig.KeyID()
		}
	}
	if s := op.Spec; s != nil {
		a.Command, a.Schedule, a.Expires = s.Argv, s.Schedule.Words, s.ExpiresAt.String()
	}
	g.Approved = append(g.Approved, a)
}

// line takes one line. What was in force when the span began is told by lines before it.
func (g *gathering) line(l store.Leaf) error {
	g.Ledger++
	at := record.ParseStamp(l.Time)
	if !g.f.Until.IsZero() && !at.Before(g.f.Until) {
		return nil
	}
	g.inForce(l, at)
	if !g.f.Takes(l.Leaf) {
		return nil
	}
	g.Report.Lines++
	g.tally(l)
	g.event(l)
	return nil
}

// inForce keeps each change of trust files and policy in the span, and the last one
// before it.
func (g *gathering) inForce(l store.Leaf, at time.Time) {
	if l.Kind == record.TrustLoaded && (g.trust != trustPair{l.Trust, l.Revoked}) {
		g.trust = trustPair{l.Trust, l.Revoked}
		g.InForce = g.push(g.InForce, at, InForce{Leaf: l.Index, Time: l.Time, Trust: &l.Trust, Revoked: &l.Revoked})
	}
	if !l.Policy.IsZero() && l.Policy != g.policy {
		g.policy = l.Policy
		g.Policies = g.push(g.Policies, at, InForce{Leaf: l.Index, Time: l.Time, Policy: &l.Policy})
	}
}

func (g *gathering) push(all []InForce, at time.Time, next InForce) []InForce {
	if at.Before(g.f.Since) {
		all = all[:0]
	}
	return append(all, next)
}

func (g *gathering) tally(l store.Leaf) {
	opens := l.Kind == record.Started || l.Kind == record.Claimed
	if l.Job == "" || !opens && !l.Final() {
		return
	}
	key := tallyKey{l.Job, l.Op}
	t := g.tallies[key]
	if t == nil {
		t = &Tally{Job: l.Job, Op: l.Op, Seq: l.Seq, First: l.Time, Outcomes: map[string]int64{}}
		g.tallies[key] = t
	}
	t.Last, t.LastLeaf = l.Time, l.Index
	if opens {
		t.Started++
		return
	}
	t.Outcomes[outcomeOf(l.Leaf)] += max(1, l.SlotCount)
}

// outcomeOf is how a slot ended; kinds that are an outcome may leave the word out.
func outcomeOf(l *record.Leaf) string {
	if l.Outcome != "" {
		return string(l.Outcome)
	}
	return string(l.Kind)
}

// event sorts a line into the lists that it belongs to.
func (g *gathering) event(l store.Leaf) {
	switch {
	case l.Kind == record.Refused || l.Kind == record.OpRefused:
		g.Stopped = append(g.Stopped, event(l, reasons(l.Reasons)))
	case l.Kind == record.Skipped, l.Kind == record.Missed, l.Kind == record.Lost, l.Kind == record.Held && l.Slot != nil:
		g.NotRun = append(g.NotRun, event(l, reasons(l.Reasons)))
	case l.Kind == record.Pruned:
		g.Retention = append(g.Retention, Retention{Leaf: l.Index, Time: l.Time, Run: l.Run, Files: l.Count, Bytes: l.Bytes})
	case l.Kind == record.Boot || l.Kind == record.Alert:
		g.Services = append(g.Services, event(l, joined(l.Version, reasons(l.Reasons))))
	}
	if len(l.Denials) > 0 {
		g.Denied = append(g.Denied, event(l, denials(l.Denials)))
	}
	if l.RequestedBy != nil && l.Kind != record.Finished { // which repeats who asked for the start
		g.ByHand = append(g.ByHand, event(l, reasons(l.Reasons)))
	}
}

func event(l store.Leaf, why string) Event {
	e := Event{Leaf: l.Index, Time: l.Time, Kind: string(l.Kind), Job: l.Job, Run: l.Run, Slot: l.Scheduled, Many: l.SlotCount, Why: why}
	if l.RequestedBy != nil {
		e.UID = &l.RequestedBy.UID
	}
	return e
}

// keys lists the signers of the trust files that were in force.
func (g *gathering) keys(copies []store.TrustCopy) {
	for _, f := range g.InForce {
		i := slices.IndexFunc(copies, func(c store.TrustCopy) bool { return c.Kind == store.AllowedSigners && c.Digest == *f.Trust })
		if i < 0 {
			g.Unread = append(g.Unread, "allowed_signers "+f.Trust.String()+" is not kept")
			continue
		}
		if slices.ContainsFunc(g.Keys, func(k Key) bool { return k.Trust == *f.Trust }) {
			continue
		}
		t, err := signing.ParseTrust(copies[i].Bytes, []byte{}, signing.Algorithms{ECDSAP256: true, RSA: true})
		if err != nil {
			g.Unread = append(g.Unread, "allowed_signers "+f.Trust.String()+": "+err.Error())
			continue
		}
		for _, s := range t.Signers() {
			g.Keys = append(g.Keys, Key{Trust: *f.Trust, Principal: s.Principal, KeyID: s.KeyID, Namespaces: s.Namespaces, From: stamp(s.ValidAfter), Until: stamp(s.ValidBefore)})
		}
	}
}

func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return record.Stamp(t)
}
