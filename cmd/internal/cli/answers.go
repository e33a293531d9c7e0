package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/sbxcron/sbxcron/cmd/internal/api"
	"github.com/sbxcron/sbxcron/cmd/internal/ui"
	"github.com/sbxcron/sbxcron/jobspec"
)

// answerAsks gets the owner's answer to each ask: from --answer, else on a
// terminal one by one. Whoever is not there answers nothing: all open asks are
// then refused at once, with the flags to use.
func (a *App) answerAsks(ctx context.Context, c candidate, flags []string) ([]jobspec.Answer, error) {
	given, err := matchAnswers(c.decision.Asks, flags)
	if err != nil {
		return nil, err
	}
	var answers []jobspec.Answer
	var open []jobspec.Ask
	for _, ask := range c.decision.Asks {
		if !given[ask.ID] {
			open = append(open, ask)
			continue
		}
		answers = append(answers, ask.Answer())
	}
	if len(open) > 0 && a.flags.json {
		return nil, unanswered(c.op.Job, open)
	}
	for i, ask := range open {
		allowed, err := a.askOwner(ctx, ask, i+1, len(open))
		switch {
		case errors.Is(err, ui.ErrNoTerminal):
			return nil, unanswered(c.op.Job, open)
		case err != nil:
			return nil, err
		case !allowed:
			return nil, ownError(codeNotConfirmed, jobspec.ClassOther, "", "ask %s was not allowed; nothing was signed", ask.ID)
		}
		answers = append(answers, ask.Answer())
	}
	return answers, nil
}

// askOwner shows one question where it is answered, and takes y or yes for an
// answer. Anything else, the end of the input too, is no.
func (a *App) askOwner(ctx context.Context, ask jobspec.Ask, n, of int) (bool, error) {
	prompt := fmt.Sprintf("Question %d of %d, ask %s:\n", n, of, ask.ID)
	for _, l := range ask.Lines() {
		prompt += "  " + ui.Escape(l) + "\n"
	}
	allowed, err := a.confirmed(ctx, prompt+"Allow it, for this job only?")
	if errors.Is(err, io.EOF) {
		return false, nil
	}
	return allowed, err
}

// confirmed is UI.Confirm that does not outlast ctx. The goroutine that waits at
// the terminal then ends with the process, which is what cancels ctx.
func (a *App) confirmed(ctx context.Context, question string) (bool, error) {
	type reply struct {
		yes bool
		err error
	}
	got := make(chan reply, 1)
	go func() {
		yes, err := a.UI.Confirm(question)
		got <- reply{yes, err}
	}()
	select {
	case r := <-got:
		return r.yes, r.err
	case <-ctx.Done():
		return false, ctx.Err()
	}
}

// matchAnswers reads --answer ASK_ID=allow. An answer to a question that is not
// asked is an error: it was meant for another job or another revision.
func matchAnswers(asks []jobspec.Ask, flags []string) (map[string]bool, error) {
	given := map[string]bool{}
	for _, f := range flags {
		id, word, ok := strings.Cut(f, "=")
		if !ok || word != "allow" {
			return nil, usageError("--answer %q: want ASK_ID=allow; an ask that is not allowed is not answered", f)
		}
		if !askExists(asks, id) {
			e := api.New(jobspec.CodeAskAnswerStale, fmt.Sprintf("--answer %q: no such ask", f))
			e.Help = "the job or its rules have changed; read the asks again with --dry-run"
			return nil, e
		}
		given[id] = true
	}
	return given, nil
}

func askExists(asks []jobspec.Ask, id string) bool {
	for _, a := range asks {
		if a.ID == id {
			return true
		}
	}
	return false
}

// unanswered refuses with every open ask and the flag that answers it.
func unanswered(job jobspec.Name, open []jobspec.Ask) error {
	e := api.New(jobspec.CodeCmdAskUnanswered, fmt.Sprintf("job %q has %d unanswered ask(s)", job, len(open)))
	e.Job = job
	var flags []string
	for _, ask := range open {
		flag := "--answer " + ask.ID + "=allow"
		flags = append(flags, flag)
		e.Reasons = append(e.Reasons, api.Reason{Code: jobspec.CodeCmdAskUnanswered, Layer: ask.Layer, Rule: ask.Rule,
			Target: ask.ID, Detail: ask.Question, Remedy: flag})
	}
	e.Help = "if you mean it, add " + strings.Join(flags, " ")
	return e
}
