package cli

import (
	"fmt"

	"github.com/sbxcron/sbxcron/jobspec"
)

// showRebound tells what changed and what is about to be signed, on one screen.
// Of a single job the whole summary stands below; of several only what differs,
// since everything else is what the owner signed before.
func (a *App) showRebound(all []*rebound, who owner, dryRun bool) {
	signed := 0
	for _, r := range all {
		a.note("job %s", r.Job)
		for _, c := range r.Changes {
			for _, l := range c.Lines() {
				a.note("  %s", l)
			}
		}
		for _, no := range r.Refused {
			a.note("  CANNOT be signed: %s", reasonLine(no))
			if no.Remedy != "" {
				a.note("    do: %s", no.Remedy)
			}
		}
		if len(r.Refused) == 0 {
			signed++
			a.note("  op %s, revision %d, ends %s as before", r.proposal.digest().Short(), r.proposal.op.Revision, r.proposal.op.Spec.ExpiresAt)
		}
		a.note("")
	}
	switch {
	case len(all) == 0:
		a.say("nothing changed since it was signed")
	case dryRun:
		a.say("nothing was signed, nothing was stored")
	case signed == 1 && len(all) == 1:
		a.showProposal(all[0].proposal, who)
	case signed > 0:
		a.note("You are about to sign: replace of %d job(s). They will run WITHOUT YOU. Everything else of them stays as", signed)
		a.note("it was signed; \"sbxcron show NAME\" prints it.")
	}
}

// endRebind prints what became of each job: 3 when something is left to do.
func (a *App) endRebind(all []*rebound, left bool) error {
	for _, r := range all {
		left = left || len(r.Refused) > 0
	}
	if a.flags.json {
		if err := a.items("rebind", all); err != nil {
			return err
		}
	} else if err := a.printRebound(all); err != nil {
		return err
	}
	if left {
		return exitStatus(jobspec.ClassProblems.Exit())
	}
	return nil
}

func (a *App) printRebound(all []*rebound) error {
	if len(all) == 0 {
		return nil
	}
	t := a.UI.Table("JOB", "CHANGES", "REVISION", "SEQ", "OP", "NEXT")
	for _, r := range all {
		if r.Accepted == nil {
			t.Row(string(r.Job), fmt.Sprint(len(r.Changes)), "", "", "not signed", "")
			continue
		}
		t.Row(string(r.Job), fmt.Sprint(len(r.Changes)), fmt.Sprint(r.Revision), fmt.Sprint(r.Seq), r.Op.String(), a.UI.Time(r.Next, a.Now()))
	}
	_, err := t.WriteTo(a.UI.Out)
	return err
}
