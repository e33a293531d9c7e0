//go:build linux

package e2e

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/sbxcron/sbxcron/cmd/internal/cli"
	"github.com/sbxcron/sbxcron/cmd/internal/config"
	"github.com/sbxcron/sbxcron/cmd/internal/daemon"
	"github.com/sbxcron/sbxcron/cmd/internal/notify/send"
	"github.com/sbxcron/sbxcron/cmd/internal/sweep"
	"github.com/sbxcron/sbxcron/cmd/internal/ui"
	"github.com/sbxcron/sbxcron/runner/landlock"
	"github.com/sbxcron/sbxcron/runner/pin"
	"github.com/sbxcron/sbxcron/runner/supervise"
	"github.com/sbxcron/sbxcron/runner/witness"
	"github.com/sbxcron/sbxcron/scheduler"
)

// What the tests tell their own main, by the environment. The shipped program
// reads none of these.
const (
	envMain    = "E2E_MAIN"    // "1": be sbxcron
	envOffset  = "E2E_OFFSET"  // seconds to add to the clock
	envClock   = "E2E_CLOCK"   // file with a duration to add to the clock, read at each look
	envKill    = "E2E_KILL"    // number of the step at which to die
	envFrom    = "E2E_FROM"    // name of the step from which steps are counted
	envSteps   = "E2E_STEPS"   // file to which each step is written
	envAhead   = "E2E_AHEAD"   // file whose change stands for an update of packages: jobs are judged ahead, and seldom else
	envSyslog  = "E2E_SYSLOG"  // socket of the system's log; the machine's own hears nothing of tests
	envSealing = "E2E_SEALING" // how often a checkpoint is made
	envHalt    = "E2E_HALT"    // folder: a step waits while a file with its name lies there
)

func TestMain(m *testing.M) {
	if name := os.Getenv(envWithout); name != "" {
		fmt.Fprintln(os.Stderr, become(name))
		os.Exit(1)
	}
	pin.ChildMain()
	supervise.ChildMain()
	witness.ChildMain()
	send.ChildMain()
	landlock.ChildMain()
	sweep.ChildMain()
	if os.Getenv(envMain) == "1" {
		os.Exit(program())
	}
	commandLine() // built before any test looks at its watch
	status := m.Run()
	programs.remove()
	os.Exit(status)
}

// program is main of sbxcron with this file's clock and steps.
func program() int {
	clock := shiftedClock{offset: envSeconds(envOffset), file: os.Getenv(envClock)}
	steps := newSteps()
	ports := cli.Wire("e2e", clock.Now)
	ports.Service = serviceOn(clock, steps)
	ports.Daemon = func(ctx context.Context, o cli.DaemonOptions) error { return runDaemon(ctx, o, clock, steps) }
	app := &cli.App{UI: ui.System(), Now: clock.Now, Getenv: os.Getenv, Version: "e2e", Platform: cli.Platform(runtime.GOOS), Ports: ports}
	return app.Run(context.Background(), os.Args[1:])
}

func envSeconds(name string) time.Duration {
	n, _ := strconv.Atoi(os.Getenv(name)) // absent: 0
	return time.Duration(n) * time.Second
}

// shiftedClock is ahead of the machine's by a constant and by what a file says.
type shiftedClock struct {
	offset time.Duration
	file   string
}

func (c shiftedClock) Now() time.Time      { return time.Now().Add(c.shift()) }
func (c shiftedClock) Boot() time.Duration { return scheduler.SystemClock{}.Boot() + c.shift() }

func runDaemon(ctx context.Context, o cli.DaemonOptions, clock shiftedClock, steps *steps) error {
	site, err := config.Find(o.Root)
	if err != nil {
		return err
	}
	site.Given = os.Getenv("CREDENTIALS_DIRECTORY")
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGTERM)
	parts := daemon.Real()
	parts.Clock, parts.Syslog = clock, os.Getenv(envSyslog)
	if every, err := time.ParseDuration(os.Getenv(envSealing)); err == nil {
		parts.CheckpointEvery = every
	}
	if clock.file != "" {
		parts.Alarm = newPoll // a timer would sleep through a step of the clock
	}
	if file := os.Getenv(envAhead); file != "" {
		parts.Foresight = daemon.Foresight{First: time.Hour, Every: time.Hour, Look: 20 * time.Millisecond, Packages: func() string {
			b, _ := os.ReadFile(file) // missing is a state, too
			return string(b)
		}}
	}
	parts.Disk = steppedDisk{parts.Disk, steps}
	parts.Ledger = func(l scheduler.Ledger) scheduler.Ledger { return steppedLedger{l, steps} }
	real := parts.Backend
	parts.Backend = func(dir string, now func() time.Time) (daemon.Sandbox, error) {
		b, err := real(dir, now)
		if err != nil {
			return nil, err
		}
		return steppedSandbox{b, steps}, nil
	}
	return daemon.Run(ctx, daemon.Options{Site: site, Version: o.Version, MaxParallel: o.MaxParallel, Drain: o.Drain,
		Log: slog.New(slog.NewTextHandler(os.Stderr, nil)), Parts: parts}, signals)
}
