package jobspec

import "slices"

// The backends that this version has. What is not one of them is refused by name.
const (
	BackendBwrap    = "bwrap"
	BackendLandlock = "landlock"
)

// Backends are the names of the backends, the stronger first.
func Backends() []string { return []string{BackendBwrap, BackendLandlock} }

// isNoBackend knows the words with which other tools switch the sandbox off.
func isNoBackend(word string) bool {
	switch word {
	case "", "none", "local", "host", "off", "no", "false", "direct", "elevated", "unsandboxed":
		return true
	}
	return false
}

// ChooseBackend picks the sandbox of a run: the first of the names in any_of that
// works on this machine for this spec. It goes on to the next name only where
// the one before lacks something that lasts until somebody mends the machine. A
// backend that merely failed just now is the answer, and refuses the run: what
// makes it fail for a moment, such as a job that used up what it needs, must not
// bring the next job into a weaker one. Nothing is tried again once a run began.
func ChooseBackend(s *Spec, probe func(name string) Sandbox) Sandbox {
	var first Sandbox
	for _, name := range s.Backend.AnyOf {
		b := probe(name)
		if b.Usable && len(b.missing(s)) == 0 {
			return b
		}
		if first.Backend == "" {
			first = b
		}
		if !b.Usable && !b.Lasting {
			return b
		}
	}
	return first
}

// missing are the weaker choices that a spec would have to accept.
func (b Sandbox) missing(s *Spec) []string {
	var all []string
	for _, need := range b.Needs {
		if !s.Accepts(need) {
			all = append(all, need)
		}
	}
	return all
}

// sandbox: a backend that the owner accepts works here, now.
func (j *judge) sandbox() {
	b := j.in.Sandbox
	switch {
	case b.Backend == "" || !b.Usable:
		j.finding(Check{Code: orElse(b.Problem, CodeSbxSelftestFailed), Target: orElse(b.Backend, DefaultBackend),
			Detail: orElse(b.Detail, "no backend was probed"), Remedy: b.Remedy})
		return
	case !slices.Contains(j.spec.Backend.AnyOf, b.Backend):
		j.no(CodeSbxBackendMissing, b.Backend, "the owner accepts only %s", QuoteAll(j.spec.Backend.AnyOf))
	}
	for _, choice := range b.missing(j.spec) {
		j.finding(Check{Code: CodeSbxFeatureMissing, Target: choice,
			Detail: "backend " + Quote(b.Backend) + " works here only with what that choice does without: " + orElse(b.Detail, WeakerText(choice)), Remedy: b.Remedy})
	}
	for _, need := range j.spec.Backend.Require {
		j.needs(b, need)
	}
	if j.op.Net == NetProxy || len(j.spec.Sockets) > 0 {
		j.needs(b, "netns")
	}
	j.wholeLimits(b)
}

func (j *judge) needs(b Sandbox, capability string) {
	if !slices.Contains(b.Capabilities, capability) {
		j.no(CodeSbxFeatureMissing, capability, "backend %s lacks it", Quote(b.Backend))
	}
}
