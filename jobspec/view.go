package jobspec

import (
	"fmt"
	"slices"
)

// Namespaces of signatures. A key's line in allowed_signers names those it may
// use, so a key limited to one cannot approve more, even for stock ssh-keygen.
const (
	RootNamespace   = "root.v1@sbxcron"
	ManageNamespace = "manage.v1@sbxcron"
)

// JobNamespace is the namespace that approves a job of this tier and net.
func JobNamespace(t Tier, n Net) string { return t.String() + "." + n.String() + ".v1@sbxcron" }

// JobNamespaces are all namespaces that approve jobs.
func JobNamespaces() []string {
	var all []string
	for t := Scratch; t <= Workspace; t++ {
		for n := NetNone; n <= NetProxy; n++ {
			all = append(all, JobNamespace(t, n))
		}
	}
	return all
}

// JobState is what the chain says of a job. The zero value is no job.
type JobState string

// The states that ops can bring about.
const (
	JobActive   JobState = "active"
	JobDisabled JobState = "disabled"
	JobRemoved  JobState = "removed"
)

// Job is the view of one job. It is computed from the chain and grants nothing:
// the op that it points to is verified at each trigger.
type Job struct {
	Name      Name
	Principal Principal
	State     JobState
	Revision  int64
	SpecSeq   int64  // the add or replace that holds the spec
	SpecOp    Digest //
	ForceSeq  int64  // the op that put it in force: SpecSeq, or a later enable
	ForceOp   Digest
	LastSeq   int64  // the last op about it
	Added     Digest // the add that began it; what outlives runs belongs to that one
	Tier      Tier
	Net       Net
}

// StateName is the name of the job's state folder. A job that was removed and
// added again is another one, with another folder.
func (j Job) StateName() string { return string(j.Name) + "-" + j.Added.Short() }

// View is the state that a chain of ops adds up to. Its zero value is the state
// before genesis. It holds what the ops say beside their specs: a million jobs take
// some 150 MB. Extend changes it; Fork gives a copy for that at no cost, so that
// whoever reads the former one sees no half of an op, and nothing of one that is
// turned away later.
type View struct {
	Host        HostID
	Next        int64  // seq of the next op
	Head        Digest // of the last op
	HeadCreated Instant
	Checkpoint  string       // the last one that an op carries: what an owner saw of the ledger
	ops         rows[opRow]  // by seq
	jobs        rows[jobRow] // by the number of the name
	words       *viewWords
	present     []uint32 // jobs that are not removed, by the number of their principal
}

// Fork returns a copy. Extending either one leaves the other as it is. A view that
// came from Fork, and was not extended since, may be forked by several goroutines.
func (v *View) Fork() *View {
	c := *v
	c.ops, c.jobs = v.ops.fork(), v.jobs.fork()
	c.present = slices.Clone(v.present)
	return &c
}

// Check says whether op may extend the chain, and with which namespace it must
// be signed. It looks at the op and the chain alone: signature, keys and policy
// are the caller's. The error is an *OpError.
func (v *View) Check(op *Op) (namespace string, err error) { return v.check(op, op.Spec != nil) }

func (v *View) check(op *Op, spec bool) (namespace string, err error) {
	if err := v.checkLink(op); err != nil {
		return "", err
	}
	if err := op.checkMembers(spec); err != nil {
		return "", err
	}
	if op.Action == Genesis {
		return RootNamespace, nil
	}
	return v.checkAction(op)
}

func (op *Op) refuse(code Code, format string, args ...any) error {
	return &OpError{Reason: code, Seq: op.Seq, Detail: fmt.Sprintf(format, args...)}
}

// checkLink holds op against the head: type, host, position, predecessor, time.
func (v *View) checkLink(op *Op) error {
	switch {
	case op.Type != OpType:
		return op.refuse(CodeSpecSchemaUnsupported, "type %q is not %s", op.Type, OpType)
	case op.Seq < v.Next:
		return op.refuse(CodeHeadMoved, "seq %d is taken, the next is %d", op.Seq, v.Next)
	case op.Seq > v.Next:
		return op.refuse(CodeSeqInvalid, "seq %d does not extend the chain, whose next is %d", op.Seq, v.Next)
	case (op.Action == Genesis) != (v.Next == 0):
		return op.refuse(CodeSeqInvalid, "action %q at position %d: a chain begins with one genesis and has no other", op.Action, op.Seq)
	case op.Prev != v.Head:
		return op.refuse(CodeHeadMoved, "prev %q is not the head %q", op.Prev, v.Head)
	case v.Next > 0 && op.Host != v.Host:
		return op.refuse(CodeHostMismatch, "made for host %q, this is %q", op.Host, v.Host)
	case op.Created.IsZero() || op.Created.Before(v.HeadCreated):
		return op.refuse(CodeCreatedInvalid, "created %q lies before the previous op's %q", op.Created, v.HeadCreated)
	case op.ApplyBefore.Before(op.Created):
		return op.refuse(CodeCreatedInvalid, "apply_before %q lies before created %q", op.ApplyBefore, op.Created)
	}
	return nil
}

// members lists which optional members an action carries; the others must be absent.
var members = map[Action]struct{ job, spec, tier, target, root bool }{
	Genesis: {root: true},
	Add:     {job: true, spec: true, tier: true},
	Replace: {job: true, spec: true, tier: true},
	Enable:  {job: true, tier: true, target: true},
	Disable: {job: true},
	Remove:  {job: true},
	Attest:  {},
}

// AboutJob reports whether ops of this action are about one job.
func (a Action) AboutJob() bool { return members[a].job }

// maxCheckpoint bounds a checkpoint in an op. Ours have some 340 bytes, 450 at the end of an epoch.
const maxCheckpoint = 4 << 10

func (op *Op) checkMembers(spec bool) error {
	want, ok := members[op.Action]
	if !ok {
		return op.refuse(CodeActionUnknown, "action %q is unknown to this version", op.Action)
	}
	if _, err := ParsePrincipal(string(op.Principal)); err != nil {
		return op.refuse(CodeSpecMalformed, "%v", err)
	}
	if _, err := ParseHostID(string(op.Host)); err != nil {
		return op.refuse(CodeSpecMalformed, "%v", err)
	}
	if len(op.Checkpoint) > maxCheckpoint || op.Action == Attest && op.Checkpoint == "" {
		return op.refuse(CodeSpecMalformed, "checkpoint: %d bytes, want at most %d, and of an attest one", len(op.Checkpoint), maxCheckpoint)
	}
	if want.job {
		if _, err := ParseName(string(op.Job)); err != nil {
			return op.refuse(CodeSpecMalformed, "%v", err)
		}
	}
	for _, m := range []struct {
		name       string
		want, have bool
	}{
		{"job", want.job, op.Job != ""},
		{"revision", want.job, op.Revision != 0},
		{"spec", want.spec, spec},
		{"tier", want.tier, op.Tier != NoTier},
		{"net", want.tier, op.Net != NoNet},
		{"target", want.target, !op.Target.IsZero()},
		{"genesis", want.root, op.Root != nil},
	} {
		if m.want != m.have {
			return op.refuse(CodeSpecMalformed, "%s of action %s: %s", m.name, op.Action, map[bool]string{true: "missing", false: "must be absent"}[m.want])
		}
	}
	return nil
}

func (v *View) checkAction(op *Op) (string, error) {
	if op.Action == Attest {
		return ManageNamespace, nil
	}
	j, known := v.Job(op.Job)
	live := known && j.State != JobRemoved
	var last int64
	if known {
		last = j.Revision
	}
	switch {
	case op.Action == Add && live:
		return "", op.refuse(CodeJobExists, "job %q exists, revision %d", op.Job, last)
	case op.Action != Add && known && !live:
		return "", op.refuse(CodeJobTombstoned, "job %q was removed", op.Job)
	case op.Action != Add && !known:
		return "", op.refuse(CodeJobUnknown, "no job %q", op.Job)
	case op.Revision != last+1:
		return "", op.refuse(CodeRevisionRollback, "revision %d of job %q, the next is %d", op.Revision, op.Job, last+1)
	}
	own := known && op.Principal == j.Principal
	switch op.Action {
	case Add:
		return JobNamespace(op.Tier, op.Net), nil
	case Disable, Remove:
		if op.Action == Disable && j.State == JobDisabled {
			return "", op.refuse(CodeJobDisabled, "job %q is disabled already", op.Job)
		}
		if own {
			return ManageNamespace, nil
		}
		return RootNamespace, nil
	}
	if !own {
		return "", op.refuse(CodeNotJobOwner, "job %q belongs to %q; to hand it over, remove and add it", op.Job, j.Principal)
	}
	if op.Action == Enable {
		if op.Target != j.SpecOp {
			return "", op.refuse(CodeRevisionRollback, "target %s is not the job's last spec %s", op.Target.Short(), j.SpecOp.Short())
		}
		if op.Tier != j.Tier || op.Net != j.Net {
			return "", op.refuse(CodeSpecMalformed, "tier and net must be those of the target: %s, %s", j.Tier, j.Net)
		}
	}
	return JobNamespace(op.Tier, op.Net), nil
}
