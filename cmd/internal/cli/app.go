package cli

import (
	"context"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/sbxcron/sbxcron/cmd/internal/ui"
)

// App is the command line with everything that it touches. Main wires the real
// things, tests wire others.
type App struct {
	UI       *ui.Streams
	Now      func() time.Time
	Getenv   func(string) string // SSH_AUTH_SOCK only
	Version  string
	Platform Platform
	Ports    Ports

	flags globals
}

// globals are the flags that every command takes.
type globals struct {
	root  string
	json  bool
	quiet bool
}

// Run executes one command line (without the program's name) and returns its
// exit status. It may be called once.
func (a *App) Run(ctx context.Context, args []string) int {
	root := newRoot(a)
	root.SetArgs(args)
	root.SetOut(a.UI.Out)
	root.SetErr(a.UI.Err)
	root.SetIn(a.UI.In)
	cmd, err := root.ExecuteContextC(ctx)
	a.flags.json = a.flags.json || asksForJSON(args)
	return a.finish(err, cmd.UseLine())
}

// Tree is the command tree, for whoever looks at commands and flags. It is not
// for running: that is Run.
func (a *App) Tree() *cobra.Command { return newRoot(a) }

// asksForJSON looks for --json itself: a command line that cannot be parsed is
// answered in the form that it asks for, too.
func asksForJSON(args []string) bool {
	if end := slices.Index(args, "--"); end >= 0 {
		args = args[:end]
	}
	return slices.Contains(args, "--json")
}
