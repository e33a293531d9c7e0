package cli

import (
	"context"
	"errors"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"github.com/sbxcron/sbxcron/cmd/internal/api"
	"github.com/sbxcron/sbxcron/cmd/internal/evidence"
	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/store"
)

// anchorFlags are what an auditor brings to audit verify.
type anchorFlags struct {
	genesis     string
	signers     string
	checkpoints []string
}

// bind adds the flags to a command.
func (f *anchorFlags) bind(c *cobra.Command) {
	c.Flags().StringVar(&f.genesis, "genesis", "", "digest of genesis, as init printed it")
	c.Flags().StringVar(&f.signers, "signers", "", "allowed_signers file that you trust; what it does not name has not signed")
	c.Flags().StringArrayVar(&f.checkpoints, "checkpoint", nil, "file with a signed checkpoint that you have kept")
}

func (f anchorFlags) none() bool {
	return f.genesis == "" && f.signers == "" && len(f.checkpoints) == 0
}

const (
	maxSigners    = 1 << 20
	maxCheckpoint = 64 << 10
)

// anchor reads what was brought.
func (f anchorFlags) anchor() (a evidence.Anchor, err error) {
	if f.genesis != "" {
		if err := a.Genesis.UnmarshalText([]byte(f.genesis)); err != nil {
			return a, usageError("--genesis %q: want the digest that init printed, sha256:...", f.genesis)
		}
	}
	if f.signers != "" {
		if a.Signers, err = readFile(f.signers, maxSigners); err != nil {
			return a, err
		}
		if len(a.Signers) == 0 {
			return a, fileError(errors.New("file "+f.signers+" is empty"), "--signers names an allowed_signers file")
		}
	}
	for _, path := range f.checkpoints {
		note, err := readFile(path, maxCheckpoint)
		if err != nil {
			return a, err
		}
		a.Checkpoints = append(a.Checkpoints, store.Witness{Where: path, Note: string(note)})
	}
	return a, nil
}

// auditEvidence judges a bundle, or the files of a root folder that no service
// holds, by what the auditor brings.
func (a *App) auditEvidence(path string, f anchorFlags) error {
	anchor, err := f.anchor()
	if err != nil {
		return err
	}
	ev, done, err := a.evidence(path)
	if err != nil {
		return err
	}
	v, err := evidence.Judge(ev, anchor)
	if err := errors.Join(err, done()); err != nil {
		return err
	}
	return a.tellAudit(v)
}

func (a *App) evidence(path string) (*evidence.Evidence, func() error, error) {
	if path != "" {
		b, err := evidence.OpenBundle(path)
		if err != nil {
			return nil, nil, fileError(err, "make one with sbxcron audit export --bundle FILE")
		}
		return &b.Evidence, b.Close, nil
	}
	site, err := a.Ports.Site(a.flags.root)
	if err != nil {
		return nil, nil, err
	}
	ev, err := evidence.OfFolders(site.Dirs())
	return ev, func() error { return nil }, err
}

// auditBundle writes a bundle and says how it is judged.
func (a *App) auditBundle(ctx context.Context, path string, outputs bool) error {
	genesis, err := a.writeBundle(ctx, path, outputs)
	if err != nil {
		return err
	}
	a.say("an auditor needs this file and, from another place than this machine, the digest of genesis")
	a.line("sbxcron audit verify %s --genesis %s", shellWord(path), genesis)
	return nil
}

// writeBundle reads the files of the installation, which the owner and, in system
// mode, root may. It leaves no bundle behind that is not whole.
func (a *App) writeBundle(ctx context.Context, path string, outputs bool) (genesis jobspec.Digest, err error) {
	site, err := a.Ports.Site(a.flags.root)
	if err != nil {
		return genesis, err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return genesis, fileError(err, "name a file that does not exist yet")
	}
	err = evidence.WriteBundle(f, site.Dirs(), func() ([]store.Entry, error) {
		all, err := a.entries(ctx, site.Dirs())
		if len(all) > 0 {
			genesis = jobspec.DigestOf(all[0].Op)
		}
		return all, err
	}, outputs, a.Now())
	if err := errors.Join(err, f.Close()); err != nil {
		if errors.Is(err, fs.ErrPermission) {
			err = fileError(err, "the owner of the files makes bundles; in system mode that is root")
		}
		return genesis, errors.Join(err, os.Remove(path))
	}
	return genesis, nil
}

// entries are the ops as evidence takes them: from the file, of which nothing is
// changed, and from the service where that holds it.
func (a *App) entries(ctx context.Context, d store.Dirs) (all []store.Entry, err error) {
	if all, err := store.ReadEntries(d); err == nil {
		return all, nil
	}
	err = a.service(ctx, func(svc api.Service) error {
		ops, err := svc.Ops(ctx)
		for _, op := range ops {
			all = append(all, store.Entry{Seq: op.Seq, Op: op.Op, Sigs: [][]byte{op.Sig}})
		}
		return err
	})
	return all, err
}
