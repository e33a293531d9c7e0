package jobspec

import "strconv"

// Bounds of what a spec says about denials.
const (
	maxDenialsRule  = 1000
	maxExpected     = 64
	maxDenialTarget = 200 // of a record's; a longer one would never be met
)

// denialsForm refuses rules about denials that could not mean what their owner
// thinks: an expected denial is met by its exact code and target or not at all.
func (j *judge) denialsForm() {
	d := j.spec.Denials
	if d.OnDenial != "" {
		j.word("on_denial", d.OnDenial, FailWord, "kill")
	}
	if d.Max < 0 || d.Max > maxDenialsRule {
		j.no(CodeSpecMalformed, "denials.max", "%d is not between 1 and %d", d.Max, maxDenialsRule)
	}
	if len(d.Expected) > maxExpected {
		j.no(CodeSpecMalformed, "denials.expected", "%d entries, at most %d", len(d.Expected), maxExpected)
	}
	for i, e := range d.Expected {
		field := "denials.expected[" + strconv.Itoa(i) + "]"
		switch {
		case e.Code == CodeFsProtectedCreated:
			j.no(CodeSpecMalformed, field, "a protected name that a run leaves is looked at, never expected; what the job may make stands in fs.may_create")
		case !canBeExpected(e.Code):
			j.no(CodeSpecMalformed, field, "%s is not the code of something that a run is denied", Quote(string(e.Code)))
		}
		if e.Target == "" || len(e.Target) > maxDenialTarget {
			j.no(CodeSpecMalformed, field, "its target must be the exact text that history shows, 1 to %d bytes", maxDenialTarget)
		}
	}
}

// canBeExpected reports whether a code is that of an attempt that was stopped,
// and not of a limit, of a right of a person, or of the end of a run.
func canBeExpected(c Code) bool {
	attempt := hasAnyPrefix(string(c), "ask_", "esc_", "net_denied_", "fs_denied_") || c == CodeSysDenied
	return attempt && c.Class() == ClassDenied
}
