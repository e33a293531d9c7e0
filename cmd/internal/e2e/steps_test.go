//go:build linux

package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"sync"
	"syscall"

	"github.com/sbxcron/sbxcron/cmd/internal/api"
	"github.com/sbxcron/sbxcron/cmd/internal/client"
	"github.com/sbxcron/sbxcron/cmd/internal/config"
	"github.com/sbxcron/sbxcron/cmd/internal/daemon"
	"github.com/sbxcron/sbxcron/cmd/internal/engine"
	"github.com/sbxcron/sbxcron/cmd/internal/examine"
	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/record"
	"github.com/sbxcron/sbxcron/runner"
	"github.com/sbxcron/sbxcron/runner/bwrap"
	"github.com/sbxcron/sbxcron/runner/pin"
	"github.com/sbxcron/sbxcron/scheduler"
	"github.com/sbxcron/sbxcron/store"
)

// steps counts what the program does to disk, ledger and sandbox, and kills it
// at the asked-for step, as kill -9 would.
type steps struct {
	mu   sync.Mutex
	n    int
	kill int
	log  *os.File
	halt string // folder: see pause
	from string // steps are counted from the first of this name on; "": from the start
}

func newSteps() *steps {
	s := &steps{}
	s.kill, _ = strconv.Atoi(os.Getenv(envKill)) // absent: never
	s.halt, s.from = os.Getenv(envHalt), os.Getenv(envFrom)
	if name := os.Getenv(envSteps); name != "" {
		s.log, _ = os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	}
	return s
}

// at is called before and after each step.
func (s *steps) at(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.from != "" && s.from != name {
		return
	}
	s.from = ""
	s.n++
	if s.log != nil {
		fmt.Fprintf(s.log, "%d %s\n", s.n, name)
	}
	s.pause(name)
	if s.n == s.kill {
		syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	}
}

type steppedDisk struct {
	store.Disk
	s *steps
}

func (d steppedDisk) WriteAll(f *os.File, data []byte) error {
	d.s.at("before write")
	defer d.s.at("after write")
	return d.Disk.WriteAll(f, data)
}

func (d steppedDisk) Sync(f *os.File) error {
	d.s.at("before sync")
	defer d.s.at("after sync")
	return d.Disk.Sync(f)
}

func (d steppedDisk) Rename(from, to string) error {
	d.s.at("before rename")
	defer d.s.at("after rename")
	return d.Disk.Rename(from, to)
}

func (d steppedDisk) SyncDir(dir string) error {
	d.s.at("before syncdir")
	defer d.s.at("after syncdir")
	return d.Disk.SyncDir(dir)
}

func (d steppedDisk) Commit(transaction func() error) error {
	d.s.at("before commit")
	defer d.s.at("after commit")
	return d.Disk.Commit(transaction)
}

func (d steppedDisk) DataSync(f *os.File) error {
	d.s.at("before datasync")
	defer d.s.at("after datasync")
	return d.Disk.DataSync(f)
}

type steppedLedger struct {
	scheduler.Ledger
	s *steps
}

func (l steppedLedger) Append(rows ...*record.Leaf) (int64, error) {
	for _, r := range rows {
		l.s.at("before leaf " + string(r.Kind))
	}
	defer l.s.at("after leaf")
	return l.Ledger.Append(rows...)
}

type steppedSandbox struct {
	daemon.Sandbox
	s *steps
}

// Probe is asked when the paths of a spec are open and hashed.
func (b steppedSandbox) Probe(ctx context.Context) jobspec.Sandbox {
	b.s.at("before probe")
	return b.Sandbox.Probe(ctx)
}

func (b steppedSandbox) Prepare(ctx context.Context, plan *runner.Plan) (runner.Armed, error) {
	b.s.at("before prepare")
	defer b.s.at("after prepare")
	a, err := b.Sandbox.Prepare(ctx, plan)
	if err != nil {
		return nil, err
	}
	return steppedArmed{a, b.s}, nil
}

type steppedArmed struct {
	runner.Armed
	s *steps
}

func (a steppedArmed) Release() (runner.Process, error) {
	a.s.at("before release")
	defer a.s.at("after release")
	p, err := a.Armed.Release()
	if err != nil {
		return nil, err
	}
	return steppedProcess{p, a.s}, nil
}

type steppedProcess struct {
	runner.Process
	s *steps
}

func (p steppedProcess) Wait() record.End {
	defer p.s.at("after wait")
	return p.Process.Wait()
}

// serviceOn is the command line's way to an installation, with the steps around
// its disk.
func serviceOn(clock shiftedClock, s *steps) func(context.Context, string) (api.Service, error) {
	return func(ctx context.Context, root string) (api.Service, error) {
		site, err := config.Find(root)
		if err != nil {
			return nil, err
		}
		c, err := client.Dial(ctx, site.Socket(), site.UID)
		if err == nil {
			return c, nil
		}
		if api.Wrap(err).ErrCode != jobspec.CodeServiceDown {
			return nil, err
		}
		dir, err := os.MkdirTemp("", "e2e-run-")
		if err != nil {
			return nil, err
		}
		b, err := bwrap.New(bwrap.Options{RunDir: dir, Now: clock.Now})
		if err != nil {
			return nil, err
		}
		binary, err := os.Executable()
		if err != nil {
			return nil, err
		}
		x := &examine.Examiner{Site: site, Sandbox: b, Cache: pin.NewCache(clock.Now), Bwrap: bwrap.Program, Binary: binary, Now: clock.Now}
		open := func() (*engine.Engine, error) {
			return engine.Open(engine.Options{Site: site, Clock: clock.Now, BootID: daemon.BootID(), Version: "e2e", Examiner: x,
				Outputs: store.NewOutputs(site.Dirs, nil), Disk: steppedDisk{store.RealDisk{}, s}})
		}
		return engine.NewVisitor(open, func() error { return errors.Join(b.Close(), os.RemoveAll(dir)) }), nil
	}
}
