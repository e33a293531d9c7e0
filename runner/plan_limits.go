package runner

import (
	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/runner/cgroup"
	"github.com/sbxcron/sbxcron/runner/stub"
)

// Names of limits that only processes are held to one by one, as records list
// them: the keys of job.toml, and one that has none.
const (
	SoftMemory   = "memory"
	SoftCPUs     = "cpus"
	SoftTmpFiles = "tmp_files" // a tmpfs bounds bytes, and only memory bounds its files
)

// ownProcesses are in the run's cgroup and not the job's: bwrap, the init of the
// namespace, and for an instant the thread that starts them (cgroup v1).
const ownProcesses = 3

// ownMemory is what the sandbox itself may take beside the job.
const ownMemory = 4 << 20

// nprocSlack lets the cgroup refuse the fork, which counts it; the resource
// limit says nothing to anybody and is the second line.
const nprocSlack = 16

// Bounds are what the run's cgroup is to hold. Copies of approved files lie in
// the sandbox's memory and are not the job's.
func (b *Blueprint) Bounds(h cgroup.Held) cgroup.Want {
	var w cgroup.Want
	if h.Memory && b.Limits.MemoryBytes > 0 {
		w.MemoryBytes = b.Limits.MemoryBytes + ownMemory
		for _, m := range b.Mounts {
			if m.Kind == Copy || m.Kind == Data {
				w.MemoryBytes += m.Size
			}
		}
	}
	if h.PIDs && b.Limits.PIDs > 0 {
		w.PIDs = b.Limits.PIDs + ownProcesses
	}
	if h.CPU {
		w.CPUPercent = b.Limits.CPUPercent
	}
	return w
}

// Soft lists the limits that hold for single processes only. The number of
// processes is not among them: the kernel counts it for the whole user namespace.
func (b *Blueprint) Soft(h cgroup.Held) []string {
	var soft []string
	if b.Limits.MemoryBytes > 0 && !h.Memory {
		soft = append(soft, SoftMemory)
	}
	if b.Limits.CPUPercent > 0 && !h.CPU {
		soft = append(soft, SoftCPUs)
	}
	if !h.Memory || b.Limits.MemoryBytes <= 0 {
		soft = append(soft, SoftTmpFiles)
	}
	return soft
}

// CheckHeld refuses a run whose owner asked for a limit that this machine cannot
// hold for the run as a whole; see jobspec.UnheldLimits.
func (b *Blueprint) CheckHeld(h cgroup.Held, why string) error {
	s := jobspec.Spec{Limits: b.Limits, Weaker: b.Weaker}
	for _, name := range s.UnheldLimits(HeldWords(h)) {
		return refuse(jobspec.CodeSbxFeatureMissing, name, "%s cannot be held for the job as a whole: %s; %s", name, why, jobspec.CgroupRemedy)
	}
	return nil
}

// HeldWords are the capabilities that a backend with such cgroups has.
func HeldWords(h cgroup.Held) []string {
	var all []string
	for _, c := range []struct {
		name string
		has  bool
	}{{jobspec.CapCgroupMemory, h.Memory}, {jobspec.CapCgroupCPU, h.CPU}, {jobspec.CapCgroupPIDs, h.PIDs}} {
		if c.has {
			all = append(all, c.name)
		}
	}
	return all
}

// Numbers of the kernel that limits use (uapi headers).
const (
	rlimitCPU     = 0
	rlimitFSize   = 1
	rlimitData    = 2
	rlimitCore    = 4
	rlimitNProc   = 6
	rlimitNoFile  = 7
	rlimitMemlock = 8
	memlockBytes  = 64 << 10
	mask022       = 0o22
	limitCell     = 16 // where limits are read back to, one after another
)

// limits sets the resource limits. RLIMIT_NPROC counts inside the user
// namespace, so other processes of the uid do not use it up. RLIMIT_CORE is 1:
// it makes files too small to hold anything, and the kernel takes exactly this
// value as "do not start the core pattern's pipe handler" (core(5)).
//
// Where no cgroup holds memory, RLIMIT_DATA bounds each process. It counts what
// is private and writable; RLIMIT_AS would also count address space that is only
// reserved, of which go, node and java take more than any machine has.
func (s *steps) limits() {
	l := s.b.Limits
	for _, r := range []struct {
		resource int64
		name     string
		want     int64
		hard     uint64
	}{
		{rlimitCore, "core", 1, 1},
		{rlimitMemlock, "memlock", memlockBytes, s.m.HardMemlock},
		{rlimitFSize, "fsize", l.FileSizeBytes, s.m.HardFSize},
		{rlimitNoFile, "nofile", l.OpenFiles, s.m.HardNoFile},
		{rlimitNProc, "nproc", s.processes(), s.m.HardNProc},
		{rlimitData, "data", unless(s.m.Held.Memory, l.MemoryBytes), s.m.HardData},
	} {
		if r.want <= 0 {
			continue
		}
		n := min(uint64(r.want), r.hard)
		s.setLimit(r.resource, r.name, n, n)
	}
	if n := min(uint64(max(s.cpuSeconds(), 0)), s.m.HardCPU); n > 0 {
		// At the hard limit comes KILL, which tells nobody why; XCPU comes before.
		s.setLimit(rlimitCPU, "cpu", n, min(n+1, s.m.HardCPU))
	}
	s.row(stub.CallAny, "", "umask", 0, stub.Int(mask022))
	s.call("", "umask", mask022, stub.Int(mask022))
}

func unless(held bool, n int64) int64 {
	if held {
		return 0
	}
	return n
}

func (s *steps) processes() int64 {
	if n := s.b.Limits.PIDs; n > 0 && s.m.Held.PIDs {
		return n + nprocSlack
	}
	return s.b.Limits.PIDs
}

// cpuSeconds is how much CPU time one process gets where nobody holds the share
// of all: as much as the whole job would get in its whole time.
func (s *steps) cpuSeconds() int64 {
	l := s.b.Limits
	if l.CPUPercent <= 0 || s.m.Held.CPU {
		return 0
	}
	return max(l.TimeoutSeconds*l.CPUPercent/100, 1)
}

// setLimit sets a limit and reads it back: that the call returned 0 shows nothing.
func (s *steps) setLimit(resource int64, name string, soft, hard uint64) {
	s.call("", "prlimit64", 0, stub.Int(0), stub.Int(resource), s.t.Words(name, stub.Uint(soft), stub.Uint(hard)), stub.Int(0))
	s.call(LayerRlimits, "prlimit64", 0, stub.Int(0), stub.Int(resource), stub.Int(0), stub.Cell(limitCell, 0))
	s.word(LayerRlimits, "soft limit "+name, int64(soft), stub.Cell(limitCell, 0))
	s.word(LayerRlimits, "hard limit "+name, int64(hard), stub.Cell(limitCell, 8))
}
