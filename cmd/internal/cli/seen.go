package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/sbxcron/sbxcron/cmd/internal/api"
	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/store/checkpoint"
)

// remember asks for the newest checkpoint of a host, holds it against the one that
// this account has seen last, and keeps it. It returns the note, "" where the
// ledger has none yet. A history that is older than, or other than, the one that
// was seen is an error: the owner would sign onto it.
func (a *App) remember(ctx context.Context, svc api.Service, site Site, host jobspec.HostID) (string, error) {
	dir, err := site.SeenDir()
	if err != nil {
		a.say("note: no place to remember what was seen of this host: %s", err)
		return "", nil
	}
	m, err := a.follow(ctx, svc, dir, host)
	return m.Checkpoint, err
}

// seenTries bounds how often is asked again because another command of the same
// account has remembered a newer one meanwhile.
const seenTries = 3

func (a *App) follow(ctx context.Context, svc api.Service, dir string, host jobspec.HostID) (checkpoint.Memory, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return checkpoint.Memory{}, fileError(err, "name a folder that you can write")
	}
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return checkpoint.Memory{}, fileError(err, "name a folder that you can write")
	}
	var last error
	for range seenTries {
		m, err := checkpoint.Recall(dir, host, os.Getuid())
		if err != nil {
			return checkpoint.Memory{}, err
		}
		q := api.SealQuery{Epoch: m.Epoch}
		if c, ok := m.Seen(); ok {
			q.Size = c.Size
		}
		seal, err := svc.Seal(ctx, q)
		if err != nil {
			return checkpoint.Memory{}, err
		}
		next, err := m.Advance(host, checkpoint.Answer{Genesis: seal.Genesis, Epochs: seal.Epochs, Checkpoint: seal.Checkpoint, Proof: seal.Proof})
		if err == nil {
			return next, keepNewer(dir, m, next)
		}
		last = fmt.Errorf("%w (remembered in %q)", err, checkpoint.MemoryFile(dir, host))
		if again, err := checkpoint.Recall(dir, host, os.Getuid()); err != nil || again == m {
			break
		}
	}
	return checkpoint.Memory{}, last
}

// keepNewer writes next, unless another command has gone on from m meanwhile: what
// that one has kept is as good, and perhaps newer.
func keepNewer(dir string, m, next checkpoint.Memory) error {
	if next == m {
		return nil
	}
	if now, err := checkpoint.Recall(dir, next.Host, os.Getuid()); err != nil || now != m {
		return err
	}
	return next.Keep(dir)
}
