package cli

import (
	"strings"
	"testing"

	"github.com/sbxcron/sbxcron/cmd/internal/api"
	"github.com/sbxcron/sbxcron/cmd/internal/examine"
	"github.com/sbxcron/sbxcron/jobspec"
)

// drifted gives the bench two jobs of alice whose programs are not those that
// were signed, one of hers that is disabled, and one of bob.
func drifted(t *testing.T) *bench {
	t.Helper()
	b := newBench(t)
	b.svc.detail = map[jobspec.Name]api.JobDetail{}
	for i, j := range []api.Job{{Job: "a", Principal: "alice"}, {Job: "b", Principal: "alice"},
		{Job: "off", Principal: "alice", Flags: []string{"disabled"}}, {Job: "other", Principal: "bob"}} {
		d := &jobspec.Draft{Name: j.Job, Cron: "30 2 * * *", Timezone: "UTC", Command: []string{"true"}}
		op, err := b.site.Candidate(t.Context(), d, examine.Position{Host: testHost, Seq: int64(i + 1), Prev: jobspec.DigestOf([]byte(j.Job)),
			Action: jobspec.Add, Revision: 1, Principal: j.Principal, Now: noon}, "/")
		if err != nil {
			t.Fatal(err)
		}
		raw, err := op.Encode()
		if err != nil {
			t.Fatal(err)
		}
		j.Revision, j.Op, j.State = 1, jobspec.DigestOf(raw), "active"
		b.svc.jobs = append(b.svc.jobs, j)
		b.svc.detail[j.Job] = api.JobDetail{Job: j, Bytes: raw}
	}
	return b
}

func TestRebindAllSignsOwnJobsInOneRow(t *testing.T) {
	b := drifted(t)
	if code := b.run("rebind", "--all", "--yes"); code != 0 || len(b.svc.submitted) != 2 || b.key.used != 2 {
		t.Fatalf("exit %d, %d submitted, key used %d times\n%s", code, len(b.svc.submitted), b.key.used, &b.err)
	}
	prev, seq := b.svc.head.Prev, b.svc.head.Seq
	for i, want := range []jobspec.Name{"a", "b"} {
		op, err := jobspec.DecodeOp(b.svc.submitted[i].Op)
		if err != nil {
			t.Fatal(err)
		}
		if op.Job != want || op.Prev != prev || op.Seq != seq || op.Action != jobspec.Replace || op.Revision != 2 {
			t.Errorf("op %d: %s of %s, seq %d, prev %s", i, op.Action, op.Job, op.Seq, op.Prev.Short())
		}
		prev, seq = jobspec.DigestOf(b.svc.submitted[i].Op), seq+1
	}
	if shown := b.err.String(); !strings.Contains(shown, "job a") || !strings.Contains(shown, "job b") || strings.Contains(shown, "other") {
		t.Errorf("shown:\n%s", shown)
	}
}

func TestRebindStopsWhereAnotherOpCameFirst(t *testing.T) {
	b := drifted(t)
	b.svc.errs["submit"] = api.New(jobspec.CodeHeadMoved, "another op came first")
	if code := b.run("rebind", "--all", "--yes"); code != jobspec.ClassConflict.Exit() || len(b.svc.submitted) != 1 || b.key.used != 1 {
		t.Errorf("exit %d, %d submitted, key used %d times", code, len(b.svc.submitted), b.key.used)
	}
}

func TestRebindSignsNothingThatIsNotTheJob(t *testing.T) {
	for name, c := range map[string]struct {
		args   []string
		change func(b *bench)
		exit   int
	}{
		"other bytes than those of the op": {[]string{"rebind", "a", "--yes"}, func(b *bench) {
			d := b.svc.detail["a"]
			d.Bytes = b.svc.detail["b"].Bytes
			b.svc.detail["a"] = d
		}, jobspec.ClassTampered.Exit()},
		"a job of another": {[]string{"rebind", "other", "--yes"}, func(*bench) {}, jobspec.ClassDenied.Exit()},
		"a disabled job":   {[]string{"rebind", "off", "--yes"}, func(*bench) {}, jobspec.ClassPolicy.Exit()},
		"an unknown job":   {[]string{"rebind", "none", "--yes"}, func(*bench) {}, jobspec.ClassNotFound.Exit()},
		"a head that was cut back": {[]string{"rebind", "--all", "--yes"}, func(b *bench) { b.site.pin.Seq++ },
			jobspec.ClassTampered.Exit()},
		"nobody to ask": {[]string{"rebind", "--all"}, func(*bench) {}, jobspec.ClassUsage.Exit()},
		"no":            {[]string{"rebind", "a"}, func(b *bench) { b.answers = []string{"n"} }, jobspec.ClassOther.Exit()},
		"a dry run":     {[]string{"rebind", "--all", "--dry-run"}, func(*bench) {}, jobspec.ClassProblems.Exit()},
		"no longer allowed": {[]string{"rebind", "a", "--yes"}, func(b *bench) {
			b.site.change = func(in *jobspec.Input) { in.Policy.Principals["alice"] = jobspec.Ceiling{Disabled: true} }
		}, jobspec.ClassProblems.Exit()},
		"neither name nor all": {[]string{"rebind"}, func(*bench) {}, jobspec.ClassUsage.Exit()},
	} {
		t.Run(name, func(t *testing.T) {
			b := drifted(t)
			c.change(b)
			if code := b.run(c.args...); code != c.exit || len(b.svc.submitted) != 0 || b.key.used != 0 {
				t.Errorf("exit %d, want %d; %d submitted, key used %d times\n%s", code, c.exit, len(b.svc.submitted), b.key.used, &b.err)
			}
		})
	}
}

func TestExplainAllEndsWithProblemsWhereOneWouldBeRefused(t *testing.T) {
	b := drifted(t)
	at := noon
	for i := range b.svc.jobs {
		b.svc.jobs[i].Next = &at
	}
	b.svc.explained = api.Explanation{Job: "a", Decision: "allow"}
	if code := b.run("explain", "--all"); code != 0 {
		t.Errorf("exit %d\n%s", code, &b.err)
	}
	b.svc.explained = api.Explanation{Job: "a", Decision: "refuse", Checks: []jobspec.Check{{Step: "binding", Verdict: "no", Code: jobspec.CodeDriftFile}}}
	if code := b.run("explain", "--all"); code != 3 || !strings.Contains(b.out.String(), "drift_file") {
		t.Errorf("exit %d\n%s", code, &b.out)
	}
	b.svc.errs["explain"] = api.New(jobspec.CodeRoleInsufficient, "not yours")
	if code := b.run("explain", "--all"); code != 0 || !strings.Contains(b.err.String(), "4 job(s)") {
		t.Errorf("exit %d\n%s", code, &b.err)
	}
	if code := b.run("explain", "a", "--all"); code != jobspec.ClassUsage.Exit() {
		t.Errorf("a name and --all: exit %d", code)
	}
}
