package cli

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/sbxcron/sbxcron/cmd/internal/api"
	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/store/checkpoint"
	"github.com/sbxcron/sbxcron/store/safefile"
)

func newAttest(a *App) *cobra.Command {
	var o changeOptions
	cmd := &cobra.Command{
		Use:   "attest",
		Short: "Sign that you have seen the ledger as it is now",
		Long: `Sign an op that says nothing but: this checkpoint of the ledger was seen. From then
on nobody can make the lines up to it unsaid, not even with every key of the host.
Every other op that you sign says the same beside what it is about; attest is for
owners who seldom have anything to change.`,
		Args: cobra.NoArgs,
		RunE: work(func(ctx context.Context, _ []string) error { return a.attest(ctx, o) }),
	}
	f := cmd.Flags()
	f.StringVar(&o.key, "key", "", keyUsage)
	f.BoolVar(&o.yes, "yes", false, "do not ask before signing")
	return cmd
}

func (a *App) attest(ctx context.Context, o changeOptions) error {
	site, err := a.Ports.Site(a.flags.root)
	if err != nil {
		return err
	}
	return a.service(ctx, func(svc api.Service) error {
		p, err := a.findHead(ctx, svc, site)
		if err != nil {
			return err
		}
		if p.checkpoint == "" {
			return ownError(codeNoCheckpoint, jobspec.ClassConflict, "start the service; it makes the first one at once", "the ledger has no checkpoint yet")
		}
		who, err := a.author(ctx, site, o.keyFlags, false)
		if err != nil {
			return err
		}
		created := jobspec.InstantOf(p.now)
		pr, err := newProposal(&jobspec.Op{Type: jobspec.OpType, Host: p.head.Host, Seq: p.head.Seq, Prev: p.head.Prev, Action: jobspec.Attest,
			Created: created, ApplyBefore: created.Add(jobspec.DefaultApplyFor), Principal: who.principal, Checkpoint: p.checkpoint}, jobspec.ManageNamespace)
		if err != nil {
			return err
		}
		if err := who.mayUse(pr.namespace, p.now); err != nil {
			return err
		}
		return a.finishOp(ctx, svc, who, pr, o.yes)
	})
}

type followed struct {
	Host       jobspec.HostID  `json:"host"`
	Epoch      int64           `json:"epoch"`
	Size       int64           `json:"size"`
	Root       string          `json:"root"`
	Time       jobspec.Instant `json:"time"`
	Genesis    jobspec.Digest  `json:"genesis"`
	Checkpoint string          `json:"checkpoint"`
}

func newFollow(a *App) *cobra.Command {
	var socket string
	cmd := &cobra.Command{
		Use:   "follow DIR",
		Short: "Keep the newest checkpoint elsewhere, and tell when the history is another one",
		Long: `Ask for the newest checkpoint, hold it against the one that DIR keeps, with a proof
that the history only grew, and keep it there. Run it now and then, as another
account or on another machine (ssh -L forwards the socket): DIR is then an anchor
that whoever has this machine cannot reach. DIR/HOST.checkpoint is the signed note
that audit verify --checkpoint takes.

Exit status: 0 it is the same history; 20 it is an older or another one, or the
checkpoint is not what the host's keys sign.`,
		Args: cobra.ExactArgs(1),
		RunE: work(func(ctx context.Context, args []string) error { return a.auditFollow(ctx, args[0], socket) }),
	}
	cmd.Flags().StringVar(&socket, "socket", "", "socket of the service to follow, where it is not that of this machine")
	return cmd
}

func (a *App) auditFollow(ctx context.Context, dir, socket string) error {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return fileError(err, "name the folder by its whole path")
	}
	open := func(f func(api.Service) error) error { return a.service(ctx, f) }
	if socket != "" {
		open = func(f func(api.Service) error) error {
			svc, err := a.Ports.ServiceAt(ctx, socket)
			if err != nil {
				return err
			}
			defer svc.Close()
			return f(svc)
		}
	}
	return open(func(svc api.Service) error {
		st, err := svc.Status(ctx)
		if err != nil {
			return err
		}
		host, err := onlyHost(dir, st.Host)
		if err != nil {
			return auditFailed(err)
		}
		m, err := a.follow(ctx, svc, dir, host)
		if err != nil {
			return auditFailed(err)
		}
		if m.Checkpoint != "" { // as audit verify --checkpoint takes it
			if err := safefile.Write(filepath.Join(dir, string(m.Host)+".checkpoint"), []byte(m.Checkpoint), 0o600); err != nil {
				return err
			}
		}
		return a.printFollowed(m)
	})
}

// onlyHost refuses another host than the one that dir follows: a host that calls
// itself by a new name has no past that it could be held against.
func onlyHost(dir string, said jobspec.HostID) (jobspec.HostID, error) {
	host, err := jobspec.ParseHostID(string(said))
	if err != nil {
		return "", &checkpoint.Error{Reason: jobspec.CodeCheckpointInvalid, Detail: "the service names no host: " + err.Error()}
	}
	known, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		return "", fileError(err, "name a folder whose name has no pattern in it")
	}
	for _, path := range known {
		if path != checkpoint.MemoryFile(dir, host) {
			return "", &checkpoint.Error{Reason: jobspec.CodeCheckpointFork, Detail: fmt.Sprintf("this is host %s, and %q follows %q; use a folder for each host", host, dir, filepath.Base(path))}
		}
	}
	return host, nil
}

// auditFailed gives a refusal of a checkpoint the status of an audit that failed.
func auditFailed(err error) error {
	switch jobspec.CodeOf(err) {
	case jobspec.CodeCheckpointFork, jobspec.CodeCheckpointRollback, jobspec.CodeCheckpointInvalid, jobspec.CodeLedgerTampered:
		e := *api.Wrap(err)
		e.Exit, e.Class = jobspec.ClassAudit.Exit(), string(jobspec.ClassAudit)
		return &e
	}
	return err
}

func (a *App) printFollowed(m checkpoint.Memory) error {
	c, _ := m.Seen()
	f := followed{Host: m.Host, Epoch: c.Epoch, Size: c.Size, Time: c.Time, Genesis: m.Genesis, Checkpoint: m.Checkpoint}
	if m.Checkpoint != "" {
		f.Root = c.Root.Base64()
	}
	if a.flags.json {
		return a.item("audit_follow", f)
	}
	if m.Checkpoint == "" {
		a.line("host %s has no checkpoint yet", m.Host)
		return nil
	}
	a.line("host %s, epoch %d, %d lines, root %s", f.Host, f.Epoch, f.Size, f.Root)
	return nil
}
