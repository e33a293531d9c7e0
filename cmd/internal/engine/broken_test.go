package engine

import (
	"bytes"
	"testing"
	"time"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/scheduler"
	"github.com/sbxcron/sbxcron/store/storefill"
	"github.com/sbxcron/sbxcron/store/storetest"
)

// Another version may have put specs in force that this one cannot read. Each such
// job is broken, by itself: the chain is proven, the other jobs are due and verified.
func TestOneSpecThatCannotBeReadStopsNoOtherJob(t *testing.T) {
	b := newBench(t)
	b.commit(jobspec.Add, "before")
	odd := []struct{ job, from, to string }{
		{"moon", `"cron":`, `"moon":`}, // no schedule that anybody here knows
		{"argw", `"argv":`, `"argw":`}, // a schedule, and a spec that is refused when it is due
		{"fine", "", ""},
	}
	now := jobspec.InstantOf(b.now)
	must(t, storefill.Chain(b.dirs, 5, storefill.Source{
		Op: func(seq int64, prev jobspec.Digest) ([]byte, error) {
			o := odd[seq-2]
			op := &jobspec.Op{Type: jobspec.OpType, Host: storetest.Host, Seq: seq, Prev: prev, Action: jobspec.Add, Job: jobspec.Name(o.job), Revision: 1,
				Created: now, ApplyBefore: now.Add(time.Hour), Principal: storetest.Principal, Tier: jobspec.Scratch, Net: jobspec.NetNone,
				Spec: &jobspec.Spec{Argv: []string{"/bin/true"}, Schedule: jobspec.Schedule{Cron: "* * * * *", Timezone: "UTC"}, ExpiresAt: now.Add(90 * 24 * time.Hour)}}
			raw, err := op.Encode()
			return bytes.Replace(raw, []byte(o.from), []byte(o.to), 1), err
		},
		Sign: func(op []byte) ([]byte, error) {
			return b.sign(jobspec.JobNamespace(jobspec.Scratch, jobspec.NetNone), op), nil
		},
	}))
	e := b.open(false)
	must(t, e.Proven())
	all, _, err := e.Intervals()
	must(t, err)
	var table scheduler.Timetable
	for _, i := range all {
		due := table.Set(i, b.now) == nil
		if want := i.Job == "argw" || i.Job == "fine"; due != want {
			t.Errorf("%s is due: %v", i.Job, due)
		}
		v, err := e.Current(i.Job)
		if good := err == nil && v.Refused == "" && v.Signed.Valid(); good != (i.Job == "before" || i.Job == "fine") {
			t.Errorf("%s: verified %v, error %v", i.Job, good, err)
		}
		if err != nil && jobspec.CodeOf(err) != jobspec.CodeSpecMalformed {
			t.Errorf("%s: %v", i.Job, err)
		}
	}
	if len(all) != 4 {
		t.Errorf("%d jobs", len(all))
	}
}
