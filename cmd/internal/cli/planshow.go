package cli

import (
	"fmt"
	"strings"

	"github.com/sbxcron/sbxcron/cmd/internal/api"
	"github.com/sbxcron/sbxcron/jobspec"
)

// finish writes the plan where nothing is refused, and says what it is.
func (f *folderPlan) finish() error {
	var ops []proposal
	var refused error
	for _, i := range f.items {
		if i.refusal != nil && refused == nil {
			refused = i.refusal
		}
		if i.proposal != nil {
			ops = append(ops, *i.proposal)
		}
	}
	switch {
	case refused == nil && len(ops) > api.MaxPlan:
		return fileError(fmt.Errorf("%d ops, at most %d go into one plan", len(ops), api.MaxPlan), "split the folder")
	case refused == nil && len(ops) > 0 && !f.o.dryRun:
		if err := writeNew(f.o.out, joinPlan(ops), 0o644); err != nil {
			return err
		}
	}
	if err := f.print(ops, refused != nil); err != nil {
		return err
	}
	switch {
	case refused != nil:
		return exitStatus(max(api.Wrap(refused).Exit, 1))
	case f.o.dryRun && len(ops) > 0:
		return exitStatus(jobspec.ClassProblems.Exit())
	}
	return nil
}

func (f *folderPlan) print(ops []proposal, refused bool) error {
	if f.flags.json {
		return f.App.items("plan", f.items)
	}
	for _, i := range f.items {
		f.printItem(i)
	}
	f.printOthers()
	switch {
	case refused:
		f.note("nothing was planned: mend what is refused, and plan again")
	case len(ops) == 0:
		f.line("nothing to do: what the files say is in force")
	case f.o.dryRun:
		f.say("%d op(s); nothing was written", len(ops))
	default:
		f.line("%s: %d op(s), seq %d to %d", shellWord(f.o.out), len(ops), ops[0].op.Seq, ops[len(ops)-1].op.Seq)
		file := shellWord(f.o.out)
		f.say("next: sbxcron sign %s, then before %s and before any other op: sbxcron apply %s %s.sig", file, ops[0].op.ApplyBefore, file, file)
	}
	return nil
}

// printItem shows what is planned for one job, and why it cannot be.
func (f *folderPlan) printItem(i *planItem) {
	if i.Action == planKeep || i.Action == planLeave || i.Action == planSkip {
		return
	}
	head := i.Action + " " + string(i.Job)
	if i.File != "" {
		head += " (" + i.File + ")"
	}
	if len(i.Changes) > 0 {
		head += ": " + strings.Join(i.Changes, ", ")
	}
	f.line("%s", head)
	for _, w := range i.Words {
		f.line("    %s", w)
	}
	for _, no := range i.Refused {
		f.line("    REFUSED: %s", reasonLine(no))
		if no.Remedy != "" {
			f.line("      do: %s", no.Remedy)
		}
	}
}

// printOthers names the jobs that nothing is planned for, though somebody may have
// expected it.
func (f *folderPlan) printOthers() {
	named := func(action string) (names []string) {
		for _, i := range f.items {
			if i.Action == action {
				names = append(names, string(i.Job))
			}
		}
		return names
	}
	if left := named(planLeave); len(left) > 0 {
		f.line("in force and in no file: %s (they stay; --prune plans to remove them)", strings.Join(left, ", "))
	}
	if off := named(planSkip); len(off) > 0 {
		f.line("disabled, left alone: %s (enable or replace them by name)", strings.Join(off, ", "))
	}
}
