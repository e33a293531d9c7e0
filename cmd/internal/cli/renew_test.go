package cli

import (
	"testing"
	"time"

	"github.com/sbxcron/sbxcron/jobspec"
)

// undrifted is drifted with jobs whose programs are those that were signed.
func undrifted(t *testing.T) *bench {
	t.Helper()
	b := drifted(t)
	for name, d := range b.svc.detail {
		op, err := jobspec.DecodeOp(d.Bytes)
		if err != nil {
			t.Fatal(err)
		}
		now, err := b.site.Rebound(t.Context(), op, place{head: b.svc.head, now: noon, job: &d.Job}.position(jobspec.Replace, owner{principal: op.Principal}))
		if err != nil {
			t.Fatal(err)
		}
		op.Spec.Bound = now.Spec.Bound
		if d.Bytes, err = op.Encode(); err != nil {
			t.Fatal(err)
		}
		d.Job.Op = jobspec.DigestOf(d.Bytes)
		for i := range b.svc.jobs {
			if b.svc.jobs[i].Job == name {
				b.svc.jobs[i].Op = d.Job.Op
			}
		}
		b.svc.detail[name] = d
	}
	return b
}

func TestRenewChangesTheDayAndNothingElse(t *testing.T) {
	for _, c := range []struct {
		args []string
		days int
	}{{[]string{"renew", "a", "--yes"}, 90}, {[]string{"renew", "a", "--yes", "--expires", "30d"}, 30}} {
		b := undrifted(t)
		old, err := jobspec.DecodeOp(b.svc.detail["a"].Bytes)
		if err != nil {
			t.Fatal(err)
		}
		if code := b.run(c.args...); code != 0 || len(b.svc.submitted) != 1 || b.key.used != 1 {
			t.Fatalf("exit %d, %d submitted, key used %d times\n%s", code, len(b.svc.submitted), b.key.used, &b.err)
		}
		op, err := jobspec.DecodeOp(b.svc.submitted[0].Op)
		if err != nil {
			t.Fatal(err)
		}
		if op.Action != jobspec.Replace || op.Revision != 2 || op.Prev != b.svc.head.Prev {
			t.Errorf("%s, revision %d", op.Action, op.Revision)
		}
		if want := op.Created.Time().Add(time.Duration(c.days) * 24 * time.Hour); !op.Spec.ExpiresAt.Time().Equal(want) {
			t.Errorf("it ends at %s, want %s", op.Spec.ExpiresAt, want)
		}
		op.Spec.ExpiresAt = old.Spec.ExpiresAt
		op.Spec.Policy = old.Spec.Policy
		same := *old
		same.Spec = op.Spec
		was, err := old.Encode()
		if err != nil {
			t.Fatal(err)
		}
		is, err := same.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if string(was) != string(is) {
			t.Errorf("more than the day changed:\n%s\n%s", was, is)
		}
	}
}

func TestRenewSignsNothingThatHasChangedOrIsNotTheOwners(t *testing.T) {
	for name, args := range map[string][]string{
		"a": {"renew", "a", "--yes"}, "other": {"renew", "other", "--yes"}, "off": {"renew", "off", "--yes"}, "none": {"renew", "none", "--yes"},
	} {
		b := drifted(t)
		if code := b.run(args...); code == 0 || len(b.svc.submitted) != 0 || b.key.used != 0 {
			t.Errorf("%s: exit %d, %d submitted, key used %d times", name, code, len(b.svc.submitted), b.key.used)
		}
	}
	b := undrifted(t)
	if code := b.run("renew", "a", "--dry-run"); code != 0 || len(b.svc.submitted) != 0 || b.key.used != 0 {
		t.Errorf("dry run: exit %d, %d submitted, key used %d times", code, len(b.svc.submitted), b.key.used)
	}
}
