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
// the start, from then on every so often, at once when a trust file or the policy
// has changed, and soon after the machine's packages have, which is what most often
// changes a bound file.
type Foresight struct {
	First time.Duration // after the start
	Every time.Duration
	Look  time.Duration // between two looks at the files below and the clock
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

func packageStamp() string { return stampOf(packageFiles()...) }

// stampOf is made of the times and sizes of those files that are there.
func stampOf(paths ...string) string {
	var all strings.Builder
	for _, path := range paths {
		if info, err := os.Stat(path); err == nil {
			fmt.Fprintf(&all, "%s %d %d\n", path, info.ModTime().UnixNano(), info.Size())
		}
	}
	return all.String()
}

// watch calls judge when it is time to, one call after the other, until ctx
// ends. A change of packages counts once nothing changed between two looks: an
// update goes on for a while. One of the configuration counts at once: who revokes a
// key wants to hear which jobs that stops.
func (f Foresight) watch(ctx context.Context, now func() time.Time, conf func() string, judge func(context.Context)) {
	due := now().Add(f.First)
	judged, ruled := f.Packages(), conf()
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
		rules := conf()
		if now().Before(due) && rules == ruled && (stamp == judged || !settled) {
			continue
		}
		judged, ruled, due = stamp, rules, now().Add(f.Every)
		judge(ctx)
	}
}

// foresee is the service's own watch.
func (d *daemon) foresee(ctx context.Context) {
	dirs := d.Site.Dirs
	conf := func() string { return stampOf(dirs.AllowedSigners(), dirs.RevokedKeys(), dirs.Policy()) }
	d.Parts.Foresight.watch(ctx, d.Parts.Clock.Now, conf, func(ctx context.Context) {
		if err := d.svc.Foresee(ctx); err != nil && ctx.Err() == nil {
			d.Log.Warn("judge jobs ahead of their slots", "cause", err.Error())
		}
	})
}
