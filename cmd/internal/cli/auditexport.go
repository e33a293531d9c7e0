package cli

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/sbxcron/sbxcron/cmd/internal/evidence"
	"github.com/sbxcron/sbxcron/cmd/internal/retell"
	"github.com/sbxcron/sbxcron/store"
)

// exportOptions say what is written; exactly one of the first three.
type exportOptions struct {
	dir, bundle, format string
	outputs             bool
	lines               spanFlags
}

// spanFlags choose lines of the ledger.
type spanFlags struct{ since, until, job string }

func newAuditExport(a *App) *cobra.Command {
	var o exportOptions
	c := &cobra.Command{
		Use:   "export --bundle FILE | --ops DIR | --format jsonl|csv [BUNDLE]",
		Short: "Write a bundle for an auditor, every op for stock ssh-keygen, or lines of the ledger",
		Long: `Write, for somebody else,

  --bundle FILE      what audit verify judges anywhere: ops, trust files, ledger, checkpoints
  --ops DIR          every op with its signature, as ssh-keygen -Y verify takes them
  --format jsonl     lines of the ledger, byte for byte: each is a leaf of the Merkle tree
  --format csv       the same for a spreadsheet, with index and hash of each leaf; for
                     reading, and no evidence by itself

The lines go to standard output, from this machine or from a BUNDLE. On the machine
the owner of the files may ask for them, in system mode root.`,
		Args: cobra.MaximumNArgs(1),
		RunE: work(func(ctx context.Context, args []string) error {
			if err := o.valid(len(args)); err != nil {
				return err
			}
			switch {
			case o.bundle != "":
				return a.auditBundle(ctx, o.bundle, o.outputs)
			case o.dir != "":
				return a.auditExport(ctx, o.dir)
			}
			return a.auditLines(append(args, "")[0], o)
		}),
	}
	f := c.Flags()
	f.StringVar(&o.dir, "ops", "", "folder to write to; it is made, or must be empty")
	f.StringVar(&o.bundle, "bundle", "", "file to write: ops, trust files, ledger and checkpoints, as a tar archive")
	f.BoolVar(&o.outputs, "outputs", false, "with --bundle: what jobs wrote as well, as far as it is kept")
	f.StringVar(&o.format, "format", "", "print lines of the ledger: jsonl, csv")
	f.StringVar(&o.lines.since, "since", "", "with --format: only from this time on: RFC 3339, or 24h, 7d before now")
	f.StringVar(&o.lines.until, "until", "", "with --format: only before this time")
	f.StringVar(&o.lines.job, "job", "", "with --format: only lines about this job")
	return c
}

func (o exportOptions) valid(args int) error {
	chosen := 0
	for _, s := range []string{o.dir, o.bundle, o.format} {
		if s != "" {
			chosen++
		}
	}
	switch {
	case chosen != 1:
		return usageError("--bundle FILE, --ops DIR or --format jsonl|csv: say what is written")
	case o.format == "" && (args > 0 || o.lines != spanFlags{}):
		return usageError("a BUNDLE, --since, --until and --job go with --format")
	case o.format != "" && o.format != "jsonl" && o.format != "csv":
		return usageError("--format %q: want jsonl or csv", o.format)
	case o.bundle == "" && o.outputs:
		return usageError("--outputs goes with --bundle")
	}
	return nil
}

// filter reads the flags.
func (a *App) filter(s spanFlags) (f retell.Filter, err error) {
	if f.Since, err = pointInTime("--since", s.since, a.Now()); err != nil {
		return f, err
	}
	if f.Until, err = pointInTime("--until", s.until, a.Now()); err != nil {
		return f, err
	}
	if s.job != "" {
		f.Job, err = jobArg([]string{s.job})
	}
	return f, err
}

// auditLines prints lines of the ledger: as they are, but escaped to a terminal.
func (a *App) auditLines(bundle string, o exportOptions) error {
	f, err := a.filter(o.lines)
	if err != nil {
		return err
	}
	h, done, err := a.ledger(bundle)
	if err != nil {
		return err
	}
	write := retell.WriteJSONL
	if o.format == "csv" {
		write = retell.WriteCSV
	}
	sink := a.textSink()
	n, err := write(sink, h, f)
	if err := errors.Join(err, sink.Close(), done()); err != nil {
		a.note("%d lines were written before this", n)
		return err
	}
	a.say("%d lines", n)
	return nil
}

// ledger opens the lines of a bundle, or those of the machine. They may be read
// while a service writes behind them.
func (a *App) ledger(bundle string) (*store.History, func() error, error) {
	if bundle != "" {
		b, err := evidence.OpenBundle(bundle)
		if err != nil {
			return nil, nil, fileError(err, "make one with sbxcron audit export --bundle FILE")
		}
		return b.History, b.Close, nil
	}
	site, err := a.Ports.Site(a.flags.root)
	if err != nil {
		return nil, nil, err
	}
	h, err := store.OpenHistory(site.Dirs())
	if err != nil {
		return nil, nil, err
	}
	return h, func() error { return nil }, nil
}
