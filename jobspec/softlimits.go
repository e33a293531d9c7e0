package jobspec

import "slices"

// Capabilities of a backend that holds a limit for a run as a whole: what all
// its processes use together.
const (
	CapCgroupMemory = "cgroup_memory"
	CapCgroupCPU    = "cgroup_cpu"
	CapCgroupPIDs   = "cgroup_pids"
)

// CgroupRemedy says how a service comes to a cgroup of its own.
const CgroupRemedy = "let the service have a cgroup of its own: Delegate=yes in its unit, or start it with systemd-run --user --scope -p Delegate=yes (root leaves --user out)"

// UnheldLimits names the limits of memory and CPU that the owner asked for and
// that a backend with these capabilities holds for single processes only. A limit
// at its default was asked for by nobody: it is held as well as the machine can,
// and the record says how well. The owner who accepts weaker_soft_limits gets the
// same for all.
func (s *Spec) UnheldLimits(capabilities []string) []string {
	if s.Accepts(WeakerSoftLimits) {
		return nil
	}
	return s.Limits.unheld(capabilities)
}

func (l Limits) unheld(capabilities []string) []string {
	def := DefaultLimits()
	var all []string
	for _, x := range []struct {
		name, needs string
		got, def    int64
	}{
		{"limits.memory", CapCgroupMemory, l.MemoryBytes, def.MemoryBytes},
		{"limits.cpus", CapCgroupCPU, l.CPUPercent, def.CPUPercent},
	} {
		if x.got > 0 && x.got != x.def && !slices.Contains(capabilities, x.needs) {
			all = append(all, x.name)
		}
	}
	return all
}

// wholeLimits: what the owner wants held can be held here. At add that is not
// asked: the service may have what the owner's own session has not.
func (j *judge) wholeLimits(b Sandbox) {
	if j.phase != PhaseTrigger && j.phase != PhaseExplain {
		return
	}
	for _, name := range j.spec.UnheldLimits(b.Capabilities) {
		j.finding(Check{Code: CodeSbxFeatureMissing, Target: name, Detail: "this machine holds it for each process and not for the job as a whole",
			Remedy: CgroupRemedy})
	}
}
