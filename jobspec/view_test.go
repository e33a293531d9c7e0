package jobspec

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// chain builds a view with one job of alice's in the wanted state, made by a key
// for workspace.none.
func chain(t *testing.T, state JobState) (*View, Instant) {
	t.Helper()
	v := &View{}
	now := InstantOf(testNow())
	push := func(op *Op) {
		t.Helper()
		op.Type, op.Host, op.Seq, op.Prev, op.Created, op.ApplyBefore = OpType, testHost, v.Next, v.Head, now, now.Add(time.Hour)
		if _, err := v.Check(op); err != nil {
			t.Fatal(err)
		}
		b, err := op.Encode()
		if err != nil {
			t.Fatal(err)
		}
		v.Extend(op, DigestOf(b))
	}
	push(&Op{Action: Genesis, Principal: "root", Root: &GenesisBody{AuditKey: "k", AllowedSigners: DigestOf(nil), RevokedKeys: DigestOf(nil)}})
	if state == "" {
		return v, now
	}
	push(&Op{Action: Add, Job: "j", Revision: 1, Principal: "alice", Tier: ReadOnly, Net: NetNone, Spec: &Spec{Argv: []string{"x"}}})
	switch state {
	case JobDisabled:
		push(&Op{Action: Disable, Job: "j", Revision: 2, Principal: "alice"})
	case JobRemoved:
		push(&Op{Action: Remove, Job: "j", Revision: 2, Principal: "alice"})
	}
	return v, now
}

// Only these rows are accepted: what an action needs, on whose job, in which
// state. Everything else is refused, whatever the namespace.
func TestOnlyTheRowsOfTheTableAreAccepted(t *testing.T) {
	type row struct {
		action Action
		own    bool
		state  JobState
	}
	accepted := map[row]string{
		{Add, true, ""}: "tier", {Add, false, ""}: "tier",
		{Add, true, JobRemoved}: "tier", {Add, false, JobRemoved}: "tier",
		{Replace, true, JobActive}: "tier", {Replace, true, JobDisabled}: "tier",
		{Enable, true, JobActive}: "tier", {Enable, true, JobDisabled}: "tier",
		{Disable, true, JobActive}: ManageNamespace, {Disable, false, JobActive}: RootNamespace,
		{Remove, true, JobActive}: ManageNamespace, {Remove, false, JobActive}: RootNamespace,
		{Remove, true, JobDisabled}: ManageNamespace, {Remove, false, JobDisabled}: RootNamespace,
	}
	tries := 0
	for _, state := range []JobState{"", JobActive, JobDisabled, JobRemoved} {
		for _, action := range []Action{Genesis, Add, Replace, Enable, Disable, Remove, "attest", "rebase", "settings", ""} {
			for _, own := range []bool{true, false} {
				for _, tier := range []Tier{NoTier, Scratch, ReadOnly, Workspace} {
					for _, net := range []Net{NoNet, NetNone, NetProxy} {
						tries++
						v, now := chain(t, state)
						op := candidate(v, now, action, own, tier, net)
						got, err := v.Check(op)
						want := accepted[row{action, own, state}]
						if want == "tier" {
							want = JobNamespace(tier, net)
						}
						carries := action == Add || action == Replace || action == Enable
						if carries != (tier != NoTier) || carries != (net != NoNet) || action == Enable && (tier != ReadOnly || net != NetNone) {
							want = ""
						}
						if got != want || (err == nil) != (want != "") {
							t.Errorf("%s own=%v state=%q tier=%q net=%q: namespace %q, error %v; want %q", action, own, state, tier, net, got, err, want)
						}
						if err != nil && !CodeOf(err).Known() {
							t.Errorf("%s: error without a code: %v", action, err)
						}
					}
				}
			}
		}
	}
	if tries != 4*10*2*4*3 {
		t.Errorf("%d rows tried", tries)
	}
}

func candidate(v *View, now Instant, action Action, own bool, tier Tier, net Net) *Op {
	op := &Op{Type: OpType, Host: testHost, Seq: v.Next, Prev: v.Head, Created: now, ApplyBefore: now, Action: action, Job: "j",
		Principal: "bob", Tier: tier, Net: net, Revision: 1}
	if own {
		op.Principal = "alice"
	}
	if j, ok := v.Job("j"); ok {
		op.Revision = j.Revision + 1
		if action == Enable {
			op.Target = j.SpecOp
		}
	} else if action == Enable {
		op.Target = DigestOf(nil)
	}
	if action == Add || action == Replace {
		op.Spec = &Spec{Argv: []string{"x"}}
	}
	if action == Genesis {
		op.Job, op.Revision, op.Root = "", 0, &GenesisBody{AuditKey: "k"}
	}
	return op
}

func TestAnOpMustExtendTheHead(t *testing.T) {
	for name, change := range map[string]func(op *Op){
		string(CodeSpecSchemaUnsupported): func(op *Op) { op.Type = "sbxcron.op/v2" },
		string(CodeSeqInvalid):            func(op *Op) { op.Seq++ },
		string(CodeHeadMoved):             func(op *Op) { op.Prev = DigestOf([]byte("x")) },
		string(CodeHostMismatch):          func(op *Op) { op.Host = "00000000000000000000000000000000" },
		string(CodeCreatedInvalid):        func(op *Op) { op.Created = op.Created.Add(-time.Hour) },
		string(CodeRevisionRollback):      func(op *Op) { op.Revision = 1 },
		string(CodeNotJobOwner):           func(op *Op) { op.Principal = "bob" },
		string(CodeSpecMalformed):         func(op *Op) { op.Target = DigestOf(nil) },
		string(CodeJobUnknown):            func(op *Op) { op.Job = "other" },
		string(CodeActionUnknown):         func(op *Op) { op.Action = "rotate" },
	} {
		v, now := chain(t, JobActive)
		op := candidate(v, now, Replace, true, ReadOnly, NetNone)
		if _, err := v.Check(op); err != nil {
			t.Fatal(err)
		}
		change(op)
		if ns, err := v.Check(op); string(CodeOf(err)) != name || ns != "" {
			t.Errorf("want %s: namespace %q, error %v", name, ns, err)
		}
	}
}

func TestAChainBeginsWithOneGenesis(t *testing.T) {
	for _, action := range []Action{Add, Replace, Enable, Disable, Remove} {
		v := &View{}
		if ns, err := v.Check(candidate(v, InstantOf(testNow()), action, true, Scratch, NetNone)); CodeOf(err) != CodeSeqInvalid {
			t.Errorf("%s: namespace %q, error %v", action, ns, err)
		}
	}
	v, now := chain(t, JobActive)
	if ns, err := v.Check(candidate(v, now, Genesis, true, NoTier, NoNet)); CodeOf(err) != CodeSeqInvalid {
		t.Errorf("a second genesis: namespace %q, error %v", ns, err)
	}
}

func TestTheRevisionNeverRestarts(t *testing.T) {
	v, now := chain(t, JobRemoved)
	op := candidate(v, now, Add, true, ReadOnly, NetNone)
	if op.Revision != 3 {
		t.Fatalf("revision %d", op.Revision)
	}
	op.Revision = 1
	if _, err := v.Check(op); CodeOf(err) != CodeRevisionRollback {
		t.Errorf("error %v", err)
	}
}

func TestAnOldSpecCannotBeEnabled(t *testing.T) {
	v, now := chain(t, JobActive)
	old, _ := v.Job("j")
	op := candidate(v, now, Replace, true, Scratch, NetNone)
	v.Extend(op, DigestOf([]byte("second")))
	enable := candidate(v, now, Enable, true, ReadOnly, NetNone)
	enable.Target = old.SpecOp
	if _, err := v.Check(enable); CodeOf(err) != CodeRevisionRollback {
		t.Errorf("error %v", err)
	}
}

func TestNamespacesThatAnActionCanUse(t *testing.T) {
	all := append(JobNamespaces(), RootNamespace, ManageNamespace, "", "file", ".none.v1@sbxcron", "scratch..v1@sbxcron")
	for _, op := range []*Op{{Action: Genesis}, {Action: Add, Tier: Workspace, Net: NetNone}, {Action: Replace, Tier: Scratch, Net: NetProxy},
		{Action: Enable, Tier: ReadOnly, Net: NetNone}, {Action: Enable}, {Action: Disable}, {Action: Remove}, {Action: Attest}, {Action: "rotate"}, {}} {
		var may []string
		for _, ns := range all {
			if op.mayUse(ns) {
				may = append(may, ns)
			}
		}
		want := map[Action]string{Genesis: "[root.v1@sbxcron]", Add: "[workspace.none.v1@sbxcron]", Replace: "[scratch.proxy.v1@sbxcron]",
			Enable: "[read-only.none.v1@sbxcron]", Disable: "[root.v1@sbxcron manage.v1@sbxcron]", Remove: "[root.v1@sbxcron manage.v1@sbxcron]", Attest: "[manage.v1@sbxcron]"}[op.Action]
		if op.Action == Enable && op.Tier == NoTier || want == "" {
			want = "[]"
		}
		if got := fmt.Sprint(may); got != want {
			t.Errorf("%s: %s, want %s", op.Action, got, want)
		}
	}
}

// An attest is about no job: it leaves all of them as they are, and the chain has
// its checkpoint from then on.
func TestAnAttestSaysNothingButItsCheckpoint(t *testing.T) {
	v, now := chain(t, JobActive)
	before, _ := v.Job("j")
	op := candidate(v, now, Attest, false, NoTier, NoNet)
	op.Job, op.Revision, op.Spec, op.Checkpoint = "", 0, nil, "log\n7\n"
	for what, change := range map[string]func(op *Op){
		"no checkpoint":   func(op *Op) { op.Checkpoint = "" },
		"an endless one":  func(op *Op) { op.Checkpoint = strings.Repeat("x", 4097) },
		"a job":           func(op *Op) { op.Job = "j" },
		"a revision":      func(op *Op) { op.Revision = 1 },
		"a tier":          func(op *Op) { op.Tier = Scratch },
		"a target":        func(op *Op) { op.Target = before.SpecOp },
		"another genesis": func(op *Op) { op.Root = &GenesisBody{} },
	} {
		bad := *op
		change(&bad)
		if _, err := v.Check(&bad); CodeOf(err) != CodeSpecMalformed {
			t.Errorf("%s: %v", what, err)
		}
	}
	if ns, err := v.Check(op); err != nil || ns != ManageNamespace {
		t.Fatalf("%q, %v", ns, err)
	}
	fork := v.Fork()
	v.Extend(op, DigestOf([]byte("attest")))
	if after, _ := v.Job("j"); after != before || v.Checkpoint != op.Checkpoint || fork.Checkpoint != "" || len(v.Jobs()) != len(fork.Jobs()) {
		t.Errorf("job %+v, checkpoint %q", after, v.Checkpoint)
	}
	if head, ok := v.Op(op.Seq); !ok || head.Action != Attest || head.Job != "" || head.Principal != op.Principal {
		t.Errorf("%+v", head)
	}
}
