package main

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sbxcron/sbxcron/cmd/internal/api"
	"github.com/sbxcron/sbxcron/cmd/internal/daemon"
	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/record"
	"github.com/sbxcron/sbxcron/runner"
)

// decide compares what the service does between a sandbox that stands and the start of
// its payload with the least that it could be: the op read and verified by the trust
// files as they are, the decision made by the policy as it is, and the started row
// durable; beside one check of a signature over the same bytes and one write of as much
// as the row takes, made durable in the same folder. The second row begins with the
// call for a run, so the files of the job are opened and looked at too. No sandbox is
// built: what that costs is in the rows of launch.
func decide(of size) ([]Item, error) {
	s, err := newSite()
	if err != nil {
		return nil, err
	}
	defer s.close()
	detail, err := s.service.Job(context.Background(), launchJob)
	if err != nil {
		return nil, err
	}
	s.stop()
	peer, err := newLeast(s, detail.Bytes)
	if err != nil {
		return nil, err
	}
	defer peer.close()
	var items []Item
	parts := daemon.Real()
	real, gate := parts.Backend, &noSandbox{}
	parts.Backend = func(runDir string, now func() time.Time) (daemon.Sandbox, error) {
		var err error
		gate.Sandbox, err = real(runDir, now)
		return gate, err
	}
	o := daemon.Options{Site: s.conf, Version: "sbxbench", Log: slog.New(slog.DiscardHandler), Parts: parts}
	err = daemon.Attend(context.Background(), o, func(ctx context.Context, svc api.Service) error {
		for _, row := range []struct {
			name string
			from *time.Time
		}{{"due.decide", &gate.stood}, {"due.trigger", &gate.called}} {
			ours, theirs, err := pairing(of.pairs, func() (float64, error) { return gate.trigger(ctx, svc, row.from) }, peer.once)
			if err != nil {
				return err
			}
			items = append(items, compare(row.name, "ms", "a raw ed25519 verify and one fdatasync", ours, theirs))
		}
		return nil
	})
	return items, err
}

// noSandbox is the backend of the machine, but for the sandboxes: what it lets go has
// ended already.
type noSandbox struct {
	daemon.Sandbox
	called, stood, released time.Time // of the last trigger
}

func (n *noSandbox) Prepare(context.Context, *runner.Plan) (runner.Armed, error) {
	n.stood = time.Now()
	return n, nil
}

func (n *noSandbox) Facts() record.Facts {
	return record.Facts{Backend: n.Name(), Layers: []string{"none"}, Probe: "none: measured without a sandbox", UID: os.Getuid()}
}

func (n *noSandbox) Release() (runner.Process, error) {
	n.released = time.Now()
	return n, nil
}

func (n *noSandbox) Discard() {}

func (n *noSandbox) Cancel(jobspec.Code) {}

func (n *noSandbox) Kill(jobspec.Code) {}

func (n *noSandbox) Wait() record.End {
	return record.End{Outcome: record.OutcomeSucceeded, StartedAt: n.released, EndedAt: time.Now(), Exited: true}
}

// trigger is how long it took from an instant of a trigger until its payload was let
// go.
func (n *noSandbox) trigger(ctx context.Context, svc api.Service, from *time.Time) (float64, error) {
	n.called, n.stood, n.released = time.Now(), time.Time{}, time.Time{}
	run, err := svc.Start(ctx, launchJob)
	if err != nil {
		return 0, err
	}
	if run, err = svc.Run(ctx, run.Run, true); err != nil {
		return 0, err
	}
	if run.Outcome != string(record.OutcomeSucceeded) || n.stood.IsZero() || n.released.IsZero() {
		return 0, fmt.Errorf("the run was %s %v", run.Outcome, run.Reasons)
	}
	return ms(n.released.Sub(*from)), nil
}

// least is the least that a trigger could be: the peer of decide.
type least struct {
	key      ed25519.PublicKey
	msg, sig []byte
	row      []byte
	file     *os.File
}

// rowBytes is about as long as a started row is.
const rowBytes = 1024

func newLeast(s *site, msg []byte) (*least, error) {
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		return nil, err
	}
	f, err := os.OpenFile(filepath.Join(s.conf.Dirs.LedgerDir(), "least"), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	return &least{public, msg, ed25519.Sign(private, msg), make([]byte, rowBytes), f}, nil
}

func (l *least) close() { _ = l.file.Close() } // the folder goes away

func (l *least) once() (float64, error) {
	begun := time.Now()
	if !ed25519.Verify(l.key, l.msg, l.sig) {
		return 0, errors.New("a good signature is not")
	}
	if _, err := l.file.Write(l.row); err != nil {
		return 0, err
	}
	if err := unix.Fdatasync(int(l.file.Fd())); err != nil {
		return 0, err
	}
	return ms(time.Since(begun)), nil
}
