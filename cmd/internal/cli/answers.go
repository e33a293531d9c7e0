package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/sbxcron/sbxcron/cmd/internal/api"
	"github.com/sbxcron/sbxcron/cmd/internal/ui"
	"github.com/sbxcron/sbxcron/jobspec"
)

// answerLength is how many characters of an ask's id must be typed: enough that
// nobody answers by holding down a key.
const answerLength = 4

// answerAsks gets the owner's answer to each ask: from --answer, else on a
// terminal one by one. Whoever is not there answers nothing: all open asks are
// then refused at once, with the flags to use.
func (a *App) answerAsks(c candidate, flags []string) ([]jobspec.Answer, error) {
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
		allowed, err := a.askOwner(ask, i+1, len(open))
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

// askOwner shows one question and waits for the first characters of its id.
func (a *App) askOwner(ask jobspec.Ask, n, of int) (bool, error) {
	prompt := fmt.Sprintf("Question %d of %d (rule %s, ask %s):\n  %s\nType %s to allow it, anything else to stop: ",
		n, of, ui.Escape(ask.Rule), ask.ID, ui.Escape(ask.Question), ask.ID[:answerLength])
	typed, err := a.UI.Ask(prompt)
	if err != nil {
		return false, err
	}
	return len(typed) >= answerLength && strings.HasPrefix(ask.ID, typed), nil
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
