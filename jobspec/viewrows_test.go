package jobspec

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// model is a view as one would write it down: a map that is copied.
type model map[Name]Job

func (m model) extend(op *Op, d Digest) model {
	c := model{}
	for n, j := range m {
		c[n] = j
	}
	j := c[op.Job]
	j.Name, j.Revision, j.LastSeq = op.Job, op.Revision, op.Seq
	switch op.Action {
	case Add, Replace:
		if op.Action == Add {
			j.Added = d
		}
		j.State, j.Principal, j.Tier, j.Net = JobActive, op.Principal, op.Tier, op.Net
		j.SpecSeq, j.SpecOp, j.ForceSeq, j.ForceOp = op.Seq, d, op.Seq, d
	case Enable:
		j.State, j.ForceSeq, j.ForceOp = JobActive, op.Seq, d
	case Disable:
		j.State = JobDisabled
	case Remove:
		j.State = JobRemoved
	}
	c[op.Job] = j
	return c
}

func (m model) check(t *rapid.T, v *View) {
	got := model{}
	for j := range v.All() {
		got[j.Name] = j
		if one, ok := v.Job(j.Name); !ok || one != j {
			t.Fatalf("%s: %+v, in the list %+v", j.Name, one, j)
		}
	}
	if !reflect.DeepEqual(got, m) {
		t.Fatalf("the view holds %+v, want %+v", got, m)
	}
	of, all := map[Principal]int64{}, int64(0)
	for _, j := range m {
		if j.State != JobRemoved {
			of[j.Principal]++
			all++
		}
	}
	for _, who := range []Principal{"alice", "bob", "root", "nobody"} {
		if v.JobsOf(who) != of[who] {
			t.Fatalf("%s has %d jobs, want %d", who, v.JobsOf(who), of[who])
		}
	}
	if v.Present() != all {
		t.Fatalf("%d jobs, want %d", v.Present(), all)
	}
}

// Forks go on from a view in any order, each in its own way; none sees what another
// one did, and a former view stays as it was.
func TestAForkedViewIsAViewOfItsOwn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		root, now := &View{}, InstantOf(testNow())
		gen := &Op{Type: OpType, Host: testHost, Action: Genesis, Principal: "root", Root: &GenesisBody{AuditKey: "k"}, Created: now, ApplyBefore: now}
		root.Extend(gen, DigestOf([]byte("genesis")))
		views, want := []*View{root}, []model{{}}
		for step := range rapid.IntRange(1, 150).Draw(t, "steps") {
			i := rapid.IntRange(max(0, len(views)-3), len(views)-1).Draw(t, "from")
			v := views[i].Fork()
			name := Name(fmt.Sprintf("j%d", rapid.IntRange(0, 90).Draw(t, "job")))
			op := candidate(v, now, rapid.SampledFrom([]Action{Add, Replace, Enable, Disable, Remove}).Draw(t, "action"), true, Scratch, NetNone)
			op.Job, op.Revision = name, 1
			if op.Action == Add {
				op.Principal = rapid.SampledFrom([]Principal{"alice", "bob"}).Draw(t, "who")
			}
			if j, ok := v.Job(name); ok {
				op.Revision, op.Target = j.Revision+1, DigestOf(nil)
				if op.Action == Enable {
					op.Target = j.SpecOp
				}
			}
			if op.Spec != nil {
				op.Spec = &Spec{Argv: []string{"x"}, Schedule: Schedule{Cron: fmt.Sprint(step)}, ExpiresAt: now.Add(time.Duration(step) * time.Second)}
			}
			if _, err := v.Check(op); err != nil {
				continue
			}
			d := DigestOf(fmt.Append(nil, step, i))
			v.Extend(op, d)
			views, want = append(views, v), append(want, want[i].extend(op, d))
			if got, ok := v.Op(op.Seq); !ok || got.Digest != d || got.Job != name || got.Action != op.Action || got.Principal != op.Principal {
				t.Fatalf("op %d is %+v", op.Seq, got)
			}
			if op.Spec != nil {
				if when, ok := v.Timing(name); !ok || when != (Timing{op.Spec.Schedule, op.Created, op.Spec.ExpiresAt}) {
					t.Fatalf("job %s is due by %+v", name, when)
				}
			}
		}
		for i, v := range views {
			want[i].check(t, v)
		}
	})
}

// Whoever reads a view needs no lock while the next one is made of it. The race
// detector says whether that is true.
func TestAViewIsReadWhileItIsCarriedOn(t *testing.T) {
	v, now := chain(t, JobActive)
	shared := v.Fork()
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range 200 {
			if j, ok := shared.Job("j"); !ok || j.Revision != 1 || len(shared.Jobs()) != 1 {
				t.Errorf("the former view says %+v", j)
				return
			}
		}
	}()
	next := shared.Fork()
	for i := range 300 {
		op := candidate(next, now, Add, true, Scratch, NetNone)
		op.Job, op.Revision = Name(fmt.Sprintf("more-%d", i)), 1
		next.Extend(op, DigestOf([]byte(op.Job)))
	}
	<-done
	if n := len(next.Jobs()); n != 301 {
		t.Errorf("%d jobs", n)
	}
}
