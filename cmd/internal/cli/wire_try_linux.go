package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"syscall"

	"github.com/sbxcron/sbxcron/cmd/internal/api"
	"github.com/sbxcron/sbxcron/cmd/internal/config"
	"github.com/sbxcron/sbxcron/cmd/internal/daemon"
	"github.com/sbxcron/sbxcron/cmd/internal/sweep"
	"github.com/sbxcron/sbxcron/store/safefile"
)

// trialPort is the throw-away place of this build.
func (w wiring) trialPort() func(string) (*Trial, error) { return w.trial }

// tryPort starts tries in other processes.
func (w wiring) tryPort() func(context.Context, string, []byte) ([]byte, error) { return tryElsewhere }

// trial makes the folder and has it watched before anything is written into it.
func (w wiring) trial(root string) (*Trial, error) {
	if err := daemon.Shed(); err != nil {
		return nil, err
	}
	dir, err := throwAwayDir(root)
	if err != nil {
		return nil, err
	}
	s, err := sweep.Watch(dir)
	if err != nil {
		return nil, errors.Join(err, os.Remove(dir))
	}
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	return &Trial{
		Root: dir, Principal: callerName(), Interrupts: signals,
		Attend: func(ctx context.Context, use func(context.Context, api.Service) error) error {
			return w.attend(ctx, dir, use)
		},
		Done: func() error {
			signal.Stop(signals)
			return s.Done()
		},
	}, nil
}

func (w wiring) attend(ctx context.Context, dir string, use func(context.Context, api.Service) error) error {
	site, err := config.Find(dir)
	if err != nil {
		return err
	}
	parts := daemon.Real()
	return daemon.Attend(ctx, daemon.Options{Site: site, Version: w.version, MaxParallel: 1, Log: slog.New(slog.DiscardHandler), Parts: parts}, use)
}

// throwAwayDir makes a folder of a new name. No job gets a path below /run, so
// one there cannot stand in the way of what is tried; /tmp is where no such
// folder is. No variable picks one.
func throwAwayDir(root string) (string, error) {
	if root != "" {
		real, err := filepath.EvalSymlinks(root)
		if err != nil {
			return "", fmt.Errorf("folder %q: %w", root, err)
		}
		if root, err = filepath.Abs(real); err != nil {
			return "", fmt.Errorf("folder %q: %w", real, err)
		}
		return makeThrowAway(root)
	}
	uid := os.Getuid()
	runtime := "/run"
	if uid != 0 {
		runtime = filepath.Join("/run/user", strconv.Itoa(uid))
	}
	if owner, err := safefile.Owner(runtime); err == nil && owner == uid {
		if dir, err := makeThrowAway(runtime); err == nil {
			return dir, nil
		}
	}
	return makeThrowAway("/tmp")
}

// makeThrowAway gives root's folder the mode of its others: accounts that jobs
// run as pass through it.
func makeThrowAway(parent string) (string, error) {
	dir, err := os.MkdirTemp(parent, sweep.Prefix)
	if err != nil {
		return "", fmt.Errorf("make throw-away folder: %w", err)
	}
	if os.Getuid() == 0 {
		if err := os.Chmod(dir, 0o755); err != nil {
			return "", errors.Join(fmt.Errorf("make throw-away folder: %w", err), os.Remove(dir))
		}
	}
	return dir, nil
}
