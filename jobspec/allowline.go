package jobspec

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// again is the command that signs the job anew, from its own file or flags.
func (j *judge) again(with string) string {
	return strings.TrimSpace("sbxcron replace " + string(j.op.Job) + " -f FILE " + with)
}

// ceilingLine is a line of the principal's table, with the files that it has to
// be written to: a file that narrows is not lifted by what another one grants.
func (j *judge) ceilingLine(line string) string {
	name := string(j.op.Principal)
	if strings.ContainsAny(name, ".@") {
		name = Quote(name)
	}
	return fmt.Sprintf("%s, [principals.%s]: %s", j.ceilingFile(), name, line)
}

func (j *judge) ceilingFile() string {
	switch {
	case j.layer == LayerOwner:
		return j.ownFile()
	case j.managed == nil || len(j.managed.Further) == 0:
		return policyFile
	}
	return policyFile + " and, where it is narrower, " + strings.Join(j.managed.Further, ", ")
}

// ownFile is the file that the principal keeps for the own jobs.
func (j *judge) ownFile() string { return "owner.d/" + string(j.op.Principal) + ".toml" }

// ruleFile is the file that a rule stands in.
func (j *judge) ruleFile(id string) string {
	if j.in.Policy != nil {
		for _, r := range j.in.Policy.Rules {
			if r.ID == id {
				return orElse(r.File, policyFile)
			}
		}
	}
	return policyFile
}

// listed is a list of the ceiling with one more entry.
func (j *judge) listed(field string, have func(Ceiling) []string, more string) string {
	c, _ := j.ceiling()
	quoted := []string{}
	for _, s := range append(slices.Clone(have(c)), more) {
		quoted = append(quoted, Quote(s))
	}
	return j.ceilingLine(fmt.Sprintf("%s = [%s]", field, strings.Join(quoted, ", ")))
}

// built is an allowance for a field whose work this version does; for another one
// nobody can write anything that helps.
func (j *judge) built(field, allowance string) string {
	for _, f := range laterTable() {
		if f.name == field && f.used(j.op) {
			return ""
		}
	}
	return allowance
}

func roundUp(d, unit time.Duration) time.Duration {
	return (d + unit - 1) / unit * unit
}
