package runner

import (
	"slices"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/runner/stub"
)

// FreshProc is the capability of a machine on which a sandbox can have a procfs
// of its own. The kernel refuses one in a container whose own is masked in part.
const FreshProc = "fresh_proc"

// LayerProc is measured where the procfs is that of the machine around the
// sandbox: that landlock closes it.
const LayerProc = "closed_proc"

// admit refuses a machine that lacks what the plan does not do without. Without
// landlock nothing closes a procfs that shows other processes, so the two weaker
// choices do not go together.
func (m Machine) admit(b *Blueprint) error {
	noLandlock := m.LandlockABI < LandlockFloor
	switch {
	case noLandlock && !b.Accepts(jobspec.WeakerLandlockMissing):
		return refuse(jobspec.CodeSbxFeatureMissing, "landlock", "landlock ABI %d, at least %d is needed", m.LandlockABI, LandlockFloor)
	case m.NoFreshProc && !b.Accepts(jobspec.WeakerNestedSandbox):
		return refuse(jobspec.CodeSbxFeatureMissing, FreshProc, "the sandbox cannot have a procfs of its own here")
	case m.NoFreshProc && noLandlock:
		return refuse(jobspec.CodeSbxFeatureMissing, "landlock", "the sandbox cannot have a procfs of its own here, and landlock ABI %d cannot close the other one", m.LandlockABI)
	}
	return nil
}

// ClosedProc is what landlock grants of a procfs that is not the sandbox's own:
// what tells of the machine as any job sees it, and the files of the payload's
// own process. Nothing tells of other processes. What is not granted, and works
// all the same since landlock has no say in it: reading links such as
// /proc/self/exe, and opening what is open already through /dev/fd.
func ClosedProc() []Access {
	var all []Access
	for _, name := range []string{"cpuinfo", "filesystems", "loadavg", "meminfo", "stat", "uptime", "version"} {
		all = append(all, Access{Path: "/proc/" + name, Right: ReadFile})
	}
	return append(all, Access{Path: "/proc/sys", Right: Read}, Access{Path: "/proc/self", Right: Read})
}

// access is what landlock grants on this machine.
func (s *steps) access() []Access {
	if !s.m.NoFreshProc {
		return s.b.Access
	}
	all := slices.DeleteFunc(slices.Clone(s.b.Access), func(a Access) bool { return a.Path == "/proc" })
	return append(all, ClosedProc()...)
}

// otherProcess is a file of a process that is not the job's, in a procfs that is
// not the sandbox's own. Everybody may read it (proc(5)).
const otherProcess = "/proc/1/stat"

// openProc shows that the procfs does tell of other processes until landlock is
// there.
func (s *steps) openProc() {
	if s.m.NoFreshProc {
		s.call("", "openat", firstSpareFD, stub.Int(atCwd), s.t.String(otherProcess), stub.Int(oCloexec), stub.Int(0))
		s.close(firstSpareFD)
	}
}

// closedProc measures that it does not any more.
func (s *steps) closedProc() {
	if s.m.NoFreshProc {
		s.call(LayerProc, "openat", errAccess, stub.Int(atCwd), s.t.String(otherProcess), stub.Int(oCloexec), stub.Int(0))
	}
}
