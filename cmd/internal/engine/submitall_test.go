package engine

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sbxcron/sbxcron/cmd/internal/api"
	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/store"
)

// follow makes signed ops that disable jobs one after the other.
func (b *bench) follow(s *store.State, created time.Time, jobs ...jobspec.Name) []api.Submission {
	b.t.Helper()
	var all []api.Submission
	seq, prev := s.View.Next, s.View.Head
	for _, name := range jobs {
		j, _ := s.View.Job(name)
		op := &jobspec.Op{Type: jobspec.OpType, Host: s.Host, Seq: seq, Prev: prev, Action: jobspec.Disable, Job: name,
			Revision: j.Revision + 1, Created: jobspec.InstantOf(created), ApplyBefore: jobspec.InstantOf(created.Add(24 * time.Hour)), Principal: "alice"}
		raw, err := op.Encode()
		must(b.t, err)
		all = append(all, api.Submission{Op: raw, Sig: b.sign(jobspec.ManageNamespace, raw)})
		seq, prev = seq+1, jobspec.DigestOf(raw)
	}
	return all
}

func (b *bench) threeJobs() *Engine {
	for _, name := range []jobspec.Name{"one", "two", "three"} {
		b.commit(jobspec.Add, name)
	}
	return b.open(true)
}

func (b *bench) disabled(e *Engine) (names []string) {
	jobs, err := e.Jobs(b.t.Context())
	must(b.t, err)
	for _, j := range jobs {
		if slices.Contains(j.Flags, "disabled") {
			names = append(names, string(j.Job))
		}
	}
	return names
}

func TestOpsThatFollowEachOtherArePutInForceTogether(t *testing.T) {
	b := newBench(t)
	e := b.threeJobs()
	done, err := e.SubmitAll(t.Context(), b.follow(e.chain.State(), b.now, "one", "two", "three"))
	must(t, err)
	if len(done) != 3 || done[2].Job != "three" || done[2].Seq != done[0].Seq+2 {
		t.Errorf("%+v", done)
	}
	if got := b.disabled(e); len(got) != 3 {
		t.Errorf("in force: %q", got)
	}
	if pin := e.chain.State().Pin; pin.Seq != done[2].Seq || pin.Digest != done[2].Op {
		t.Errorf("the pin is %+v", pin)
	}
}

// The last of them is enough to keep all of them out.
func TestOneRefusedOpKeepsAllOfThemOut(t *testing.T) {
	for what, c := range map[string]struct {
		spoil func(b *bench, all []api.Submission) []api.Submission
		code  jobspec.Code
	}{
		"signature of another": {func(_ *bench, all []api.Submission) []api.Submission { all[2].Sig = all[1].Sig; return all }, jobspec.CodeSigInvalid},
		"twice the same":       {func(_ *bench, all []api.Submission) []api.Submission { return append(all, all[2]) }, jobspec.CodeHeadMoved},
		"a hole":               {func(_ *bench, all []api.Submission) []api.Submission { return append(all[:1:1], all[2]) }, jobspec.CodeSeqInvalid},
		"no key for the purpose": {func(b *bench, all []api.Submission) []api.Submission {
			all[2].Sig = b.sign(jobspec.RootNamespace, all[2].Op)
			return all
		}, ""},
	} {
		t.Run(what, func(t *testing.T) {
			b := newBench(t)
			e := b.threeJobs()
			head := e.chain.State().View.Head
			_, err := e.SubmitAll(t.Context(), c.spoil(b, b.follow(e.chain.State(), b.now, "one", "two", "three")))
			if a, ok := errors.AsType[*api.Error](err); !ok || c.code != "" && a.ErrCode != c.code || !strings.HasPrefix(a.Message, "op ") {
				t.Errorf("%v", err)
			}
			if got := b.disabled(e); len(got) != 0 || e.chain.State().View.Head != head {
				t.Errorf("in force: %q", got)
			}
		})
	}
	b := newBench(t)
	e := b.threeJobs()
	for _, n := range []int{0, api.MaxPlan + 1} {
		if _, err := e.SubmitAll(t.Context(), make([]api.Submission, n)); jobspec.CodeOf(err) != jobspec.CodeSpecMalformed {
			t.Errorf("%d ops: %v", n, err)
		}
	}
}

// fullDisk has room for so many commits.
type fullDisk struct {
	store.RealDisk
	left int
}

func (d *fullDisk) Commit(transaction func() error) error {
	if d.left--; d.left < 0 {
		return errors.New("no space left on device")
	}
	return d.RealDisk.Commit(transaction)
}

// A disk that fails between two commits leaves a beginning of the plan in force and
// nothing of what is behind it, as a crash there does.
func TestADiskThatFailsBetweenTwoCommitsLeavesABeginningOfThePlan(t *testing.T) {
	b := newBench(t)
	must(t, b.threeJobs().Close())
	e, err := b.openOn(true, &fullDisk{left: 2})
	must(t, err)
	all := b.follow(e.chain.State(), b.now, "one", "two", "three")
	if _, err := e.SubmitAll(t.Context(), all); err == nil {
		t.Error("a commit on a full disk succeeded")
	}
	_ = e.Close() // it cannot be sure of its state, which is the point
	e = b.open(true)
	if got := b.disabled(e); !slices.Equal(got, []string{"one", "two"}) {
		t.Errorf("in force: %q", got)
	}
	if head, err := e.Head(t.Context()); err != nil || head.Prev != jobspec.DigestOf(all[1].Op) {
		t.Errorf("head %+v, %v", head, err)
	}
}
