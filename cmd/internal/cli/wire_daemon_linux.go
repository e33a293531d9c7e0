package cli

import (
	"context"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/sbxcron/sbxcron/cmd/internal/config"
	"github.com/sbxcron/sbxcron/cmd/internal/daemon"
)

// daemonPort is the service of this build.
func (w wiring) daemonPort() func(context.Context, DaemonOptions) error { return w.daemon }

// daemon runs the service with the real parts. Signals are caught before the
// service opens anything, so that none is lost.
func (w wiring) daemon(ctx context.Context, o DaemonOptions) error {
	site, err := config.Find(o.Root)
	if err != nil {
		return err
	}
	if err := os.Unsetenv("SSH_AUTH_SOCK"); err != nil { // the service has no use for an agent, and its children none either
		return err
	}
	site.Given = os.Getenv("CREDENTIALS_DIRECTORY")
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT)
	defer signal.Stop(signals)
	var handler slog.Handler = slog.NewTextHandler(os.Stderr, nil)
	if o.LogFormat == "json" {
		handler = slog.NewJSONHandler(os.Stderr, nil)
	}
	return daemon.Run(ctx, daemon.Options{Site: site, Version: o.Version, MaxParallel: o.MaxParallel, Drain: o.Drain,
		Log: slog.New(handler), Manager: os.Getenv("NOTIFY_SOCKET"), Parts: daemon.Real()}, signals)
}
