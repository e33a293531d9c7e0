package runner

import (
	"fmt"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/runner/seccomp"
	"github.com/sbxcron/sbxcron/runner/stub"
)

// LandlockAlone is the oldest ABI under which landlock alone holds a job: from 3
// on it has a say in truncate(2), from 5 on in ioctls of devices, from 6 on in
// signals, without which a job could end every process of its account.
const LandlockAlone = 6

// LayerScope is measured where no pid namespace is: that no signal leaves the job.
const LayerScope = "scope"

// FirstLocalFD is where a stub without mounts finds the first of its files: the
// program that it executes.
const FirstLocalFD = secondSpareFD

// Local is what a backend without mounts makes of a plan: the same job at places
// of the machine itself. Descriptors are those of the stub.
type Local struct {
	Files  int     // descriptors from FirstLocalFD on
	Cwd    int64   // the directory that the job starts in
	Grants []Grant // what landlock grants; nothing else
	Argv   []string
	Env    []string
	Canary string // a file of the account that nothing grants
	Beside string // a directory of the account that nothing grants
	Peer   int64  // a process of the account that is not the job's
	Tasks  int64  // how many tasks the account has already
}

// Grant gives a right below a directory, or to a file: by a descriptor, or by a
// path that only root can change where FD is 0.
type Grant struct {
	FD    int64
	Path  string
	Right Right
}

// StepsAlone compiles a plan to the table of a stub that nothing lies around: no
// mounts and no namespaces, only landlock and the filters. It refuses a kernel
// whose landlock does not hold a job alone.
func (p *Plan) StepsAlone(m Machine, l Local) (*stub.Table, error) {
	if !p.Valid() || l.Files < 1 || l.Canary == "" || l.Beside == "" || l.Peer <= 1 {
		return nil, refuse(jobspec.CodeInternal, "", "the plan is empty")
	}
	if m.LandlockABI < LandlockAlone {
		return nil, refuse(jobspec.CodeSbxFeatureMissing, "landlock", "landlock ABI %d, at least %d is needed where nothing else holds the job", m.LandlockABI, LandlockAlone)
	}
	base, err := seccomp.Filter(m.Arch)
	if err != nil {
		return nil, fmt.Errorf("compile plan: %w", err)
	}
	alone, err := seccomp.Alone(m.Arch)
	if err != nil {
		return nil, fmt.Errorf("compile plan: %w", err)
	}
	b := *p.b
	b.Argv, b.Env = l.Argv, l.Env
	if b.Limits.PIDs > 0 { // the kernel counts all tasks of the account here
		b.Limits.PIDs += l.Tasks
	}
	s := &lonely{steps: steps{b: &b, m: m, abi: min(m.LandlockABI, landlockNewest)}, l: l}
	s.openLocal()
	s.limits()
	s.ids()
	s.noCapabilities()
	s.place()
	s.reachable()
	s.grant()
	s.seccomp(base)
	s.seccomp(alone)
	s.shut()
	s.listLocal()
	s.execLocal()
	if s.err != nil {
		return nil, fmt.Errorf("compile plan: %w", s.err)
	}
	return &s.t, nil
}

// lonely builds such a table.
type lonely struct {
	steps
	l Local
}

func (s *lonely) last() int64 { return FirstLocalFD + int64(s.l.Files) - 1 }

// openLocal leaves 0, 1, 2, the two pipes and the local files, which end at execve.
func (s *lonely) openLocal() {
	s.call("", "close_range", 0, stub.Int(s.last()+1), stub.Uint(1<<32-1), stub.Int(0))
	s.call("", "close_range", 0, stub.Int(stub.StatusFD), stub.Int(s.last()), stub.Int(closeOnExec))
	s.close(stub.TableFD)
}

// place goes to the work directory by its descriptor and measures that it is it.
func (s *lonely) place() {
	s.call("", "fchdir", 0, stub.Int(s.l.Cwd))
	s.call("", "fstat", 0, stub.Int(s.l.Cwd), stub.Cell(2, 0))
	s.call(LayerCwd, "newfstatat", 0, stub.Int(atCwd), s.t.String("."), stub.Cell(1, 0), stub.Int(0))
	s.same(LayerCwd, "device of the cwd and of what was opened", stub.Cell(1, statDev), stub.Cell(2, statDev))
	s.same(LayerCwd, "inode of the cwd and of what was opened", stub.Cell(1, statIno), stub.Cell(2, statIno))
	if s.b.Cwd.Pin >= 0 {
		s.word(LayerCwd, "device of the cwd", int64(s.b.Cwd.ID.Dev), stub.Cell(1, statDev))
		s.word(LayerCwd, "inode of the cwd", int64(s.b.Cwd.ID.Ino), stub.Cell(1, statIno))
	}
	s.noTTY()
}

// reachable shows what the account may do as long as nothing holds it: rows
// behind the layers, which want a refusal, then show the layers and nothing else.
func (s *lonely) reachable() {
	s.call("", "openat", firstSpareFD, stub.Int(atCwd), s.t.String(s.l.Canary), stub.Int(oReadWrite|oCloexec), stub.Int(0))
	s.close(firstSpareFD)
	s.call("", "kill", 0, stub.Int(s.l.Peer), stub.Int(0))
	s.call("", "fchmodat", 0, stub.Int(atCwd), s.t.String(s.l.Canary), stub.Int(0o600))
	s.call("", "openat", firstSpareFD, stub.Int(atCwd), s.peerFile(), stub.Int(oCloexec), stub.Int(0))
	s.close(firstSpareFD)
}

// peerFile is a file of a process that is not the job's, which everybody may read
// (proc(5)).
func (s *lonely) peerFile() stub.Arg { return s.t.String(fmt.Sprintf("/proc/%d/stat", s.l.Peer)) }

// grant makes the rules. Every local file but the program is closed behind them.
func (s *lonely) grant() {
	attr := rulesetAttr(s.abi)
	s.call("", "landlock_create_ruleset", firstSpareFD, s.t.Bytes(fmt.Sprintf("handled%x", attr), attr), stub.Int(int64(len(attr))), stub.Int(0))
	for _, g := range s.l.Grants {
		bits, fd := g.Right.bits(s.abi), g.FD
		if fd == 0 {
			fd = s.last() + 1
			s.call("", "openat", fd, stub.Int(atCwd), s.t.String(g.Path), stub.Int(oPath|oCloexec), stub.Int(0))
		}
		rule := s.t.Bytes(fmt.Sprintf("%s:%#x", g.Right, bits), pathBeneathAttr(bits, uint32(fd)))
		s.call("", "landlock_add_rule", 0, stub.Int(firstSpareFD), stub.Int(1), rule, stub.Int(0))
		if g.FD == 0 {
			s.close(fd)
		}
	}
	s.noNewPrivs()
	s.call(LayerLandlock, "landlock_restrict_self", 0, stub.Int(firstSpareFD), stub.Int(0))
	s.close(firstSpareFD)
	for fd := int64(FirstLocalFD + 1); fd <= s.last(); fd++ {
		s.close(fd)
	}
}

// shut measures that what was reachable is not any more.
func (s *lonely) shut() {
	s.filtered()
	s.refusedCalls()
	canary := s.t.String(s.l.Canary)
	s.call(LayerLandlock, "openat", errAccess, stub.Int(atCwd), canary, stub.Int(oCloexec), stub.Int(0))
	s.call(LayerLandlock, "openat", errAccess, stub.Int(atCwd), s.t.String(s.l.Beside+"/.sbxcron-probe"), stub.Int(oCreatExclWr|oCloexec), stub.Int(0o600))
	s.call(LayerLandlock, "truncate", errAccess, canary, stub.Int(0))
	if !s.b.Cwd.Writable {
		s.call(LayerLandlock, "openat", errAccess, stub.Int(atCwd), s.t.String(".sbxcron-probe"), stub.Int(oCreatExclWr|oCloexec), stub.Int(0o600))
	}
	s.call(LayerScope, "kill", errPerm, stub.Int(s.l.Peer), stub.Int(0))
	s.call(LayerSeccomp, "fchmodat", errPerm, stub.Int(atCwd), canary, stub.Int(0o600))
	s.call(LayerSeccomp, "shmget", errPerm, stub.Int(0), stub.Int(4096), stub.Int(0))
	s.call(LayerSeccomp, "prlimit64", errPerm, stub.Int(s.l.Peer), stub.Int(rlimitNoFile), stub.Int(0), stub.Int(0))
	s.call(LayerProc, "openat", errAccess, stub.Int(atCwd), s.peerFile(), stub.Int(oCloexec), stub.Int(0))
}

// listLocal measures that nothing is open beside what listFiles expects, and the
// program.
func (s *lonely) listLocal() {
	s.call("", "openat", firstSpareFD, stub.Int(atCwd), s.t.String("/proc/self/fd"), stub.Int(oCloexec), stub.Int(0))
	s.call(LayerFiles, "getdents64", 9*direntSize, stub.Int(firstSpareFD), stub.Cell(4, 0), stub.Int(1024))
	s.close(firstSpareFD)
	for fd := range int64(3) {
		s.call(LayerFiles, "fcntl", 0, stub.Int(fd), stub.Int(fGetFD))
	}
	for fd := int64(stub.StatusFD); fd <= FirstLocalFD; fd++ {
		s.call(LayerFiles, "fcntl", fdCloexec, stub.Int(fd), stub.Int(fGetFD))
	}
}

// execLocal measures that the program is the pinned inode or as long as the sealed
// copy, waits at the barrier and executes it by its descriptor.
func (s *lonely) execLocal() {
	e := s.b.Exec
	s.call("", "fstat", 0, stub.Int(FirstLocalFD), stub.Cell(10, 0))
	if e.Sealed {
		s.word(LayerExec, "size"+OfExecutable, e.Size, stub.Cell(10, statSize))
	} else {
		s.word(LayerExec, "device"+OfExecutable, int64(e.ID.Dev), stub.Cell(10, statDev))
		s.word(LayerExec, "inode"+OfExecutable, int64(e.ID.Ino), stub.Cell(10, statIno))
	}
	s.wait()
	argv := s.t.Strings("argv", s.b.Argv)
	s.call("", "execveat", 0, stub.Int(FirstLocalFD), s.t.String(""), argv, s.environment(), stub.Int(atEmptyPath))
}

// LayerExec is measured where no mount shows the program: that the descriptor
// which is executed is it.
const LayerExec = "executable"
