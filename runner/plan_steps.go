package runner

import (
	"encoding/binary"
	"fmt"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/runner/cgroup"
	"github.com/sbxcron/sbxcron/runner/seccomp"
	"github.com/sbxcron/sbxcron/runner/stub"
)

// Machine is what the stub's table depends on beside the plan.
type Machine struct {
	Arch        seccomp.Arch
	LandlockABI int    // 0 where there is no landlock
	NoFreshProc bool   // a sandbox cannot have a procfs of its own
	HardNoFile  uint64 // hard limits of the service; a job gets at most these
	HardNProc   uint64
	HardFSize   uint64
	HardMemlock uint64
	HardData    uint64
	HardCPU     uint64
	Held        cgroup.Held // what the kernel bounds for the run as a whole
}

// Names of layers, as records list them. Each is the comment of the rows that
// measure it.
const (
	LayerFiles    = "fds"
	LayerRlimits  = "rlimits"
	LayerUID      = "uid"
	LayerCaps     = "capabilities"
	LayerPidNS    = "pidns"
	LayerUserNS   = "userns"
	LayerNetNS    = "netns"
	LayerMounts   = "mounts"
	LayerNoTTY    = "no_tty"
	LayerCwd      = "cwd"
	LayerLandlock = "landlock"
	LayerSeccomp  = "seccomp"
	LayerNNP      = "no_new_privs"
	LayerListener = "listener"
)

// Numbers of the kernel that rows use (uapi headers).
const (
	atCwd         = -100
	atEmptyPath   = 0x1000
	oCloexec      = 0x80000
	oCreatExclWr  = 0x40 | 0x80 | 1
	oReadWrite    = 2
	fGetFD        = 1
	fdCloexec     = 1
	closeOnExec   = 4 // CLOSE_RANGE_CLOEXEC
	prSetNNP      = 38
	prGetNNP      = 39
	prGetSeccomp  = 21
	newUser       = 0x10000000
	siocgifconf   = 0x8912
	ifconfEntry   = 40 // sizeof(struct ifreq): one interface with an address
	afInet        = 2
	sockDgram     = 2
	capVersion3   = 0x20080522
	direntSize    = 24 // of an entry whose name has at most four bytes
	errPerm       = -1
	errNoDevice   = -6
	errAccess     = -13
	errNoSpace    = -28
	errReadOnly   = -30
	errNoCall     = -38
	statDev       = 0 // struct stat of amd64 and arm64
	statIno       = 8
	statSize      = 48
	firstSpareFD  = 3 // the table's, closed at once
	secondSpareFD = 6
	oPath         = 0x200000
)

// ReleaseByte lets the payload of a waiting stub go.
const ReleaseByte byte = 'R'

// Steps compiles the plan to the table of the stub.
func (p *Plan) Steps(m Machine) (*stub.Table, error) {
	if !p.Valid() {
		return nil, refuse(jobspec.CodeInternal, "", "the plan is empty")
	}
	if err := m.admit(p.b); err != nil {
		return nil, err
	}
	filter, err := seccomp.Filter(m.Arch)
	if err != nil {
		return nil, fmt.Errorf("compile plan: %w", err)
	}
	s := &steps{b: p.b, m: m, abi: min(m.LandlockABI, landlockNewest)}
	s.openFiles()
	s.limits()
	s.identity()
	s.mounts()
	s.openProc()
	s.namespaces()
	s.netListeners()
	s.landlock()
	s.seccomp(filter)
	s.listener()
	s.measure()
	s.barrier()
	s.exec()
	if s.err != nil {
		return nil, fmt.Errorf("compile plan: %w", s.err)
	}
	return &s.t, nil
}

// steps builds a table and keeps the first error.
type steps struct {
	b   *Blueprint
	m   Machine
	abi int
	t   stub.Table
	err error
}

func (s *steps) row(kind stub.Kind, layer, name string, want int64, args ...stub.Arg) {
	nr, err := s.m.Arch.Number(name)
	if err != nil && s.err == nil {
		s.err = err
	}
	s.t.Add(stub.Row{Kind: kind, Name: name, NR: nr, Args: args, Want: want, Layer: layer})
}

func (s *steps) call(layer, name string, want int64, args ...stub.Arg) {
	s.row(stub.Call, layer, name, want, args...)
}

func (s *steps) word(layer, what string, want int64, at stub.Arg) {
	s.t.Add(stub.Row{Kind: stub.Word, Name: what, Args: []stub.Arg{at}, Want: want, Layer: layer})
}

func (s *steps) same(layer, what string, x, y stub.Arg) {
	s.t.Add(stub.Row{Kind: stub.Same, Name: what, Args: []stub.Arg{x, y}, Layer: layer})
}

func (s *steps) close(fd int64) { s.call("", "close", 0, stub.Int(fd)) }

// openFiles leaves 0, 1, 2 and the two pipes, which end at execve.
func (s *steps) openFiles() {
	s.call("", "close_range", 0, stub.Int(secondSpareFD), stub.Uint(1<<32-1), stub.Int(0))
	s.call("", "close_range", 0, stub.Int(stub.StatusFD), stub.Int(stub.BarrierFD), stub.Int(closeOnExec))
	s.close(stub.TableFD)
}

// identity measures who the payload will be: the planned ids, no capability,
// and process 2 of a new pid namespace, whose init is the sandbox's.
func (s *steps) identity() {
	s.ids()
	s.call(LayerPidNS, "getpid", 2)
	s.noCapabilities()
	s.boundingSet()
}

func (s *steps) ids() {
	uid, gid := int64(s.b.Account.UID), int64(s.b.Account.GID)
	s.call(LayerUID, "getuid", uid)
	s.call(LayerUID, "geteuid", uid)
	s.call(LayerUID, "getgid", gid)
	s.call(LayerUID, "getegid", gid)
	if s.b.Account.Drop {
		s.call(LayerUID, "getgroups", 0, stub.Int(0), stub.Int(0))
	}
}

func (s *steps) noCapabilities() {
	head := s.t.Bytes("capability_header", binary.LittleEndian.AppendUint64(nil, capVersion3))
	s.call(LayerCaps, "capget", 0, head, stub.Cell(0, 0))
	for i := range 3 {
		s.word(LayerCaps, "capability words", 0, stub.Cell(0, 8*i))
	}
}

// mounts measures what the mounts alone do, before any other layer is there:
// a read-only mount answers EROFS before anybody asks for permissions.
func (s *steps) mounts() {
	s.call("", "openat", firstSpareFD, stub.Int(atCwd), s.t.String(StubPath), stub.Int(oCloexec), stub.Int(0))
	s.close(firstSpareFD)
	dirs := []string{"", "/usr"}
	if !s.b.Cwd.Writable {
		dirs = append(dirs, s.b.Cwd.Path)
	}
	for _, dir := range dirs {
		s.call(LayerMounts, "openat", errReadOnly, stub.Int(atCwd), s.t.String(dir+"/.sbxcron-probe"), stub.Int(oCreatExclWr|oCloexec), stub.Int(0o600))
	}
	s.noTTY()
	s.call(LayerCwd, "newfstatat", 0, stub.Int(atCwd), s.t.String("."), stub.Cell(1, 0), stub.Int(0))
	if s.b.Cwd.Pin >= 0 {
		s.word(LayerCwd, "device of the cwd", int64(s.b.Cwd.ID.Dev), stub.Cell(1, statDev))
		s.word(LayerCwd, "inode of the cwd", int64(s.b.Cwd.ID.Ino), stub.Cell(1, statIno))
	}
}

func (s *steps) noTTY() {
	s.call(LayerNoTTY, "openat", errNoDevice, stub.Int(atCwd), s.t.String("/dev/tty"), stub.Int(oReadWrite|oCloexec), stub.Int(0))
}

// namespaces measures the namespaces alone: no user namespace is left to make,
// and loopback is the only interface with an address.
func (s *steps) namespaces() {
	s.call(LayerUserNS, "unshare", errNoSpace, stub.Int(newUser))
	list := s.t.Words("ifconf", stub.Int(256), stub.Cell(2, 0))
	s.call("", "socket", firstSpareFD, stub.Int(afInet), stub.Int(sockDgram|oCloexec), stub.Int(0))
	s.call(LayerNetNS, "ioctl", 0, stub.Int(firstSpareFD), stub.Int(siocgifconf), list)
	s.word(LayerNetNS, "interfaces with an address", ifconfEntry, list)
	s.close(firstSpareFD)
}

// landlock grants what the blueprint lists and nothing else. Where the kernel has
// none and that was accepted, its rows are left out, and so is the layer.
func (s *steps) landlock() {
	if s.abi < LandlockFloor {
		s.noNewPrivs()
		return
	}
	attr := rulesetAttr(s.abi)
	s.call("", "landlock_create_ruleset", firstSpareFD, s.t.Bytes(fmt.Sprintf("handled%x", attr), attr), stub.Int(int64(len(attr))), stub.Int(0))
	for _, a := range s.access() {
		bits := a.Right.bits(s.abi)
		s.call("", "openat", secondSpareFD, stub.Int(atCwd), s.t.String(a.Path), stub.Int(oPath|oCloexec), stub.Int(0))
		rule := s.t.Bytes(fmt.Sprintf("%s:%#x", a.Right, bits), pathBeneathAttr(bits, secondSpareFD))
		s.call("", "landlock_add_rule", 0, stub.Int(firstSpareFD), stub.Int(1), rule, stub.Int(0))
		s.close(secondSpareFD)
	}
	s.netPorts()
	s.noNewPrivs()
	s.call(LayerLandlock, "landlock_restrict_self", 0, stub.Int(firstSpareFD), stub.Int(0))
	s.close(firstSpareFD)
}

func (s *steps) noNewPrivs() {
	s.call("", "prctl", 0, stub.Int(prSetNNP), stub.Int(1), stub.Int(0), stub.Int(0), stub.Int(0))
}

// seccomp loads the filter: operation 1 sets a filter, without flags.
func (s *steps) seccomp(filter seccomp.Program) {
	code := s.t.Bytes(fmt.Sprintf("filter of %d instructions", len(filter)), filter.Bytes())
	s.call(LayerSeccomp, "seccomp", 0, stub.Int(1), stub.Int(0), s.t.Words("sock_fprog", stub.Int(int64(len(filter))), code))
}

// measure shows that each layer holds now that all are there. The stub's own
// file could be opened before landlock came; the same open must fail now.
func (s *steps) measure() {
	s.filtered()
	if s.abi >= LandlockFloor {
		s.call(LayerLandlock, "openat", errAccess, stub.Int(atCwd), s.t.String(StubPath), stub.Int(oCloexec), stub.Int(0))
	}
	s.closedProc()
	s.refusedCalls()
	s.measured()
	s.listFiles()
}

// filtered measures that there is a filter, and that it cannot be undone.
func (s *steps) filtered() {
	s.call(LayerSeccomp, "prctl", 2, stub.Int(prGetSeccomp), stub.Int(0), stub.Int(0), stub.Int(0), stub.Int(0))
	s.call(LayerNNP, "prctl", 1, stub.Int(prGetNNP), stub.Int(0), stub.Int(0), stub.Int(0), stub.Int(0))
}

// refusedCalls measures some of what the filter refuses.
func (s *steps) refusedCalls() {
	for _, family := range s.b.Watch().Closed() {
		s.call(LayerSeccomp, "socket", errPerm, stub.Int(family), stub.Int(sockDgram|oCloexec), stub.Int(0))
	}
	s.measureNet()
	s.call(LayerSeccomp, "unshare", errPerm, stub.Int(newUser))
	s.call(LayerSeccomp, "io_uring_setup", errNoCall, stub.Int(1), stub.Int(0))
}

// listFiles measures that 0, 1, 2, the two pipes and the directory that is
// being read are all the open files: the listing has so many entries of equal
// size, with . and .., and those five are among them.
func (s *steps) listFiles() {
	s.call("", "openat", firstSpareFD, stub.Int(atCwd), s.t.String("/proc/self/fd"), stub.Int(oCloexec), stub.Int(0))
	s.call(LayerFiles, "getdents64", 8*direntSize, stub.Int(firstSpareFD), stub.Cell(4, 0), stub.Int(1024))
	s.close(firstSpareFD)
	for fd := range int64(3) {
		s.call(LayerFiles, "fcntl", 0, stub.Int(fd), stub.Int(fGetFD))
	}
	s.call(LayerFiles, "fcntl", fdCloexec, stub.Int(stub.StatusFD), stub.Int(fGetFD))
	s.call(LayerFiles, "fcntl", fdCloexec, stub.Int(stub.BarrierFD), stub.Int(fGetFD))
}

// barrier says ready and waits for the byte that lets the payload go.
func (s *steps) barrier() {
	s.execIdentity(10)
	s.close(firstSpareFD)
	s.wait()
}

func (s *steps) wait() {
	s.call("", "write", stub.MessageSize, stub.Int(stub.StatusFD), s.t.Bytes("ready", stub.Ready()), stub.Int(stub.MessageSize))
	s.call("", "read", 1, stub.Int(stub.BarrierFD), stub.Cell(9, 0), stub.Int(1))
	s.word("", "release byte", int64(ReleaseByte), stub.Cell(9, 0))
}

// OfExecutable stands in the names of the rows that compare the executable with
// what was planned.
const OfExecutable = " of the executable"

// execIdentity opens what will be executed and measures that it is the pinned
// inode, or a file of the sandbox's own root that is as long as the sealed copy.
// The descriptor stays open.
func (s *steps) execIdentity(cell int) {
	e := s.b.Exec
	s.call("", "openat", firstSpareFD, stub.Int(atCwd), s.t.String(e.Path), stub.Int(oPath|oCloexec), stub.Int(0))
	s.call("", "fstat", 0, stub.Int(firstSpareFD), stub.Cell(cell, 0))
	if !e.Sealed {
		s.word(LayerMounts, "device"+OfExecutable, int64(e.ID.Dev), stub.Cell(cell, statDev))
		s.word(LayerMounts, "inode"+OfExecutable, int64(e.ID.Ino), stub.Cell(cell, statIno))
	} else {
		s.call("", "newfstatat", 0, stub.Int(atCwd), s.t.String("/"), stub.Cell(12, 0), stub.Int(0))
		s.same(LayerMounts, "device"+OfExecutable+" and of the private root", stub.Cell(cell, statDev), stub.Cell(12, statDev))
		s.word(LayerMounts, "size"+OfExecutable, e.Size, stub.Cell(cell, statSize))
	}
}

// exec looks at the executable once more, since a name in a directory that
// others write may mean another file by now, and starts it. A copy is started by
// the descriptor that was looked at; what only root can change, by its path.
func (s *steps) exec() {
	s.execIdentity(11)
	if s.b.Exec.Sealed {
		s.same(LayerMounts, "inode"+OfExecutable+" before and after", stub.Cell(10, statIno), stub.Cell(11, statIno))
	}
	argv, env := s.t.Strings("argv", s.b.Argv), s.environment()
	if !s.b.Exec.Sealed {
		s.call("", "execve", 0, s.t.String(s.b.Exec.Path), argv, env)
		return
	}
	s.call("", "execveat", 0, stub.Int(firstSpareFD), s.t.String(""), argv, env, stub.Int(atEmptyPath))
}
