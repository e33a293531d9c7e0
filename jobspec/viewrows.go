package jobspec

import (
	"iter"
	"slices"
)

// opRow is what a view keeps of an op.
type opRow struct {
	digest  Digest
	created Instant
	job     uint32
	deed    uint32 // who, and in the lowest bits what
}

// actionBits is how many bits of a deed say which action it was.
const actionBits = 4

var _ [1<<actionBits - len(actionWords)]struct{} // they fit

func deed(by, action uint32) uint32 { return by<<actionBits | action }

func (r *opRow) by() uint32     { return r.deed >> actionBits }
func (r *opRow) action() Action { return actionWords[r.deed&(1<<actionBits-1)] }

// jobRow is what a view keeps of a job. Its digests are those of the ops it names.
type jobRow struct {
	expires  Instant
	revision uint32 // 0: there is no such job
	spec     uint32 // seqs, as in Job; a chain that could be stored has far fewer ops
	force    uint32
	last     uint32
	added    uint32
	by       uint32
	schedule uint32
	state    uint8
	tier     Tier
	net      Net
}

// viewWords are what many rows share.
type viewWords struct {
	names      interned[Name]
	principals interned[Principal]
	schedules  interned[Schedule]
}

var (
	actionWords = [...]Action{Genesis, Add, Replace, Disable, Enable, Remove, Attest}
	stateWords  = [...]JobState{"", JobActive, JobDisabled, JobRemoved}
)

const (
	rowActive = iota + 1
	rowDisabled
	rowRemoved
)

// OpHead is what a view knows of an op.
type OpHead struct {
	Seq       int64
	Digest    Digest
	Action    Action
	Job       Name // "" where it is about none
	Place     int  // of that job among all that were ever named, from 0
	Principal Principal
	Created   Instant
}

// Op returns what is known of the op at a position; false where there is none yet.
func (v *View) Op(seq int64) (OpHead, bool) {
	if seq < 0 || seq >= int64(v.ops.n) {
		return OpHead{}, false
	}
	r := v.ops.at(int(seq))
	h := OpHead{Seq: seq, Digest: r.digest, Action: r.action(), Principal: v.words.principals.value(r.by()), Created: r.created}
	if h.Action.AboutJob() {
		h.Job, h.Place = v.words.names.value(r.job), int(r.job)
	}
	return h, true
}

// row returns the row of a job and its number.
func (v *View) row(n Name) (*jobRow, uint32) {
	if v.words == nil {
		return nil, 0
	}
	id, ok := v.words.names.find(n)
	if !ok || int(id) >= v.jobs.n {
		return nil, id
	}
	if r := v.jobs.at(int(id)); r.revision != 0 {
		return r, id
	}
	return nil, id
}

// Job returns the view of one job, removed ones included.
func (v *View) Job(n Name) (Job, bool) {
	r, id := v.row(n)
	if r == nil {
		return Job{}, false
	}
	return v.job(r, id), true
}

func (v *View) job(r *jobRow, id uint32) Job {
	digest := func(seq uint32) Digest { return v.ops.at(int(seq)).digest }
	return Job{
		Name: v.words.names.value(id), Principal: v.words.principals.value(r.by), State: stateWords[r.state], Revision: int64(r.revision),
		SpecSeq: int64(r.spec), SpecOp: digest(r.spec), ForceSeq: int64(r.force), ForceOp: digest(r.force),
		LastSeq: int64(r.last), Added: digest(r.added), Tier: r.tier, Net: r.net,
	}
}

// Timing is what a job's spec says of time.
type Timing struct {
	Schedule  Schedule
	Anchor    Instant // created of the op that holds the spec
	ExpiresAt Instant
}

// Timing returns when a job is due and until when. It is read from the op without
// judging the rest of the spec, which is done at each trigger; a spec that could not
// be read so far has no schedule. It is false for a job that never was.
func (v *View) Timing(n Name) (Timing, bool) {
	r, _ := v.row(n)
	if r == nil {
		return Timing{}, false
	}
	return Timing{v.words.schedules.value(r.schedule), v.ops.at(int(r.spec)).created, r.expires}, true
}

// Spec returns what the spec in the op at a position says of time, and who signed it for
// which tier. It is false where that op holds no spec, or a later one has taken its place.
func (v *View) Spec(seq int64) (when Timing, by Principal, tier Tier, ok bool) {
	if seq < 0 || seq >= int64(v.ops.n) {
		return Timing{}, "", NoTier, false
	}
	op := v.ops.at(int(seq))
	if !op.action().AboutJob() {
		return Timing{}, "", NoTier, false
	}
	r := v.jobs.at(int(op.job))
	if r.revision == 0 || int64(r.spec) != seq {
		return Timing{}, "", NoTier, false
	}
	return Timing{v.words.schedules.value(r.schedule), op.created, r.expires}, v.words.principals.value(r.by), r.tier, true
}

// Trim gives back the room that the view has for more, after a long chain was read.
func (v *View) Trim() {
	if v.words != nil {
		v.words.names.trim()
		v.words.schedules.trim()
	}
}

// All gives every job that was ever added, in the order in which they were first
// named.
func (v *View) All() iter.Seq[Job] {
	return func(yield func(Job) bool) {
		for id := range v.jobs.n {
			if r := v.jobs.at(id); r.revision != 0 && !yield(v.job(r, uint32(id))) {
				return
			}
		}
	}
}

// Named is how many jobs were ever named.
func (v *View) Named() int { return v.jobs.n }

// Jobs returns every job that was ever added, in no order.
func (v *View) Jobs() []Job {
	all := make([]Job, 0, v.jobs.n)
	for j := range v.All() {
		all = append(all, j)
	}
	return all
}

// Extend adds an op that Check accepted. The digest is of the op's bytes.
func (v *View) Extend(op *Op, digest Digest) {
	var t Timing
	if op.Spec != nil {
		t = Timing{Schedule: op.Spec.Schedule, ExpiresAt: op.Spec.ExpiresAt}
	}
	v.extend(op, digest, t, nil)
}

// Follow adds an op of which only the outline was read, where Check would accept it.
// The error is Check's.
func (v *View) Follow(o *Outline, digest Digest) error {
	if _, err := v.check(&o.Op, o.HasSpec); err != nil {
		return err
	}
	v.extend(&o.Op, digest, Timing{Schedule: o.Schedule, ExpiresAt: o.ExpiresAt}, o.known)
	return nil
}

func (v *View) extend(op *Op, digest Digest, t Timing, known *knownSchedule) {
	seq := uint32(op.Seq)
	v.Next, v.Head, v.HeadCreated = op.Seq+1, digest, op.Created
	if op.Action == Genesis {
		v.Host, v.words, v.jobs, v.ops = op.Host, &viewWords{}, rows[jobRow]{}, rows[opRow]{}
		v.present = nil
	}
	row := v.ops.mine(int(seq))
	by := v.words.principals.id(op.Principal)
	*row = opRow{digest: digest, created: op.Created, deed: deed(by, uint32(max(0, slices.Index(actionWords[:], op.Action))))}
	if op.Checkpoint != "" {
		v.Checkpoint = op.Checkpoint
	}
	if !op.Action.AboutJob() {
		return
	}
	row.job = v.words.names.id(op.Job)
	j := v.jobs.mine(int(row.job))
	v.count(j, -1)
	v.extendJob(j, op, by, t, known)
	v.count(j, 1)
}

// count adds a job that is not removed to those of its principal.
func (v *View) count(j *jobRow, n int) {
	if j.revision == 0 || j.state == rowRemoved {
		return
	}
	for int(j.by) >= len(v.present) {
		v.present = append(v.present, 0)
	}
	v.present[j.by] = uint32(int(v.present[j.by]) + n)
}

// JobsOf is how many jobs of a principal there are that were not removed.
func (v *View) JobsOf(who Principal) int64 {
	if v.words == nil {
		return 0
	}
	if id, ok := v.words.principals.find(who); ok && int(id) < len(v.present) {
		return int64(v.present[id])
	}
	return 0
}

// JobsByPrincipal is JobsOf of everybody who has some.
func (v *View) JobsByPrincipal() map[Principal]int64 {
	all := map[Principal]int64{}
	for id, n := range v.present {
		if n > 0 {
			all[v.words.principals.value(uint32(id))] = int64(n)
		}
	}
	return all
}

// Present is how many jobs there are that were not removed.
func (v *View) Present() (n int64) {
	for _, of := range v.present {
		n += int64(of)
	}
	return n
}

func (v *View) extendJob(j *jobRow, op *Op, by uint32, t Timing, known *knownSchedule) {
	seq := uint32(op.Seq)
	j.revision, j.last = uint32(op.Revision), seq
	switch op.Action {
	case Add, Replace:
		if op.Action == Add {
			j.added = seq
		}
		j.state, j.by, j.tier, j.net, j.spec, j.force = rowActive, by, op.Tier, op.Net, seq, seq
		if j.expires = t.ExpiresAt; known != nil {
			j.schedule = known.number(v.words)
		} else {
			j.schedule = v.words.schedules.id(t.Schedule)
		}
	case Enable:
		j.state, j.force = rowActive, seq
	case Disable:
		j.state = rowDisabled
	case Remove:
		j.state = rowRemoved
	}
}
