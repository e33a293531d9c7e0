package cli

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sbxcron/sbxcron/cmd/internal/api"
	"github.com/sbxcron/sbxcron/cmd/internal/evidence"
	"github.com/sbxcron/sbxcron/cmd/internal/evidence/tamper"
	"github.com/sbxcron/sbxcron/jobspec"
)

func newAuditSelftest(a *App) *cobra.Command {
	var outputs bool
	c := &cobra.Command{
		Use:   "selftest [BUNDLE]",
		Short: "Tamper with a copy of the history in every way, and show that audit verify names each",
		Long: `Copy the history of this machine, or a BUNDLE, into a folder of its own, do to the copy
what somebody might do to the history, and judge it as audit verify does, with the
digest of genesis and the newest checkpoint. What was copied is not touched.

Exit status: 0 each tampering that could be tried was named; 20 one was not, or
something is wrong with the history as it is; 3 nothing could be tried.`,
		Args: cobra.MaximumNArgs(1),
		RunE: work(func(ctx context.Context, args []string) error {
			return a.auditSelftest(ctx, append(args, "")[0], outputs)
		}),
	}
	c.Flags().BoolVar(&outputs, "outputs", false, "copy and try what jobs wrote as well; it must fit into memory")
	return c
}

func (a *App) auditSelftest(ctx context.Context, bundle string, outputs bool) error {
	whole, err := a.bundleFiles(ctx, bundle, outputs)
	if err != nil {
		return err
	}
	results, err := tamper.Try(ctx, whole)
	if err != nil {
		return err
	}
	if a.flags.json {
		err = a.items("audit_selftest", results)
	} else {
		err = a.printSelftest(results)
	}
	if err != nil {
		return err
	}
	return selftestStatus(results)
}

// bundleFiles is a bundle in memory: the one that was named, or one of this machine,
// which is removed once it was read.
func (a *App) bundleFiles(ctx context.Context, bundle string, outputs bool) (whole tamper.Files, err error) {
	if bundle == "" {
		dir, err := os.MkdirTemp("", "sbxcron-selftest-")
		if err != nil {
			return nil, err
		}
		defer os.RemoveAll(dir)
		bundle = filepath.Join(dir, "bundle.tar")
		if _, err := a.writeBundle(ctx, bundle, outputs); err != nil {
			return nil, err
		}
	}
	b, err := evidence.OpenBundle(bundle) // refuses what is none
	if err != nil {
		return nil, fileError(err, "make one with sbxcron audit export --bundle FILE")
	}
	if err := b.Close(); err != nil {
		return nil, err
	}
	f, err := os.Open(bundle)
	if err != nil {
		return nil, fileError(err, "")
	}
	whole, err = tamper.Read(f)
	return whole, errors.Join(err, f.Close())
}

// selftestStatus is 0 only where something was tried and all of it was named. The
// first result is that of the history as it is.
func selftestStatus(all []tamper.Result) error {
	tried, named := 0, 0
	for _, r := range all[1:] {
		if r.Tried {
			tried++
		}
		if r.Named {
			named++
		}
	}
	switch {
	case len(all[0].Failed) > 0 || named < tried:
		return exitStatus(jobspec.ClassAudit.Exit())
	case tried == 0:
		return exitStatus(jobspec.ClassProblems.Exit())
	}
	return nil
}

func (a *App) printSelftest(all []tamper.Result) error {
	t := a.UI.Table("TAMPERING", "NAMED", "VERDICTS THAT FAIL", "PROBLEM")
	for i, r := range all {
		t.Row(r.Tampering, namedWord(i == 0, r), strings.Join(r.Failed, " "), problemWord(r.Problem))
	}
	_, err := t.WriteTo(a.UI.Out)
	return err
}

func namedWord(asItIs bool, r tamper.Result) string {
	switch {
	case asItIs && len(r.Failed) == 0:
		return "-"
	case asItIs || r.Tried && !r.Named:
		return "NO"
	case !r.Tried:
		return "not tried"
	}
	return "yes"
}

func problemWord(p *api.Problem) string {
	if p == nil {
		return ""
	}
	return p.Code + " " + p.Where
}
