package engine

import (
	"crypto/rand"
	"errors"
	"os"
	"testing"
	"time"

	"github.com/sbxcron/sbxcron/cmd/internal/api"
	"github.com/sbxcron/sbxcron/cmd/internal/config"
	"github.com/sbxcron/sbxcron/cmd/internal/examine"
	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/record"
	"github.com/sbxcron/sbxcron/signing/signingtest"
	"github.com/sbxcron/sbxcron/store"
	"github.com/sbxcron/sbxcron/store/storetest"
)

// bench is an installation with an owner, whose clock the test moves.
type bench struct {
	t    *testing.T
	dirs store.Dirs
	key  *signingtest.Key
	now  time.Time
	ring store.AuditKeys // nil: no checkpoints are made
}

func newBench(t *testing.T) *bench {
	t.Helper()
	namespaces := append([]string{jobspec.RootNamespace, jobspec.ManageNamespace}, jobspec.JobNamespaces()...)
	key := signingtest.FixedKey(t, "alice", "alice", namespaces...)
	b := &bench{t: t, key: key, now: storetest.Epoch().Add(time.Hour)}
	b.dirs = storetest.Root(t, string(signingtest.AllowedSigners(t, key)), "")
	if err := os.WriteFile(b.dirs.Policy(), []byte("serial = 1\nenabled_platforms = [\"linux\"]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	b.write(func(*store.Writer) {})
	return b
}

func (b *bench) sign(namespace string, op []byte) []byte { return b.key.Sign(b.t, namespace, op) }

// write puts ops into the chain as a service does, and closes it.
func (b *bench) write(do func(w *store.Writer)) {
	b.t.Helper()
	lock, err := store.TryLock(b.dirs, store.LockWait)
	must(b.t, err)
	defer lock.Close()
	if _, err := os.Lstat(b.dirs.ChainDB()); os.IsNotExist(err) {
		w := storetest.Begin(b.t, b.dirs, lock, b.sign)
		must(b.t, w.Close())
	}
	w, err := store.OpenWriter(b.dirs, lock, store.RealDisk{})
	must(b.t, err)
	do(w)
	must(b.t, w.Close())
}

// commit extends the chain by an op about a job.
func (b *bench) commit(action jobspec.Action, job jobspec.Name) {
	b.t.Helper()
	b.write(func(w *store.Writer) { storetest.Commit(b.t, w, storetest.Next(w.State(), action, job), b.sign) })
}

// open opens the engine, as the service does or as a command.
func (b *bench) open(serve bool) *Engine {
	b.t.Helper()
	e, err := b.openOn(serve, store.RealDisk{})
	must(b.t, err)
	b.t.Cleanup(func() { must(b.t, e.Close()) })
	return e
}

func (b *bench) openOn(serve bool, disk store.Disk) (*Engine, error) {
	site := config.Site{Dirs: b.dirs}
	clock := func() time.Time { return b.now }
	x := &examine.Examiner{Site: site, Now: clock}
	return Open(Options{Site: site, Clock: clock, BootID: "boot", Version: "test", Examiner: x,
		Outputs: store.NewOutputs(b.dirs, rand.Reader), Disk: disk, Serve: serve, AuditKeys: b.ring})
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestTimeNeverGoesBackBehindWhatWasStated(t *testing.T) {
	b := newBench(t)
	e := b.open(true)
	if got := e.Now(); !got.Equal(b.now) || e.ClockHold() {
		t.Errorf("now %s, hold %v", got, e.ClockHold())
	}
	stated := b.now.Add(time.Minute)
	_, err := e.Append(&record.Leaf{Kind: record.Boot, Time: record.Stamp(stated)})
	must(t, err)
	for _, c := range []struct {
		wall time.Time
		now  time.Time
		hold bool
	}{
		{stated.Add(time.Second), stated.Add(time.Second), false},
		{stated.Add(-time.Second), stated, false},
		{stated.Add(-maxAhead), stated, false},
		{stated.Add(-maxAhead - time.Second), stated, true},
	} {
		b.now = c.wall
		if got := e.Now(); !got.Equal(c.now) || e.ClockHold() != c.hold {
			t.Errorf("wall clock %s: now %s, hold %v", c.wall, got, e.ClockHold())
		}
	}
	must(t, e.Close())
	b.now = stated.Add(-time.Hour)
	if again := b.open(false); !again.Now().Equal(stated) || !again.ClockHold() {
		t.Errorf("after a restart it is %s, hold %v", again.Now(), again.ClockHold())
	}
}

func TestIntervalsSayWhenASpecWasInForce(t *testing.T) {
	b := newBench(t)
	for _, step := range []struct {
		action jobspec.Action
		job    jobspec.Name
	}{{jobspec.Add, "a"}, {jobspec.Add, "b"}, {jobspec.Replace, "a"}, {jobspec.Disable, "b"}, {jobspec.Enable, "b"}, {jobspec.Remove, "a"}} {
		b.commit(step.action, step.job)
	}
	all, _, err := b.open(false).Intervals()
	must(t, err)
	type span struct {
		job          jobspec.Name
		seq          int64
		since, until int // minutes after genesis; until 0: in force
	}
	var got []span
	for _, i := range all {
		s := span{job: i.Job, seq: i.Seq, since: int(i.Since.Sub(storetest.Epoch()).Minutes())}
		if !i.Until.IsZero() {
			s.until = int(i.Until.Sub(storetest.Epoch()).Minutes())
		}
		got = append(got, s)
	}
	want := []span{{"a", 1, 1, 3}, {"b", 2, 2, 4}, {"a", 3, 3, 6}, {"b", 2, 5, 0}}
	if len(got) != len(want) {
		t.Fatalf("got %v\nwant %v", got, want)
	}
	for n := range want {
		if got[n] != want[n] {
			t.Errorf("interval %d: got %v, want %v", n, got[n], want[n])
		}
	}
}

// What ended before the service was last started is covered already.
func TestIntervalsLeaveOutWhatEndedBeforeTheLastStart(t *testing.T) {
	b := newBench(t)
	b.commit(jobspec.Add, "a")
	b.commit(jobspec.Remove, "a")
	b.commit(jobspec.Add, "b")
	e := b.open(true)
	must(t, e.NoteBoot(1))
	if _, err := e.Append(&record.Leaf{Kind: record.Boot, Time: record.Stamp(b.now.Add(time.Hour))}); err != nil {
		t.Fatal(err)
	}
	all, _, err := e.Intervals()
	must(t, err)
	if len(all) != 1 || all[0].Job != "b" {
		t.Errorf("got %+v", all)
	}
}

func TestAnOpThatMayNotBePutInForceIsRefusedAndRecorded(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(b *bench, op *jobspec.Op)
		ns    string
		want  jobspec.Code
	}{
		"signed for another namespace":     {nil, jobspec.RootNamespace, jobspec.CodeNamespaceMismatch},
		"not the next one":                 {func(_ *bench, op *jobspec.Op) { op.Prev = jobspec.DigestOf([]byte("x")) }, "", jobspec.CodeHeadMoved},
		"made too far ahead":               {func(b *bench, op *jobspec.Op) { op.Created = jobspec.InstantOf(b.now.Add(maxAhead + time.Minute)) }, "", jobspec.CodeCreatedInvalid},
		"offered too late":                 {func(b *bench, op *jobspec.Op) { op.ApplyBefore = jobspec.InstantOf(b.now.Add(-time.Second)) }, "", jobspec.CodeApplyBeforePassed},
		"for another host":                 {func(_ *bench, op *jobspec.Op) { op.Host = "ffffffffffffffffffffffffffffffff" }, "", jobspec.CodeHostMismatch},
		"of another principal":             {func(_ *bench, op *jobspec.Op) { op.Principal = "bob" }, "", jobspec.CodeKeyNotForPrincipal},
		"of a principal without a ceiling": {nil, "", jobspec.CodePrincipalUnknown},
		"with a checkpoint of nothing":     {func(_ *bench, op *jobspec.Op) { op.Checkpoint = "log\n7\n" }, "", jobspec.CodeCheckpointInvalid},
		"with a checkpoint of another key": {func(b *bench, op *jobspec.Op) { op.Checkpoint = strangeNote(b.t) }, "", jobspec.CodeCheckpointInvalid},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			e := b.open(true)
			op := storetest.Next(e.writer.State(), jobspec.Add, "job")
			if c.spoil != nil {
				c.spoil(b, op)
			}
			ns := c.ns
			if ns == "" {
				ns = jobspec.JobNamespace(op.Tier, op.Net)
			}
			raw := storetest.Encode(t, op)
			b.refused(e, api.Submission{Op: raw, Sig: b.sign(ns, raw)}, c.want)
		})
	}
}

func TestBytesThatAreNotSignedAreRefused(t *testing.T) {
	b := newBench(t)
	e := b.open(true)
	op := storetest.Next(e.writer.State(), jobspec.Add, "job")
	raw := storetest.Encode(t, op)
	sig := b.sign(jobspec.JobNamespace(op.Tier, op.Net), raw)
	sig[len(sig)-1] ^= 1
	b.refused(e, api.Submission{Op: raw, Sig: sig}, jobspec.CodeSigInvalid)
	b.refused(e, api.Submission{Op: raw}, jobspec.CodeSigMissing)
	b.refused(e, api.Submission{Op: append(raw, ' '), Sig: sig}, jobspec.CodeSpecMalformed)
}

// refused submits, and looks whether the chain stayed as it was and the ledger
// tells of it.
func (b *bench) refused(e *Engine, s api.Submission, want jobspec.Code) {
	b.t.Helper()
	before, leaves := e.writer.State().Len(), e.history.Len()
	_, err := e.Submit(b.t.Context(), s)
	var refusal *api.Error
	if !errors.As(err, &refusal) || refusal.ErrCode != want || refusal.Help == "" {
		b.t.Errorf("got %v, want %s", err, want)
	}
	if e.writer.State().Len() != before {
		b.t.Error("the op is in the chain")
	}
	var last store.Leaf
	must(b.t, e.history.Scan(leaves, func(l store.Leaf) error { last = l; return nil }))
	if last.Leaf == nil || last.Kind != record.OpRefused || last.Op != jobspec.DigestOf(s.Op) || last.Reasons[0].Code != want {
		b.t.Errorf("the ledger says %+v", last.Leaf)
	}
}

func TestAnOpThatOnlyReducesIsPutInForceWithoutAPolicy(t *testing.T) {
	b := newBench(t)
	b.commit(jobspec.Add, "job")
	must(t, os.Remove(b.dirs.Policy()))
	e := b.open(true)
	raw := storetest.Encode(t, storetest.Next(e.writer.State(), jobspec.Disable, "job"))
	done, err := e.Submit(t.Context(), api.Submission{Op: raw, Sig: b.sign(jobspec.ManageNamespace, raw)})
	if err != nil || done.Seq != 2 || done.Op != jobspec.DigestOf(raw) {
		t.Fatalf("%+v, %v", done, err)
	}
	pin, err := store.ReadPin(b.dirs)
	if err != nil || pin.Seq != 2 || pin.Digest != done.Op {
		t.Errorf("the pin is at %d, %v", pin.Seq, err)
	}
	if v, err := e.Current("job"); err != nil || v.Refused != jobspec.CodeJobDisabled {
		t.Errorf("%s, %v", v.Refused, err)
	}
}
