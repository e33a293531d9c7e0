package store_test

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/store"
	"github.com/sbxcron/sbxcron/store/storetest"
)

func TestKilledAtEachStepOfACommitTheOpNeverWasOrIsInForce(t *testing.T) {
	was, wasNot := 0, 0
	for step := 1; ; step++ {
		d := storetest.Root(t, "", "")
		lock, err := store.TryLock(d, store.LockWait)
		must(t, err)
		must(t, storetest.Begin(t, d, lock, nil).Close())
		must(t, lock.Close())
		died := killed(t, child(t, d, "commit", strconv.Itoa(step)))

		lock = storetest.Lock(t, d)
		w, err := store.OpenWriter(d, lock, store.RealDisk{})
		must(t, err)
		if len(w.State().Pending) > 0 {
			if _, err := w.AdvancePin(storetest.Epoch(), 0); err != nil {
				t.Fatalf("step %d: %v", step, err)
			}
		}
		s := w.State()
		if _, there := s.View.Job("job1"); there {
			was++
		} else {
			wasNot++
		}
		must(t, commitNext(w))
		must(t, w.Close())
		if _, err := store.Load(d); err != nil {
			t.Fatalf("step %d: %v", step, err)
		}
		if !died {
			if s.Pin.Seq != 1 {
				t.Fatal("the commit that ended is not pinned")
			}
			break
		}
	}
	if was < 5 || wasNot == 0 {
		t.Errorf("%d times in force, %d times not: not every step was met", was, wasNot)
	}
}

func TestKilledAtEachStepOfInitGenesisCanBeResumed(t *testing.T) {
	for step := 1; ; step++ {
		d := storetest.Root(t, "", "")
		died := killed(t, child(t, d, "begin", strconv.Itoa(step)))
		if !died {
			break
		}
		if _, err := store.Load(d); err != nil {
			wantFault(t, err, jobspec.CodeInitIncomplete, store.NoSeq)
			lock := storetest.Lock(t, d)
			storetest.Begin(t, d, lock, nil).Close()
		}
		s, err := store.Load(d)
		must(t, err)
		if s.Pin.Seq != 0 || s.View.Next != 1 {
			t.Fatalf("step %d: pin %+v", step, s.Pin)
		}
	}
}

func TestKilledAtAnyTimeNoAcknowledgedOpIsLost(t *testing.T) {
	d := storetest.Root(t, "", "")
	lock, err := store.TryLock(d, store.LockWait)
	must(t, err)
	must(t, storetest.Begin(t, d, lock, nil).Close())
	must(t, lock.Close())
	for round := range 12 {
		acknowledged := commitsUntilKilled(t, d, time.Duration(round*3)*time.Millisecond)
		lock, err := store.TryLock(d, store.LockWait)
		must(t, err)
		w, err := store.OpenWriter(d, lock, store.RealDisk{})
		must(t, err)
		if w.State().Pin.Seq < acknowledged {
			t.Fatalf("round %d: pin at %d, %d was acknowledged", round, w.State().Pin.Seq, acknowledged)
		}
		for len(w.State().Pending) > 0 {
			_, err := w.AdvancePin(storetest.Epoch(), 0)
			must(t, err)
		}
		must(t, errors.Join(w.Close(), lock.Close()))
	}
	s, err := store.Load(d)
	must(t, err)
	if s.Pin.Seq < 12 {
		t.Errorf("only %d ops were committed in all", s.Pin.Seq)
	}
}

// commitsUntilKilled lets a child commit, kills it some time after its first
// commit, and returns the last seq that it acknowledged.
func commitsUntilKilled(t *testing.T, d store.Dirs, after time.Duration) (acknowledged int64) {
	t.Helper()
	cmd := child(t, d, "commits")
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if acknowledged == 0 {
			time.AfterFunc(after, func() { cmd.Process.Kill() })
		}
		if acknowledged, err = strconv.ParseInt(lines.Text(), 10, 64); err != nil {
			t.Fatalf("child says %q", lines.Text())
		}
	}
	cmd.Wait()
	return acknowledged
}

func TestCommitRefusesWhatDoesNotExtendTheHead(t *testing.T) {
	d := storetest.Root(t, "", "")
	w := storetest.Begin(t, d, storetest.Lock(t, d), nil)
	storetest.Commit(t, w, storetest.Next(w.State(), jobspec.Add, "one"), nil)
	for name, c := range map[string]struct {
		change func(op *jobspec.Op)
		code   jobspec.Code
	}{
		"seq ahead":      {func(op *jobspec.Op) { op.Seq++ }, jobspec.CodeSeqInvalid},
		"another prev":   {func(op *jobspec.Op) { op.Prev[0] ^= 1 }, jobspec.CodeHeadMoved},
		"another host":   {func(op *jobspec.Op) { op.Host = "ffffffffffffffffffffffffffffffff" }, jobspec.CodeHostMismatch},
		"job is there":   {func(op *jobspec.Op) { op.Job = "one" }, jobspec.CodeJobExists},
		"unknown action": {func(op *jobspec.Op) { op.Action = "rebase" }, jobspec.CodeActionUnknown},
	} {
		op := storetest.Next(w.State(), jobspec.Add, "two")
		c.change(op)
		_, err := w.Commit(storetest.Encode(t, op), []byte("sig"), storetest.Epoch(), 0)
		if code(err) != string(c.code) {
			t.Errorf("%s: %v, want %s", name, err, c.code)
		}
	}
	if _, err := w.Commit([]byte(`{"type": "sbxcron.op/v1"}`), []byte("sig"), storetest.Epoch(), 0); err == nil {
		t.Error("bytes that are not canonical are committed")
	}
	if _, err := w.Commit(storetest.Encode(t, storetest.Next(w.State(), jobspec.Add, "two")), nil, storetest.Epoch(), 0); err == nil {
		t.Error("an op without signature is committed")
	}
	// None of the refusals hurt.
	storetest.Commit(t, w, storetest.Next(w.State(), jobspec.Add, "two"), nil)
}

func TestPinKeepsTheHighestPolicySerial(t *testing.T) {
	d := storetest.Root(t, "", "")
	w := storetest.Begin(t, d, storetest.Lock(t, d), nil)
	for i, serial := range []int64{4, 2, 7} {
		op := storetest.Encode(t, storetest.Next(w.State(), jobspec.Add, jobspec.Name(fmt.Sprintf("j%d", i))))
		_, err := w.Commit(op, []byte("sig"), storetest.Epoch(), serial)
		must(t, err)
		if want := []int64{4, 4, 7}[i]; w.State().Pin.PolicySerial != want {
			t.Errorf("serial %d, want %d", w.State().Pin.PolicySerial, want)
		}
	}
}

func TestOpsBeyondThePinWaitToBeJudged(t *testing.T) {
	d := chainOf(t)
	s, err := store.Load(d)
	must(t, err)
	next := storetest.Encode(t, storetest.Next(s, jobspec.Add, "three"))
	edit(t, d, func(ops *bolt.Bucket) error {
		value := append([]byte{1, 1}, uvarint(len(next))...)
		value = append(value, 3)
		return ops.Put(key(chainLen), append(append(value, next...), "sig"...))
	})
	w, err := store.OpenWriter(d, storetest.Lock(t, d), store.RealDisk{})
	must(t, err)
	defer w.Close()
	if _, known := w.State().View.Job("three"); known || len(w.State().Pending) != 1 {
		t.Fatal("an op beyond the pin is in force")
	}
	if _, err := w.Entry(chainLen); code(err) != string(jobspec.CodeSeqInvalid) {
		t.Fatalf("an op beyond the pin can be had to run: %v", err)
	}
	if _, err := w.Commit(next, []byte("sig"), storetest.Epoch(), 0); code(err) != string(jobspec.CodeChainBroken) {
		t.Fatal(err)
	}
	after, err := w.AdvancePin(storetest.Epoch(), 0)
	must(t, err)
	if _, known := after.View.Job("three"); !known || after.Pin.Seq != chainLen || len(after.Pending) != 0 {
		t.Fatalf("state after the pin moved: %+v", after.Pin)
	}
}

func uvarint(n int) []byte {
	var b []byte
	for ; n >= 0x80; n >>= 7 {
		b = append(b, byte(n)|0x80)
	}
	return append(b, byte(n))
}

func TestOpBeyondThePinThatDoesNotFitIsNeverPinned(t *testing.T) {
	d := chainOf(t)
	edit(t, d, func(ops *bolt.Bucket) error {
		return ops.Put(key(chainLen), append([]byte(nil), ops.Get(key(chainLen-1))...))
	})
	w, err := store.OpenWriter(d, storetest.Lock(t, d), store.RealDisk{})
	must(t, err)
	defer w.Close()
	if _, err := w.AdvancePin(storetest.Epoch(), 0); !errors.As(err, new(*jobspec.OpError)) {
		t.Fatal(err)
	}
	if pin, err := store.ReadPin(d); err != nil || pin.Seq != chainLen-1 {
		t.Errorf("the pin moved: %+v, %v", pin, err)
	}
}

func TestManyOpsBeyondThePinAreRefused(t *testing.T) {
	d := chainOf(t)
	edit(t, d, func(ops *bolt.Bucket) error {
		for i := chainLen; i < chainLen+65; i++ {
			if err := ops.Put(key(i), append([]byte(nil), ops.Get(key(1))...)); err != nil {
				return err
			}
		}
		return nil
	})
	_, err := store.Load(d)
	wantFault(t, err, jobspec.CodeChainBroken, -2)
}

// failDisk fails one kind of step.
type failDisk struct {
	store.RealDisk
	commit, late, rename, sync bool
}

var errDisk = errors.New("input/output error")

func (f *failDisk) Commit(tx func() error) error {
	if f.commit {
		return errDisk
	}
	if err := f.RealDisk.Commit(tx); err != nil || !f.late {
		return err
	}
	return errDisk // as when the second sync of a commit fails: the data is there
}

func (f *failDisk) Rename(a, b string) error {
	if f.rename {
		return errDisk
	}
	return f.RealDisk.Rename(a, b)
}

func (f *failDisk) DataSync(file *os.File) error {
	if f.sync {
		return errDisk
	}
	return f.RealDisk.DataSync(file)
}

func TestCommitErrorIsFailStop(t *testing.T) {
	for name, disk := range map[string]*failDisk{
		"append fails": {commit: true}, "append fails but is there": {late: true}, "pin fails": {rename: true},
	} {
		t.Run(name, func(t *testing.T) {
			d := storetest.Root(t, "", "")
			lock := storetest.Lock(t, d)
			must(t, storetest.Begin(t, d, lock, nil).Close())
			w, err := store.OpenWriter(d, lock, disk)
			must(t, err)
			unknown := new(*store.UnknownStateError)
			if err := commitNext(w); !errors.As(err, unknown) || !errors.Is(err, errDisk) {
				t.Fatal(err)
			}
			*disk = failDisk{}
			if err := commitNext(w); !errors.As(err, unknown) {
				t.Fatalf("works on after a failure: %v", err)
			}
			must(t, w.Close())
			w, err = store.OpenWriter(d, lock, disk)
			must(t, err)
			defer w.Close()
			for len(w.State().Pending) > 0 {
				_, err := w.AdvancePin(storetest.Epoch(), 0)
				must(t, err)
			}
			must(t, commitNext(w))
		})
	}
}

func TestWriterNeedsTheLockOfItsOwnRoot(t *testing.T) {
	d, other := chainOf(t), storetest.Dirs(t)
	for name, lock := range map[string]*store.Lock{"none": nil, "another root's": storetest.Lock(t, other)} {
		if w, err := store.OpenWriter(d, lock, store.RealDisk{}); err == nil {
			w.Close()
			t.Errorf("%s: opened", name)
		}
		if _, err := store.OpenLedger(d, lock, store.RealDisk{}); err == nil {
			t.Errorf("%s: ledger opened", name)
		}
	}
	lock := storetest.Lock(t, d)
	w, err := store.OpenWriter(d, lock, store.RealDisk{})
	must(t, err)
	defer w.Close()
	must(t, lock.Close())
	if err := commitNext(w); err == nil {
		t.Error("commits after the lock was given back")
	}
}

func TestBeginRefusesAnExistingInstallation(t *testing.T) {
	d := chainOf(t)
	lock := storetest.Lock(t, d)
	op := storetest.Encode(t, storetest.Genesis(t, d))
	if _, err := store.Begin(d, lock, store.RealDisk{}, op, []byte("sig"), storetest.Epoch(), 0); !errors.Is(err, fs.ErrExist) {
		t.Errorf("beside a pin: %v", err)
	}
	must(t, os.Remove(d.Pin()))
	_, err := store.Begin(d, lock, store.RealDisk{}, op, []byte("sig"), storetest.Epoch(), 0)
	wantFault(t, err, jobspec.CodePinMissing, store.NoSeq)
}

func TestBeginRefusesAnOpThatIsNoGenesis(t *testing.T) {
	d := storetest.Root(t, "", "")
	lock := storetest.Lock(t, d)
	s := &store.State{Host: storetest.Host, View: &jobspec.View{}}
	op := storetest.Encode(t, storetest.Next(s, jobspec.Add, "one"))
	if _, err := store.Begin(d, lock, store.RealDisk{}, op, []byte("sig"), storetest.Epoch(), 0); err == nil {
		t.Error("an add begins a chain")
	}
}

func TestSecondProcessIsToldWhoHoldsTheLock(t *testing.T) {
	d := storetest.Dirs(t)
	holder := child(t, d, "hold")
	out, err := holder.StdoutPipe()
	must(t, err)
	must(t, holder.Start())
	defer func() { holder.Process.Kill(); holder.Wait() }()
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "held\n" {
		t.Fatalf("%q, %v", line, err)
	}
	begin := time.Now()
	_, err = store.TryLock(d, 300*time.Millisecond)
	var locked *store.LockedError
	if !errors.As(err, &locked) || locked.PID != holder.Process.Pid || locked.Code() != "store_locked" {
		t.Fatalf("%v, want the pid %d", err, holder.Process.Pid)
	}
	if waited := time.Since(begin); waited < 300*time.Millisecond || waited > 5*time.Second {
		t.Errorf("waited %s", waited)
	}
	holder.Process.Kill()
	holder.Wait()
	l, err := store.TryLock(d, store.LockWait)
	must(t, err)
	defer l.Close()
	if b, err := child(t, d, "try").CombinedOutput(); err == nil || !strings.Contains(string(b), strconv.Itoa(os.Getpid())) {
		t.Errorf("the child got the lock or does not know the holder: %s", b)
	}
}

func TestReaderIsToldWhenTheChainIsOpenForWriting(t *testing.T) {
	d := chainOf(t)
	w, err := store.OpenWriter(d, storetest.Lock(t, d), store.RealDisk{})
	must(t, err)
	defer w.Close()
	_, err = store.Load(d)
	var locked *store.LockedError
	if !errors.As(err, &locked) || locked.PID != os.Getpid() {
		t.Fatal(err)
	}
}
