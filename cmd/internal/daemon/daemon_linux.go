package daemon

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"runtime/debug"
	"sync"
	"time"

	"github.com/sbxcron/sbxcron/cmd/internal/config"
	"github.com/sbxcron/sbxcron/cmd/internal/engine"
	"github.com/sbxcron/sbxcron/cmd/internal/examine"
	"github.com/sbxcron/sbxcron/cmd/internal/notify/send"
	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/record"
	"github.com/sbxcron/sbxcron/runner"
	"github.com/sbxcron/sbxcron/runner/bwrap"
	"github.com/sbxcron/sbxcron/runner/landlock"
	"github.com/sbxcron/sbxcron/runner/pin"
	"github.com/sbxcron/sbxcron/runner/throwaway"
	"github.com/sbxcron/sbxcron/scheduler"
	"github.com/sbxcron/sbxcron/store"
)

// pruneEvery is how often outputs over age or size are looked for.
const pruneEvery = time.Hour

// Options are the flags of the service, and what its main wires.
type Options struct {
	Site        config.Site
	Version     string
	MaxParallel int           // 0: twice the number of CPUs
	Drain       time.Duration // 0: the scheduler's default
	Log         *slog.Logger
	Manager     string // NOTIFY_SOCKET, "" for none
	Parts       Parts
}

// Parts are what the service is made of. Real fills them; a test's own main
// may wrap them.
type Parts struct {
	Clock scheduler.Clock
	// Synchronised is whether the kernel says that the wall clock is.
	Synchronised func() bool
	Disk         store.Disk
	Backend      func(runDir string, now func() time.Time) (Sandbox, error)
	// Landlock is the backend for those who accept it by name. Root has none.
	Landlock func(runDir string, now func() time.Time) (Sandbox, error)
	Ledger   func(scheduler.Ledger) scheduler.Ledger
	Alarm    func(scheduler.Clock) scheduler.Alarm

	Foresight Foresight

	CheckpointEvery time.Duration
	Syslog          string // socket of the system's log, "" for none
}

// Sandbox is a backend that lives as long as the service.
type Sandbox interface {
	runner.Backend
	Host() runner.Host
	Close() error
}

// Real are the parts of the shipped program.
func Real() Parts {
	return Parts{
		Clock: scheduler.SystemClock{}, Synchronised: scheduler.ClockSynchronised,
		Disk: store.RealDisk{},
		Backend: func(runDir string, now func() time.Time) (Sandbox, error) {
			return bwrap.New(bwrap.Options{RunDir: runDir, Now: now})
		},
		Landlock: func(runDir string, now func() time.Time) (Sandbox, error) {
			return landlock.New(landlock.Options{RunDir: runDir, Now: now})
		},
		Ledger: func(l scheduler.Ledger) scheduler.Ledger { return l },
		Alarm:  alarm,

		Foresight: RealForesight(),

		CheckpointEvery: checkpointEvery, Syslog: Syslog,
	}
}

// alarm is the precise timer, or where the kernel gives none the runtime's.
func alarm(c scheduler.Clock) scheduler.Alarm {
	t, err := scheduler.NewPreciseTimer(c)
	if err != nil {
		return scheduler.NewTimer(c)
	}
	return t
}

// Run is the life of the service: until ctx ends, or for good. The second value
// on signals ends it at once.
func Run(ctx context.Context, o Options, signals <-chan os.Signal) error {
	if o.Site.System() {
		if err := shedCapabilities(); err != nil {
			return err
		}
	}
	// A launch makes a few hundred KiB of garbage, and the heap is small: collecting
	// at each doubling took a tenth of the service's time.
	debug.SetGCPercent(400)
	d := &daemon{Options: o}
	if err := d.open(); err != nil {
		return errors.Join(err, d.close())
	}
	err := d.serve(ctx, signals)
	return errors.Join(err, d.close())
}

type daemon struct {
	Options
	attended bool // nothing is due by itself: see Attend
	svc      *Service
	sandbox  Sandbox
	landlock Sandbox // nil where there is none
	outputs  *store.Outputs
	openers  pin.Openers
	uids     *throwaway.Pool
	sender   *send.Sender // nil where nobody is told
	sched    *scheduler.Scheduler
	unsigned bool // told that checkpoints fail
	unheard  bool // told that the system's log does not take them
}

func (d *daemon) open() error {
	binary, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find own program: %w", err)
	}
	x := &examine.Examiner{Site: d.Site, Cache: pin.NewCache(d.Parts.Clock.Now), Recent: &config.Recent{}, Places: &pin.Places{}, Openers: &d.openers, Bwrap: bwrap.Program, Binary: binary}
	d.outputs = store.NewOutputs(d.Site.Dirs, rand.Reader)
	locked := func() error { // before that RUN may be another service's, whose runs need it
		s, err := d.Parts.Backend(d.Site.Run, d.Parts.Clock.Now)
		if err != nil {
			return err
		}
		d.sandbox, x.Sandbox = s, s
		return d.openLandlock(x)
	}
	e, err := engine.Open(engine.Options{Site: d.Site, Clock: d.Parts.Clock.Now, Boot: d.Parts.Clock.Boot, Synchronised: d.Parts.Synchronised, BootID: BootID(), Version: d.Version,
		Examiner: x, Outputs: d.outputs, Disk: d.Parts.Disk, Serve: true, Locked: locked, AuditKeys: d.auditKeys()})
	if err != nil {
		return err
	}
	x.Now = e.Now
	d.tellReaped()
	d.svc = &Service{Engine: e, since: d.Parts.Clock.Now(), chainChanged: make(chan struct{}, 1)}
	e.Attach(d.svc)
	d.uids = throwaway.New(throwaway.Sources{}, startingPoint())
	if err := d.openNotices(); err != nil {
		return err
	}
	if err := e.NoteBoot(os.Getpid()); err != nil && e.Proven() == nil {
		return err
	}
	return d.openScheduler()
}

// tellReaped logs what an earlier service had left running. The ledger has these
// runs as lost.
func (d *daemon) tellReaped() {
	if s, ok := d.sandbox.(interface{ Reaped() []string }); ok {
		for _, run := range s.Reaped() {
			d.Log.Warn("ended a run that an earlier service had left", "run", run)
		}
	}
}

// openLandlock opens the weaker backend where jobs may be run by it.
func (d *daemon) openLandlock(x *examine.Examiner) error {
	if d.Site.System() || d.Parts.Landlock == nil {
		return nil
	}
	s, err := d.Parts.Landlock(d.Site.Run, d.Parts.Clock.Now)
	if err == nil {
		d.landlock, x.Landlock = s, s
	}
	return err
}

// backends are those that a run can be prepared by, by name.
func (d *daemon) backends() map[string]runner.Backend {
	all := map[string]runner.Backend{d.sandbox.Name(): d.sandbox}
	if d.landlock != nil {
		all[d.landlock.Name()] = d.landlock
	}
	return all
}

// openScheduler makes the scheduler, but where the chain cannot be proven.
func (d *daemon) openScheduler() error {
	if err := d.svc.Proven(); err != nil {
		d.Log.Error("nothing will run", "cause", err.Error())
		d.svc.why = err
		return nil
	}
	if d.Site.System() {
		if guest, err := d.uids.Take(); err == nil { // else each run opens its files with its own uid
			d.svc.Examiner.Guest = guest.UID()
		}
	}
	p := ports{e: d.svc.Engine, backends: d.backends(), host: d.sandbox.Host(), outputs: d.outputs, uids: d.uids}
	clock := effectiveClock{d.Parts.Clock, d.svc.Engine}
	host, err := store.ReadHost(d.Site.Dirs)
	if err != nil {
		return err
	}
	jobs := scheduler.Jobs(p)
	if d.attended {
		jobs = untimed{}
	}
	d.sched, err = scheduler.New(scheduler.Options{
		Jobs: jobs, Verifier: p, Examiner: p, Ledger: d.Parts.Ledger(p), Finisher: p, History: history{d.svc.Engine},
		Clock: clock, Alarm: d.Parts.Alarm(clock), After: time.After, Random: rand.Reader,
		Origin:      scheduler.Origin{Host: host, Boot: BootID(), Version: d.Version, PID: int64(os.Getpid()), Self: requester(d.Site.UID)},
		MaxParallel: d.MaxParallel, Shares: p.Shares, Drain: d.Drain, Log: d.Log, ClockDoubt: d.svc.Engine.ClockDoubt,
	})
	if err != nil {
		return err
	}
	d.svc.sched = d.sched
	return nil
}

// startingPoint picks where the search for throw-away uids begins.
func startingPoint() uint64 {
	var b [8]byte
	_, _ = io.ReadFull(rand.Reader, b[:]) // never fails (crypto/rand)
	return binary.LittleEndian.Uint64(b[:])
}

// effectiveClock is the wall clock, held against what was stated before.
type effectiveClock struct {
	scheduler.Clock
	e *engine.Engine
}

func (c effectiveClock) Now() time.Time { return c.e.Now() }

// Wall is the clock itself, which tells how it was set.
func (c effectiveClock) Wall() time.Time { return c.Clock.Now() }

// Awake tells sleep from delay where the machine's clock does.
func (c effectiveClock) Awake() time.Duration {
	if a, ok := c.Clock.(scheduler.Awake); ok {
		return a.Awake()
	}
	return c.Boot()
}

// serve answers and schedules until it is told to stop.
func (d *daemon) serve(ctx context.Context, signals <-chan os.Signal) error {
	l, unlink, err := listen(d.Site)
	if err != nil {
		return err
	}
	defer unlink()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	who := d.rights()
	web := newHTTP(&server{svc: d.svc, who: who, meter: newMeters(), turns: newTurns()})
	guests := newCrowd(l, who.master)
	var all sync.WaitGroup
	served := make(chan error, 1)
	all.Go(func() { served <- d.answer(ctx, web, guests) })
	all.Go(func() { d.prune(ctx) })
	if d.svc.notices != nil {
		all.Go(func() { d.svc.notices.Run(ctx) })
	}
	if d.sched != nil { // else the chain cannot say which jobs there are
		all.Go(func() { d.sweep(ctx) })
		all.Go(func() { d.foresee(ctx) })
		all.Go(func() { d.checkpoints(ctx) })
	}
	all.Go(func() { d.obey(ctx, signals, stop) })
	err = d.schedule(ctx)
	stop()
	_ = web.Close() // waiting requests end with the service
	if cause := <-served; !errors.Is(cause, http.ErrServerClosed) {
		err = errors.Join(err, cause)
	}
	all.Wait()
	if d.sched != nil {
		d.checkpoint() // the last lines, too
	}
	d.Log.Info("service ended")
	return err
}

// answer begins once runs can start: who connects before that waits, and is not
// told that there is no service.
func (d *daemon) answer(ctx context.Context, web *http.Server, l net.Listener) error {
	if d.sched != nil {
		select {
		case <-d.sched.Opened():
		case <-ctx.Done():
			return errors.Join(http.ErrServerClosed, l.Close())
		}
	}
	d.Log.Info("service ready", "state", d.Site.State, "socket", d.Site.Socket(), "pid", os.Getpid())
	if err := tellManager(d.Manager, "READY=1"); err != nil {
		d.Log.Warn("service manager", "cause", err.Error())
	}
	return web.Serve(l)
}

// schedule runs the scheduler, or waits where there is none.
func (d *daemon) schedule(ctx context.Context) error {
	if d.sched == nil {
		<-ctx.Done()
		return nil
	}
	return d.sched.Run(context.WithoutCancel(ctx))
}

// obey turns the first signal into a shutdown with drain, the second into one at
// once.
func (d *daemon) obey(ctx context.Context, signals <-chan os.Signal, stop func()) {
	for {
		select {
		case <-ctx.Done():
			return
		case s := <-signals:
			d.Log.Info("asked to end", "signal", s.String())
			_ = tellManager(d.Manager, "STOPPING=1") // told where it listens
			if d.sched == nil {
				stop()
				return
			}
			d.sched.Shutdown()
		}
	}
}

// prune removes outputs over age or size, now and then every hour.
func (d *daemon) prune(ctx context.Context) {
	for {
		if err := d.pruneOnce(); err != nil {
			d.Log.Warn("prune outputs", "cause", err.Error())
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(pruneEvery):
		}
	}
}

func (d *daemon) pruneOnce() error {
	if d.sched == nil {
		return nil
	}
	note := func(gone []store.Removed) error {
		leaves := make([]*record.Leaf, 0, len(gone))
		for _, g := range gone {
			leaves = append(leaves, &record.Leaf{Kind: record.Pruned, Run: g.Run, Count: g.Files, Bytes: g.Bytes})
		}
		_, err := d.svc.Append(leaves...)
		return err
	}
	gone, err := d.outputs.Prune(d.svc.Now(), store.DefaultRetention(), d.svc.IsRunning, note)
	if len(gone) > 0 {
		d.Log.Info("pruned outputs", "runs", len(gone))
	}
	return err
}

// rights are judged by the policy as it is at each request.
func (d *daemon) rights() rights {
	return rights{owner: d.Site.UID, name: accountName, policy: func() (*jobspec.Policy, error) {
		p, err := store.ReadPin(d.Site.Dirs)
		if err != nil {
			return nil, err
		}
		return d.Site.Policy(p.PolicySerial)
	}}
}

func (d *daemon) close() error {
	var all []error
	_ = d.openers.Close() // never fails
	if d.sender != nil {
		d.sender.Close()
	}
	if d.landlock != nil {
		all = append(all, d.landlock.Close())
	}
	if d.sandbox != nil { // first, while the lock is held: it takes its folder in RUN away
		all = append(all, d.sandbox.Close())
	}
	if d.svc != nil {
		all = append(all, d.svc.Close())
	}
	return errors.Join(all...)
}
