// Command sbxcron runs jobs that their owner signed, in a sandbox, on their
// schedule. This file wires and does nothing else.
package main

import (
	"context"
	"os"
	"runtime"
	"time"

	"github.com/sbxcron/sbxcron/cmd/internal/cli"
	"github.com/sbxcron/sbxcron/cmd/internal/notify/send"
	"github.com/sbxcron/sbxcron/cmd/internal/sweep"
	"github.com/sbxcron/sbxcron/cmd/internal/ui"
	"github.com/sbxcron/sbxcron/runner/landlock"
	"github.com/sbxcron/sbxcron/runner/pin"
	"github.com/sbxcron/sbxcron/runner/supervise"
	"github.com/sbxcron/sbxcron/runner/witness"
)

func main() {
	// A child that opens paths as another account, or that answers opens of a run,
	// is this program once more; it does its work here and never returns.
	pin.ChildMain()
	supervise.ChildMain()
	witness.ChildMain()
	send.ChildMain()
	landlock.ChildMain()
	sweep.ChildMain() // and so is the child that removes what a try has made
	version := cli.BuildVersion()
	app := &cli.App{
		UI:       ui.System(),
		Now:      time.Now,
		Getenv:   os.Getenv,
		Version:  version,
		Platform: cli.Platform(runtime.GOOS),
		Ports:    cli.Wire(version, time.Now),
	}
	os.Exit(app.Run(context.Background(), os.Args[1:]))
}
