package store_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/record"
	"github.com/sbxcron/sbxcron/store"
	"github.com/sbxcron/sbxcron/store/storetest"
)

const childFlag = "-store-child"

// killDisk counts steps and kills its own process before or after one of them.
type killDisk struct {
	store.RealDisk
	at, step int // the step to die at, from 1, in half steps: odd before, even after
}

func (k *killDisk) around(do func() error) error {
	k.tick()
	err := do()
	k.tick()
	return err
}

func (k *killDisk) tick() {
	k.step++
	if k.step == k.at {
		self, _ := os.FindProcess(os.Getpid())
		self.Kill()
		select {}
	}
}

func (k *killDisk) WriteAll(f *os.File, b []byte) error {
	return k.around(func() error {
		// Half a write is what a crash leaves; so it is two here.
		if err := k.RealDisk.WriteAll(f, b[:len(b)/2]); err != nil {
			return err
		}
		k.tick()
		return k.RealDisk.WriteAll(f, b[len(b)/2:])
	})
}
func (k *killDisk) Sync(f *os.File) error {
	return k.around(func() error { return k.RealDisk.Sync(f) })
}
func (k *killDisk) Rename(a, b string) error {
	return k.around(func() error { return k.RealDisk.Rename(a, b) })
}
func (k *killDisk) SyncDir(d string) error {
	return k.around(func() error { return k.RealDisk.SyncDir(d) })
}
func (k *killDisk) Commit(tx func() error) error {
	return k.around(func() error { return k.RealDisk.Commit(tx) })
}
func (k *killDisk) DataSync(f *os.File) error {
	return k.around(func() error { return k.RealDisk.DataSync(f) })
}

// child runs the test binary as another process with a task over the root of d.
func child(t *testing.T, d store.Dirs, task string, args ...string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	root := strings.TrimSuffix(d.Conf, "/conf")
	return exec.Command(exe, append([]string{childFlag, root, task}, args...)...)
}

// killed reports whether a finished child died of SIGKILL; any other failure
// ends the test.
func killed(t *testing.T, cmd *exec.Cmd) bool {
	t.Helper()
	_, dead := killedWith(t, cmd)
	return dead
}

// killedWith is killed, with what the child has said before.
func killedWith(t *testing.T, cmd *exec.Cmd) (said string, dead bool) {
	t.Helper()
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL {
		return string(out), true
	}
	if err != nil {
		t.Fatalf("child: %v\n%s", err, out)
	}
	return string(out), false
}

// runChild is the child's main.
func runChild(args []string) int {
	d, err := store.RootDirs(args[0], os.Getuid())
	if err != nil {
		return report(err)
	}
	if args[1] == "try" {
		_, err := store.TryLock(d, 100*time.Millisecond)
		return report(err)
	}
	lock, err := store.TryLock(d, store.LockWait)
	if err != nil {
		return report(err)
	}
	at := 0
	if len(args) > 2 {
		at, _ = strconv.Atoi(args[2])
	}
	disk := &killDisk{at: at}
	switch args[1] {
	case "hold":
		fmt.Println("held")
		time.Sleep(time.Minute)
	case "begin":
		err = childBegin(d, lock, disk)
	case "commit":
		err = childCommit(d, lock, disk)
	case "reopen":
		err = childReopen(d, lock)
	case "commits":
		err = childCommits(d, lock)
	case "append":
		err = childAppend(d, lock, disk)
	case "derive":
		err = childDerive(d, lock, at)
	case "log":
		err = childLog(d, lock, disk)
	}
	return report(err)
}

func report(err error) int {
	if err != nil {
		fmt.Println(err)
		return 1
	}
	return 0
}

func childBegin(d store.Dirs, lock *store.Lock, disk store.Disk) error {
	op, err := storetest.Genesis(nopTB{}, d).Encode()
	if err != nil {
		return err
	}
	_, err = store.Begin(d, lock, disk, op, []byte("sig"), storetest.Epoch(), 0)
	return err
}

func childCommit(d store.Dirs, lock *store.Lock, disk store.Disk) error {
	w, err := store.OpenWriter(d, lock, disk)
	if err != nil {
		return err
	}
	return commitNext(w)
}

// childReopen opens all that can be opened and commits: whatever the files hold,
// it must end by itself.
func childReopen(d store.Dirs, lock *store.Lock) error {
	h, err := store.OpenHistory(d)
	if err != nil {
		return err
	}
	r, err := store.OpenRuns(d, h, "boot")
	if err != nil {
		return err
	}
	if err := r.Close(); err != nil {
		return err
	}
	w, err := store.OpenWriter(d, lock, store.RealDisk{})
	if err != nil {
		return err
	}
	defer w.Close()
	return commitNext(w)
}

// childCommits commits until it is killed and says so after each.
func childCommits(d store.Dirs, lock *store.Lock) error {
	w, err := store.OpenWriter(d, lock, store.RealDisk{})
	if err != nil {
		return err
	}
	for {
		if err := commitNext(w); err != nil {
			return err
		}
		fmt.Println(w.State().Pin.Seq)
	}
}

func commitNext(w *store.Writer) error {
	s := w.State()
	op, err := storetest.Next(s, jobspec.Add, jobspec.Name(fmt.Sprintf("job%d", s.View.Next))).Encode()
	if err != nil {
		return err
	}
	_, err = w.Commit(op, []byte("sig"), storetest.Epoch(), 0)
	return err
}

func childAppend(d store.Dirs, lock *store.Lock, disk store.Disk) error {
	l, err := store.OpenLedger(d, lock, disk)
	if err != nil {
		return err
	}
	first, err := l.Append(storetest.Leaf(record.Boot, storetest.Epoch()), storetest.Leaf(record.Alert, storetest.Epoch()))
	if err == nil {
		fmt.Println("appended", first)
	}
	return err
}

// nopTB lets the child, which is no test, use the helpers; they call only Helper and Fatal.
type nopTB struct{ testing.TB }

func (nopTB) Helper()           {}
func (nopTB) Fatal(args ...any) { fmt.Println(args...); os.Exit(1) }
