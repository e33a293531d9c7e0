package cli

import (
	"context"
	"time"

	"github.com/spf13/cobra"
)

func newDaemon(a *App) *cobra.Command {
	o := DaemonOptions{Version: a.Version}
	cmd := &cobra.Command{
		Use:   "daemon",
		Short: "Run the service in the foreground",
		Long: `Run the service: it verifies, decides and runs jobs at their times, and answers on
the control socket. It takes flags only. On TERM nothing new starts, what runs may
go on for the drain time, and is then ended; a second TERM ends at once.`,
		Args: cobra.NoArgs,
		RunE: work(func(ctx context.Context, _ []string) error { return a.daemon(ctx, o) }),
	}
	f := cmd.Flags()
	f.StringVar(&o.LogFormat, "log-format", "text", "text or json")
	f.IntVar(&o.MaxParallel, "max-parallel", 0, "most runs at a time; 0: twice the number of CPUs")
	f.DurationVar(&o.Drain, "drain", time.Minute, "how long running jobs may go on after TERM")
	return cmd
}

func (a *App) daemon(ctx context.Context, o DaemonOptions) error {
	switch {
	case !a.Platform.Runs() || a.Ports.Daemon == nil:
		return a.platformRefusal("daemon")
	case o.LogFormat != "text" && o.LogFormat != "json":
		return usageError("--log-format %q: want text or json", o.LogFormat)
	case o.MaxParallel < 0 || o.MaxParallel > 4096:
		return usageError("--max-parallel %d: want 0 to 4096", o.MaxParallel)
	case o.Drain < 0 || o.Drain > 24*time.Hour:
		return usageError("--drain %s: want 0 to 24h", o.Drain)
	}
	o.Root = a.flags.root
	o.Drain = max(o.Drain, time.Nanosecond) // --drain 0 is none, and not the scheduler's default
	return a.Ports.Daemon(ctx, o)
}
