package daemon

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/sbxcron/sbxcron/cmd/internal/api"
	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/scheduler"
)

// Attend is the service without its socket and without its timetable, for as long
// as use takes: nothing starts but what use starts by hand, by the same road as
// anything else. As root Shed comes first. What still runs when use returns is
// ended at once.
func Attend(ctx context.Context, o Options, use func(ctx context.Context, svc api.Service) error) error {
	d := &daemon{Options: o, attended: true}
	if err := d.open(); err != nil {
		return errors.Join(err, d.close())
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- d.schedule(ctx) }()
	err := d.attend(ctx, use)
	stop()
	if d.sched != nil {
		d.sched.Shutdown()
		d.sched.Shutdown() // nobody waits for what is left
	}
	return errors.Join(err, <-ended, d.close())
}

func (d *daemon) attend(ctx context.Context, use func(ctx context.Context, svc api.Service) error) error {
	if d.sched != nil {
		select {
		case <-d.sched.Opened():
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return use(ctx, attendant{d.svc})
}

// Shed leaves root with the capabilities of the service. It starts the program
// anew in its own place, so it comes before everything that must not be done
// twice; for another account it does nothing.
func Shed() error {
	if os.Geteuid() != 0 {
		return nil
	}
	return shedCapabilities()
}

// untimed has no job that is due by itself.
type untimed struct{}

func (untimed) Entries() ([]scheduler.Entry, int64, error) { return nil, 0, nil }
func (untimed) Since(ops int64) (scheduler.Changes, error) { return scheduler.Changes{Ops: ops}, nil }

// attendant is the service in the hands of its own account.
type attendant struct{ *Service }

func (a attendant) Start(_ context.Context, name jobspec.Name) (api.Run, error) {
	return a.StartFor(name, a.Site.UID)
}

func (a attendant) Cancel(_ context.Context, run string) error { return a.CancelFor(run, a.Site.UID) }

func (a attendant) Hold(_ context.Context, name jobspec.Name, reason string, until time.Time) error {
	return a.HoldFor(name, a.Site.UID, reason, until)
}

func (a attendant) Release(_ context.Context, name jobspec.Name) error {
	return a.ReleaseFor(name, a.Site.UID)
}

// Close is Attend's to do.
func (a attendant) Close() error { return nil }
