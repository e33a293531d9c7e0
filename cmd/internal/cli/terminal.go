package cli

import (
	"errors"
	"slices"

	"github.com/sbxcron/sbxcron/cmd/internal/ui"
	"github.com/sbxcron/sbxcron/jobspec"
)

// confirmSigning asks y/N before ops are signed, as confirm does. Where the
// policy demands a terminal for one of them, only what somebody types there is
// an answer: --yes and --json are refused. The service cannot see where an op was
// signed, so this binds who uses our command line and nobody else.
func (a *App) confirmSigning(yes bool, question string, ops ...*jobspec.Op) error {
	for _, op := range ops {
		needed, err := a.needsTerminal(op)
		if err != nil {
			return err
		}
		if needed {
			return a.confirmOnTerminal(op, question)
		}
	}
	return a.confirm(yes, question)
}

func (a *App) confirmOnTerminal(op *jobspec.Op, question string) error {
	nobody := needFlag("run the command on a terminal, without --json; --yes does not answer here",
		"nothing was signed: the policy demands a person on a terminal for tier %s of %s", op.Tier, op.Principal)
	if a.flags.json {
		return nobody
	}
	if err := a.confirm(false, question); err != nil {
		if !a.UI.Asks || errors.Is(err, ui.ErrNoTerminal) {
			return nobody
		}
		return err
	}
	return nil
}

// needsTerminal looks at what gives authority only: stopping a job needs nobody.
func (a *App) needsTerminal(op *jobspec.Op) (bool, error) {
	switch op.Action {
	case jobspec.Add, jobspec.Replace, jobspec.Enable:
	default:
		return false, nil
	}
	set, err := a.policySet()
	if err != nil {
		return false, err
	}
	c := set.Policy.For(op.Principal).Principals[op.Principal]
	return slices.Contains(c.Require[op.Tier], jobspec.RequireTerminal), nil
}

// confirmHere is confirmSigning for a file that may be meant for another machine:
// only the policy of the machine that the ops are for can demand anything. All ops
// of a file are for one machine.
func (a *App) confirmHere(yes bool, question string, ops ...*jobspec.Op) error {
	if !a.isForHere(ops[0]) {
		return a.confirm(yes, question)
	}
	return a.confirmSigning(yes, question, ops...)
}

func (a *App) isForHere(op *jobspec.Op) bool {
	site, err := a.Ports.Site(a.flags.root)
	if err != nil {
		return false
	}
	pin, err := site.Pin()
	return err == nil && pin.Host == op.Host
}
