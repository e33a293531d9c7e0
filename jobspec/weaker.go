package jobspec

import "slices"

// The weaker choices: the only ways to run with less. None runs a job without a
// sandbox or without its probe.
const (
	WeakerBackendLandlock = "weaker_backend_landlock"
	WeakerNestedSandbox   = "weaker_nested_sandbox"
	WeakerSoftLimits      = "weaker_soft_limits"
	WeakerExecPackage     = "weaker_exec_identity_package"
	WeakerLandlockMissing = "weaker_landlock_missing"
)

// weakerTable says of each weaker choice what it costs. Where a machine has what
// a choice does without, the job gets it all the same.
func weakerTable() []struct{ name, text string } {
	return []struct{ name, text string }{
		{WeakerBackendLandlock, "reduces security: no namespaces around the job, only Landlock and the system call filter"},
		{WeakerNestedSandbox, "reduces security: no fresh /proc, for a service that itself runs in a container"},
		{WeakerSoftLimits, "reduces security: memory and CPU are bounded for each process, not for the job as a whole"},
		{WeakerExecPackage, "reduces security: a program that a package upgrade replaced runs without a new signature"},
		{WeakerLandlockMissing, "reduces security: paths are held by mounts alone, without Landlock behind them"},
	}
}

// WeakerChoices are the names of the weaker choices.
func WeakerChoices() []string {
	var all []string
	for _, w := range weakerTable() {
		all = append(all, w.name)
	}
	return all
}

// WeakerText says what a weaker choice costs, "" for a name that is none.
func WeakerText(name string) string {
	for _, w := range weakerTable() {
		if w.name == name {
			return w.text
		}
	}
	return ""
}

// weakerWords tell of a choice in one line, whatever its name is.
func weakerWords(name string) string {
	if text := WeakerText(name); text != "" {
		return name + " " + text
	}
	return Quote(name) + " reduces security"
}

// Accepts reports whether the owner accepted a weaker choice in the spec. That
// the machine permits it too is what Decide looks at.
func (s *Spec) Accepts(choice string) bool { return slices.Contains(s.Weaker, choice) }

// weaker: a weaker choice needs both the managed file and the signed spec.
func (j *judge) weaker(p *Policy) {
	for _, w := range j.spec.Weaker {
		switch {
		case !slices.Contains(WeakerChoices(), w):
			j.no(CodeWeakerForbidden, w, "there is no such choice")
		case !slices.Contains(p.Weaker, w):
			j.no(CodeWeakerForbidden, w, "policy.toml does not permit it")
		}
	}
	if !slices.Contains(j.spec.Backend.AnyOf, BackendLandlock) {
		return
	}
	if !j.spec.Accepts(WeakerBackendLandlock) {
		j.no(CodeWeakerForbidden, WeakerBackendLandlock, "backend.any_of names landlock, and the spec does not accept what that costs")
	}
	if j.in.Host.System {
		j.no(CodeWeakerForbidden, WeakerBackendLandlock, "a service that is root never runs a job without namespaces")
	}
}
