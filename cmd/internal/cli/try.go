package cli

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/sbxcron/sbxcron/cmd/internal/api"
	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/signing/keysource"
)

type tryOptions struct {
	draft   draftFlags
	answers []string
	suggest bool
}

// tryName is the job's name where the command line gives none.
const tryName = "try"

// trySchedule stands in for the schedule that a try does not need: it is signed,
// and nothing is due in the time that a try takes.
const trySchedule = "@yearly"

func newTry(a *App) *cobra.Command {
	o := &tryOptions{}
	cmd := &cobra.Command{
		Use:   "try [flags] -- COMMAND [ARGUMENT...]",
		Short: "Run a job once, now, in its sandbox, and keep nothing",
		Long: `Run a job once and now, by the same road as the service: an installation of its own
in a throw-away folder with a key in memory, add, the gate, the sandbox, the record.
It needs no service and no installation, and leaves nothing behind but what the job
itself writes into its folder. Every ask is answered as at add.

It runs as the caller; as root, as --run-as or a throw-away uid. The policy is one
of its own, which allows the caller all that the floor does: what a policy.toml says
is seen with explain -f. There are no credentials.

What the job prints goes to standard output and error, the record to standard error.
With --suggest standard output is the smallest job.toml that the draft would have
needed instead: from what was refused, from the denials in the record, and, marked as
inferred, from well-known messages on the job's standard error.

The exit status is the job's own; 124, 125 and 128+n as in "sbxcron help exit-codes".
--root DIR makes the throw-away folder below DIR.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return work(func(ctx context.Context, args []string) error {
				draft, base, err := o.draft.readNamed(cmd, args, tryName)
				if err != nil {
					return err
				}
				if len(draft.Command) == 0 && draft.Script == (jobspec.Script{}) {
					return usageError("write the command after --, or name a job.toml with -f")
				}
				return a.try(ctx, o, draft, base)
			})(cmd, args)
		},
	}
	o.draft.register(cmd.Flags())
	cmd.Flags().StringArrayVar(&o.answers, "answer", nil, "ASK_ID=allow: answer one ask; may be repeated")
	cmd.Flags().BoolVar(&o.suggest, "suggest", false, "print the job.toml that the draft would have needed")
	return cmd
}

// Trial is a throw-away place for one try.
type Trial struct {
	Root      string // for --root
	Principal jobspec.Principal
	// Attend runs the service of Root without socket and timetable, see daemon.Attend.
	Attend func(ctx context.Context, use func(ctx context.Context, svc api.Service) error) error
	// Interrupts are the signals that end a try.
	Interrupts <-chan os.Signal
	// Done removes Root.
	Done func() error
}

// try makes the place, runs the job in it and takes the place away, whatever
// happens in between.
func (a *App) try(ctx context.Context, o *tryOptions, d *jobspec.Draft, base string) error {
	switch {
	case !a.Platform.Runs() || a.Ports.Trial == nil:
		return a.platformRefusal("try")
	case len(d.Credentials) > 0:
		return ownError(codeUsage, jobspec.ClassUsage, "leave credentials out of what is tried", "a try has no credentials")
	}
	t, err := a.Ports.Trial(a.flags.root)
	if err != nil {
		return withStatus{err, exitNotStarted}
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	again := cancelAtFirst(ctx, t.Interrupts, stop)
	err = a.tried(ctx, &attempt{Trial: t, options: o, draft: d, base: base, again: again})
	if errors.Is(err, context.Canceled) {
		err = withStatus{ownError(codeNotConfirmed, jobspec.ClassOther, "", "interrupted before the job had started"), exitNotStarted}
	}
	if left := t.Done(); left != nil {
		a.note("the throw-away folder is left behind: %s", left)
		if err == nil {
			err = left
		}
	}
	return err
}

// cancelAtFirst cancels at the first signal and reports the second.
func cancelAtFirst(ctx context.Context, signals <-chan os.Signal, cancel func()) <-chan struct{} {
	again := make(chan struct{})
	go func() { // ends with the command: nothing waits for a signal after it
		select {
		case <-signals:
			cancel()
		case <-ctx.Done():
			return
		}
		<-signals
		close(again)
	}()
	return again
}

// attempt is one try, from its draft to its end.
type attempt struct {
	*Trial
	options *tryOptions
	draft   *jobspec.Draft // as typed
	base    string
	again   <-chan struct{} // somebody asks a second time to stop

	app    *App // with Root and the key in memory
	signer keysource.Signer
	site   Site
}

func (a *App) tried(ctx context.Context, t *attempt) error {
	if err := t.install(ctx, a); err != nil {
		return withStatus{err, exitNotStarted}
	}
	c, err := t.add(ctx)
	if err != nil {
		if t.options.suggest && c.op != nil {
			t.suggest(ctx, a, findings{checks: c.refusals(), asks: c.decision.Asks})
		}
		return withStatus{err, exitNotStarted}
	}
	var end tryEnd
	err = t.Attend(ctx, func(ctx context.Context, svc api.Service) error {
		end, err = t.run(ctx, svc, a)
		return err
	})
	if err != nil {
		return withStatus{err, exitNotStarted}
	}
	return t.report(ctx, a, c, end)
}

// install makes the installation: the caller is its one principal, the key is in
// memory only.
func (t *attempt) install(ctx context.Context, a *App) error {
	own := *a
	own.flags.root = t.Root
	signer, err := keysource.Ephemeral()
	if err != nil {
		return err
	}
	own.Ports.Key = func(context.Context, keysource.Source) (keysource.Signer, error) { return signer, nil }
	t.app, t.signer = &own, signer
	dirs, err := own.Ports.Folders(t.Root)
	if err != nil {
		return err
	}
	policy, err := tryPolicy(t.Principal, t.draft, dirs.System())
	if err != nil {
		return err
	}
	i := installation{dirs: dirs, principal: t.Principal, signer: signer, keyRef: signer.KeyID(), policy: policy, now: a.Now()}
	if _, err = i.make(ctx, leftovers{}); err != nil {
		return err
	}
	t.site, err = own.Ports.Site(t.Root)
	return err
}

// add is what "sbxcron add" does, but for the last y/N: to call try is the yes.
// The candidate is returned with the error, so that its refusals can be used.
func (t *attempt) add(ctx context.Context) (candidate, error) {
	var c candidate
	err := t.app.service(ctx, func(svc api.Service) error {
		var err error
		if c, err = t.consider(ctx, svc, t.draft, jobspec.Add); err != nil {
			return err
		}
		pr, err := t.app.settle(ctx, c, t.options.answers)
		if err != nil {
			return err
		}
		sig, err := t.signer.Sign(ctx, pr.namespace, pr.bytes)
		if err != nil {
			return err
		}
		_, err = svc.Submit(ctx, api.Submission{Op: pr.bytes, Sig: sig})
		return err
	})
	return c, err
}

func (t *attempt) consider(ctx context.Context, svc api.Service, draft *jobspec.Draft, action jobspec.Action) (candidate, error) {
	d := *draft
	if d.Cron == "" && d.Every == 0 && d.At.IsZero() {
		d.Cron = trySchedule
	}
	p, err := t.app.findPlace(ctx, svc, t.site, d.Name)
	if err != nil {
		return candidate{}, err
	}
	who, err := t.app.openOwner(ctx, t.site, keyFlags{key: t.signer.KeyID()})
	if err != nil {
		return candidate{}, err
	}
	c, err := t.app.consider(ctx, t.site, &d, p, who, action, t.base)
	if err != nil {
		return c, fmt.Errorf("job %q: %w", d.Name, err)
	}
	return c, nil
}
