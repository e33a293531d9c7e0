package daemon

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/sbxcron/sbxcron/cmd/internal/beat"
)

// Foresight says when the jobs are judged ahead of their slots: some time after
// the start, from then on every so often, and soon after the machine's packages
// have changed, which is what most often changes a bound file.
type Foresight struct {
	First time.Duration // after the start
	Every time.Duration
	Look  time.Duration // between two looks at the packages and the clock
	// Packages tells the state of the machine's packages; it is only compared.
	Packages func() string
}

// RealForesight is that of the shipped program.
func RealForesight() Foresight {
	return Foresight{First: time.Minute, Every: time.Hour, Look: time.Minute, Packages: packageStamp}
}

// packageFiles are what package managers change last: dpkg, rpm (old and new),
// apk, pacman.
func packageFiles() []string {
	return []string{"/var/lib/dpkg/status", "/var/lib/rpm/Packages", "/var/lib/rpm/rpmdb.sqlite",
		"/usr/lib/sysimage/rpm/rpmdb.sqlite", "/lib/apk/db/installed", "/var/lib/pacman/local"}
}

// packageStamp is made of the times and sizes of those that are there.
func packageStamp() string {
	var all strings.Builder
	for _, path := range packageFiles() {
		if info, err := os.Stat(path); err == nil {
			fmt.Fprintf(&all, "%s %d %d\n", path, info.ModTime().UnixNano(), info.Size())
		}
	}
	return all.String()
}

// watch calls judge when it is time to, one call after the other, until ctx
// ends. A change of packages counts once nothing changed between two looks: an
// update goes on for a while.
func (f Foresight) watch(ctx context.Context, now func() time.Time, judge func(context.Context)) {
	due := now().Add(f.First)
	judged := f.Packages()
	last := judged
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(beat.Until(f.Look, now())):
		}
		stamp := f.Packages()
		settled := stamp == last
		last = stamp
		if now().Before(due) && (stamp == judged || !settled) {
			continue
		}
		judged, due = stamp, now().Add(f.Every)
		judge(ctx)
	}
}

// foresee is the service's own watch.
func (d *daemon) foresee(ctx context.Context) {
	d.Parts.Foresight.watch(ctx, d.Parts.Clock.Now, func(ctx context.Context) {
		if err := d.svc.Foresee(ctx); err != nil && ctx.Err() == nil {
			d.Log.Warn("judge jobs ahead of their slots", "cause", err.Error())
		}
	})
}
