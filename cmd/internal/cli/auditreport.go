package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"github.com/sbxcron/sbxcron/cmd/internal/evidence"
	"github.com/sbxcron/sbxcron/cmd/internal/retell"
	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/signing"
	"github.com/sbxcron/sbxcron/store"
)

type reportOptions struct {
	span              spanFlags
	format, out, sign string
}

func newAuditReport(a *App) *cobra.Command {
	var o reportOptions
	c := &cobra.Command{
		Use:   "report --since TIME [BUNDLE]",
		Short: "Tell who approved what, what ran, what was refused and denied, and what did not run",
		Long: `Tell, of a span of time: who approved what; what ran and how it ended; what was
refused, denied, or did not run, and why; which trust files, keys and policies were
in force; what somebody did by hand, with the uid; what was pruned. Each row names
the leaf or op that shows it; audit verify shows that those were not changed.

With --out FILE --sign KEY the report is signed by a key of an owner, and
FILE.sig is written beside it, for namespace report.v1@sbxcron:

  ssh-keygen -Y verify -f allowed_signers -I PRINCIPAL -n report.v1@sbxcron -s FILE.sig < FILE

Exit status 3: part of the history could not be read, which the report says too.`,
		Args: cobra.MaximumNArgs(1),
		RunE: work(func(ctx context.Context, args []string) error { return a.auditReport(ctx, append(args, "")[0], o) }),
	}
	f := c.Flags()
	f.StringVar(&o.span.since, "since", "", "from this time on: RFC 3339, or 24h, 7d before now")
	f.StringVar(&o.span.until, "until", "", "before this time; else until now")
	f.StringVar(&o.span.job, "job", "", "only of this job")
	f.StringVar(&o.format, "format", "text", "text, html, json")
	f.StringVar(&o.out, "out", "", "file to write; it must not exist yet")
	f.StringVar(&o.sign, "sign", "", "with --out: key to sign the report with: a file, or SHA256:... of one in ssh-agent")
	return c
}

func (a *App) auditReport(ctx context.Context, bundle string, o reportOptions) error {
	if o.span.since == "" {
		return usageError("--since TIME: say from when on")
	}
	if o.sign != "" && o.out == "" {
		return usageError("--sign goes with --out FILE: a signature is about the bytes of a file")
	}
	filter, err := a.filter(o.span)
	if err != nil {
		return err
	}
	if filter.Until.IsZero() {
		filter.Until = a.Now()
	}
	src, done, err := a.reportSource(ctx, bundle)
	if err != nil {
		return err
	}
	report := retell.Make(src, filter)
	if err := done(); err != nil {
		return err
	}
	text, err := a.rendered(report, o.format)
	if err != nil {
		return err
	}
	if err := a.handOver(ctx, text, o); err != nil {
		return err
	}
	for _, u := range report.Unread {
		a.note("not all can be read: %s", u)
	}
	if len(report.Unread) > 0 {
		return exitStatus(jobspec.ClassProblems.Exit())
	}
	return nil
}

func (a *App) rendered(r *retell.Report, format string) ([]byte, error) {
	if a.flags.json {
		format = "json"
	}
	switch format {
	case "text":
		return r.Text(), nil
	case "html":
		return r.HTML()
	case "json":
		var b bytes.Buffer
		err := writeJSON(&b, document{Schema: schema("report"), Item: r})
		return b.Bytes(), err
	}
	return nil, usageError("--format %q: want text, html or json", format)
}

// handOver prints the report, or writes it with its signature. The signature is made
// first: a key that cannot sign leaves no file behind.
func (a *App) handOver(ctx context.Context, text []byte, o reportOptions) error {
	if o.out == "" {
		_, err := a.UI.Out.Write(text)
		return err
	}
	if o.sign == "" {
		return writeNew(o.out, text, 0o600)
	}
	key, err := a.openKey(ctx, o.sign)
	if err != nil {
		return err
	}
	sig, err := key.Sign(ctx, retell.ReportNamespace, text)
	if err != nil {
		return err
	}
	if err := writeNew(o.out, text, 0o600); err != nil {
		return err
	}
	if err := writeNew(o.out+".sig", signing.Armor(sig), 0o600); err != nil {
		return errors.Join(err, os.Remove(o.out))
	}
	a.say("signed by %s", key.KeyID())
	a.line("ssh-keygen -Y verify -f allowed_signers -I PRINCIPAL -n %s -s %s.sig < %s", retell.ReportNamespace, shellWord(o.out), shellWord(o.out))
	return nil
}

// reportSource opens a bundle, or the files of the machine; ops come from the service
// where one runs, since it holds the chain.
func (a *App) reportSource(ctx context.Context, bundle string) (src retell.Source, done func() error, err error) {
	done = func() error { return nil }
	var dirs store.Dirs
	if bundle != "" {
		b, err := evidence.OpenBundle(bundle)
		if err != nil {
			return src, nil, fileError(err, "make one with sbxcron audit export --bundle FILE")
		}
		src.Ops, src.Lines, dirs, done = b.Ops, b.History, b.Dirs, b.Close
	} else {
		site, err := a.Ports.Site(a.flags.root)
		if err != nil {
			return src, nil, err
		}
		dirs = site.Dirs()
		h, err := store.OpenHistory(dirs) // before the ops: a line names none that is not there
		if err != nil {
			return src, nil, err
		}
		src.Lines = h
		if src.Ops, err = a.entries(ctx, dirs); err != nil {
			return src, nil, err
		}
	}
	note, err := os.ReadFile(dirs.Checkpoint())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return src, nil, errors.Join(fmt.Errorf("newest checkpoint: %w", err), done())
	}
	src.Checkpoint = string(note)
	if src.Trust, err = store.AllTrust(dirs, store.AllowedSigners); err != nil {
		return src, nil, errors.Join(err, done())
	}
	return src, done, nil
}
