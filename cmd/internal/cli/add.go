package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sbxcron/sbxcron/cmd/internal/api"
	"github.com/sbxcron/sbxcron/cmd/internal/engine"
	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/canon"
	"github.com/sbxcron/sbxcron/scheduler/calendar"
)

// addOptions are those of add, replace and their plans.
type addOptions struct {
	keyFlags
	action  jobspec.Action
	draft   draftFlags
	answers []string
	yes     bool
	dryRun  bool
	out     string // plan: where the bytes go; nothing is signed
}

func newAdd(a *App) *cobra.Command     { return newAuthoring(a, jobspec.Add, false) }
func newReplace(a *App) *cobra.Command { return newAuthoring(a, jobspec.Replace, false) }

func newAuthoring(a *App, action jobspec.Action, plan bool) *cobra.Command {
	o := &addOptions{action: action}
	cmd := &cobra.Command{
		Use:   string(action) + " NAME [flags] -- COMMAND [ARGUMENT...]",
		Short: authoringShort(action, plan),
		Long:  authoringText,
		RunE: func(cmd *cobra.Command, args []string) error {
			return work(func(ctx context.Context, args []string) error {
				if plan && o.out == "" {
					return usageError("--out FILE: say where the bytes go")
				}
				draft, base, err := o.draft.read(cmd, args)
				if err != nil {
					return err
				}
				return a.add(ctx, o, draft, base)
			})(cmd, args)
		},
	}
	f := cmd.Flags()
	o.draft.register(f)
	f.StringVar(&o.key, "key", "", keyUsage)
	f.StringVar(&o.principal, "principal", "", "who will sign, where no key is at hand: with --dry-run and plan only")
	f.StringArrayVar(&o.answers, "answer", nil, "ASK_ID=allow: answer one ask, as --dry-run prints it; may be repeated")
	f.BoolVar(&o.dryRun, "dry-run", false, "print spec, summary, asks and reasons; touch no key")
	if plan {
		f.StringVar(&o.out, "out", "", "file to write the bytes to that are to be signed")
	} else {
		f.BoolVar(&o.yes, "yes", false, "do not ask y/N before signing; asks still need --answer")
	}
	return cmd
}

func authoringShort(action jobspec.Action, plan bool) string {
	switch {
	case plan:
		return "Plan to " + string(action) + " a job"
	case action == jobspec.Replace:
		return "Sign the next revision of a job"
	default:
		return "Approve and sign a new job"
	}
}

const authoringText = `Read a job from flags or from a job.toml, look at everything that it names, judge
it, show in plain words what it may do, ask every question now, and sign it.

On a terminal each ask is shown and answered y or N by itself, then y/N is asked
for the whole. Without one nothing is prompted: each ask is answered with --answer,
and --yes stands for the final y only. An answer is part of what is signed, for this
job as it stands; the next job is asked again.`

// add does it: draft, facts, decision, answers, bytes, signature.
func (a *App) add(ctx context.Context, o *addOptions, d *jobspec.Draft, base string) error {
	if o.principal != "" && !o.dryRun && o.out == "" {
		return usageError("--principal: whoever signs is told by the key; use it with --dry-run or plan")
	}
	site, err := a.Ports.Site(a.flags.root)
	if err != nil {
		return err
	}
	return a.service(ctx, func(svc api.Service) error {
		p, err := a.findPlace(ctx, svc, site, d.Name)
		if err != nil {
			return err
		}
		if err := p.check(o.action, d.Name); err != nil {
			return err
		}
		who, err := a.author(ctx, site, o.keyFlags, o.dryRun || o.out != "")
		if err != nil {
			return err
		}
		if o.action == jobspec.Replace && p.job.Principal != who.principal {
			return notOwner(d.Name, p.job.Principal)
		}
		c, err := a.consider(ctx, site, d, p, who, o.action, base)
		if err != nil {
			return err
		}
		if o.dryRun {
			return a.dryRun(c, o.answers)
		}
		pr, err := a.settle(ctx, c, o.answers)
		if err != nil {
			return err
		}
		if o.out != "" {
			return a.writePlan(pr, o.out)
		}
		return a.finishOp(ctx, svc, who, pr, o.yes)
	})
}

// candidate is an op that was looked at and judged, with its asks open.
type candidate struct {
	op       *jobspec.Op
	input    jobspec.Input
	decision jobspec.Decision
}

// consider makes the op of a draft and judges it.
func (a *App) consider(ctx context.Context, site Site, d *jobspec.Draft, p place, who owner, action jobspec.Action, base string) (candidate, error) {
	op, err := site.Candidate(ctx, d, p.position(action, who), base)
	if err != nil {
		return candidate{}, err
	}
	return a.judged(ctx, site, p, who, op)
}

// judged judges an op that was made.
func (a *App) judged(ctx context.Context, site Site, p place, who owner, op *jobspec.Op) (candidate, error) {
	op.Checkpoint = p.checkpoint
	code, detail := who.judge(jobspec.JobNamespace(op.Tier, op.Net), p.now)
	in, err := site.Examine(ctx, op, code, detail, p.head.Credentials)
	if err != nil {
		return candidate{}, err
	}
	in.Op, in.Jobs = op, p.othersOf(op.Principal, op.Job)
	return candidate{op: op, input: in, decision: jobspec.Decide(jobspec.PhaseAdd, in)}, nil
}

// refusals are the findings that no answer can change.
func (c candidate) refusals() []jobspec.Check {
	var no []jobspec.Check
	for _, f := range c.decision.Refusals() {
		if f.Code != jobspec.CodeCmdAskUnanswered {
			no = append(no, f)
		}
	}
	return no
}

// settle has every ask answered and judges the very bytes once more.
func (a *App) settle(ctx context.Context, c candidate, answers []string) (proposal, error) {
	if no := c.refusals(); len(no) > 0 {
		return proposal{}, refusalError(c.op.Job, no)
	}
	given, err := a.answerAsks(ctx, c, answers)
	if err != nil {
		return proposal{}, err
	}
	c.op.Spec.Answers = given
	pr, err := newProposal(c.op, jobspec.JobNamespace(c.op.Tier, c.op.Net))
	if err != nil {
		return proposal{}, err
	}
	c.input.Op = pr.op
	if d := jobspec.Decide(jobspec.PhaseAdd, c.input); !d.Allowed() {
		return proposal{}, refusalError(c.op.Job, d.Refusals())
	}
	return pr, nil
}

// dryRunDoc is what add --dry-run prints.
type dryRunDoc struct {
	Spec    rawSpec      `json:"spec"`
	Summary []string     `json:"summary"`
	Asks    []dryRunAsk  `json:"asks"`
	Reasons []api.Reason `json:"reasons"`
	Tier    jobspec.Tier `json:"tier"`
	Net     jobspec.Net  `json:"net"`

	// How close two starts may come, and what a writer may not expect of the
	// schedule.
	MinGap   int64              `json:"min_gap_seconds"`
	Warnings []calendar.Warning `json:"warnings"`
	apart    string
}

type dryRunAsk struct {
	ID       string `json:"ask_id"`
	Rule     string `json:"rule"`
	Layer    string `json:"layer"`
	Question string `json:"question"`
	Answered bool   `json:"answered"`
}

// rawSpec is a spec in the form in which it would be signed.
type rawSpec string

// MarshalJSON implements json.Marshaler.
func (r rawSpec) MarshalJSON() ([]byte, error) { return []byte(r), nil }

// dryRun prints what would be signed. It ends like add would where the job is
// refused; an ask that is still open is no refusal here, since to learn of it is
// what a dry run is for.
func (a *App) dryRun(c candidate, answers []string) error {
	given, err := matchAnswers(c.decision.Asks, answers)
	if err != nil {
		return err
	}
	raw, err := canon.Marshal(c.op.Spec)
	if err != nil {
		return fmt.Errorf("encode spec: %w", err)
	}
	doc := dryRunDoc{Spec: rawSpec(raw), Summary: jobspec.Summary(c.op), Tier: c.op.Tier, Net: c.op.Net}
	doc.readSchedule(c.op)
	for _, ask := range c.decision.Asks {
		doc.Asks = append(doc.Asks, dryRunAsk{ask.ID, ask.Rule, ask.Layer, ask.Question, given[ask.ID]})
	}
	for _, no := range c.refusals() {
		doc.Reasons = append(doc.Reasons, reasonOf(no))
	}
	if a.flags.json {
		err = a.item(string(c.op.Action), doc)
	} else {
		a.printDryRun(doc)
	}
	if err == nil && len(doc.Reasons) > 0 {
		return exitStatus(max(doc.Reasons[0].Code.Class().Exit(), 1))
	}
	return err
}

// readSchedule leaves out what a schedule that is refused cannot say; the reasons
// name it.
func (d *dryRunDoc) readSchedule(op *jobspec.Op) {
	if cal, err := calendar.FromSpec(op.Spec.Schedule, op.Created.Time()); err == nil {
		d.MinGap, d.Warnings, d.apart = cal.Gap(), cal.WarningData(), cal.Apart()
	}
}

func (a *App) printDryRun(d dryRunDoc) {
	for _, s := range d.Summary {
		a.line("%s", s)
	}
	if d.apart != "" {
		a.line("%s", d.apart)
	}
	for _, w := range d.Warnings {
		a.line("note: %s", w)
	}
	for _, ask := range d.Asks {
		state := "open: --answer " + ask.ID + "=allow"
		if ask.Answered {
			state = "answered"
		}
		a.line("ask %s (%s):", ask.ID, state)
		for l := range strings.SplitSeq(ask.Question, "\n") {
			a.line("  %s", l)
		}
	}
	for _, r := range d.Reasons {
		a.line("refused: %s", reasonLine(r))
		if r.Remedy != "" {
			a.line("  do: %s", r.Remedy)
		}
	}
	a.line("spec: %s", string(d.Spec))
	a.say("nothing was signed, nothing was stored")
}

// explainDraft judges a job.toml as add would.
func (a *App) explainDraft(ctx context.Context, svc api.Service, o explainOptions) (api.Explanation, error) {
	d, base, err := readJobFile(o.file)
	if err != nil {
		return api.Explanation{}, err
	}
	site, err := a.Ports.Site(a.flags.root)
	if err != nil {
		return api.Explanation{}, err
	}
	p, err := a.findPlace(ctx, svc, site, d.Name)
	if err != nil {
		return api.Explanation{}, err
	}
	who, err := a.knownOwner(site, o.keyFlags)
	if err != nil {
		return api.Explanation{}, err
	}
	action := jobspec.Add
	if p.live() {
		action = jobspec.Replace
	}
	c, err := a.consider(ctx, site, d, p, who, action, base)
	if err != nil {
		return api.Explanation{}, err
	}
	return engine.Explained(c.op, c.decision), nil
}

// workingFolder is where relative names on the command line begin.
func workingFolder() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fileError(err, "go to a folder that exists")
	}
	return filepath.Clean(dir), nil
}
