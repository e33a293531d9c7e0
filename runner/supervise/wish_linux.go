package supervise

import (
	"fmt"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/runner/seccomp"
	"github.com/sbxcron/sbxcron/runner/witness"
)

// wishCodes say under which code a wish is recorded. Sockets have one for each
// family.
var wishCodes = map[seccomp.Wish]jobspec.Code{
	seccomp.Namespaces: jobspec.CodeEscUserns,
	seccomp.Mounts:     jobspec.CodeEscMount,
	seccomp.Tracing:    jobspec.CodeEscPtrace,
	seccomp.BPF:        jobspec.CodeEscBPF,
	seccomp.Modules:    jobspec.CodeEscModule,
	seccomp.Keyrings:   jobspec.CodeEscKeyctl,
	seccomp.Machine:    jobspec.CodeSysDenied,
}

// judgeWish refuses a call and tells of it. Nothing that the caller could change
// decides: the answer is the same for all of them.
func (s *server) judgeWish(n *notification, what shape) verdict {
	if !s.counting.Load() {
		return refuse(unix.EPERM) // the stub measures
	}
	switch what.wish {
	case seccomp.Sockets:
		s.tell(s.socket(n))
	default:
		s.tell(Event{Code: wishCodes[what.wish], Target: witness.Words(s.words(n, what.told)), Count: 1})
	}
	return refuse(unix.EPERM)
}

// tell counts an event of the job.
func (s *server) tell(e Event) {
	if s.counting.Load() {
		s.attempts.add(e)
	}
}

// words say what a call wanted: its name and what tells one wish from another.
func (s *server) words(n *notification, name string) []string {
	switch name {
	case "unshare":
		return append([]string{name}, namespaceWords(n.args[0])...)
	case "clone":
		return append([]string{name}, namespaceWords(n.args[0]&^exitSignal)...)
	case "mount", "open_tree", "open_tree_attr", "fspick":
		return append([]string{name}, s.pathWord(n, 1)...)
	case "umount2", "pivot_root", "chroot", "fsopen", "swapon", "swapoff", "acct":
		return append([]string{name}, s.pathWord(n, 0)...)
	case "ptrace":
		return []string{name, requestWord(n.args[0])}
	case "ioctl":
		return []string{name, map[uint32]string{unix.TIOCSTI: "TIOCSTI", unix.TIOCLINUX: "TIOCLINUX"}[uint32(n.args[1])]}
	}
	return []string{name}
}

// pathWord reads a path for the record. What cannot be read has none.
func (s *server) pathWord(n *notification, arg int) []string {
	path, errno := readString(int(n.pid), n.args[arg])
	if errno != 0 {
		return nil
	}
	return []string{path}
}

// exitSignal are the bits of clone's flags that are a signal. The bit of a time
// namespace is one of them, and no signal has it.
const exitSignal = 0x7f

func namespaceWords(flags uint64) []string {
	var all []string
	for _, ns := range []struct {
		bit  uint64
		word string
	}{{unix.CLONE_NEWUSER, "user"}, {unix.CLONE_NEWNS, "mount"}, {unix.CLONE_NEWPID, "pid"}, {unix.CLONE_NEWNET, "net"},
		{unix.CLONE_NEWIPC, "ipc"}, {unix.CLONE_NEWUTS, "uts"}, {unix.CLONE_NEWCGROUP, "cgroup"}, {unix.CLONE_NEWTIME, "time"}} {
		if flags&ns.bit != 0 {
			all = append(all, ns.word)
		}
	}
	return all
}

func requestWord(request uint64) string {
	switch request {
	case unix.PTRACE_TRACEME:
		return "traceme"
	case unix.PTRACE_ATTACH:
		return "attach"
	case unix.PTRACE_SEIZE:
		return "seize"
	}
	return fmt.Sprint(request)
}

// families are the names of socket families in records; others have numbers.
var families = map[uint32]struct {
	name string
	code jobspec.Code
}{
	unix.AF_UNIX:      {"AF_UNIX", jobspec.CodeEscUnixSocket},
	unix.AF_INET:      {"AF_INET", jobspec.CodeNetDeniedDirect},
	unix.AF_INET6:     {"AF_INET6", jobspec.CodeNetDeniedDirect},
	unix.AF_NETLINK:   {"AF_NETLINK", jobspec.CodeSysDenied},
	unix.AF_PACKET:    {"AF_PACKET", jobspec.CodeNetDeniedDirect},
	unix.AF_VSOCK:     {"AF_VSOCK", jobspec.CodeNetDeniedDirect},
	unix.AF_BLUETOOTH: {"AF_BLUETOOTH", jobspec.CodeNetDeniedDirect},
	unix.AF_ALG:       {"AF_ALG", jobspec.CodeSysDenied},
}

// socket says which socket was refused.
func (s *server) socket(n *notification) Event {
	family, kind := uint32(n.args[0]), uint32(n.args[1])
	f, known := families[family]
	if !known {
		f.name, f.code = fmt.Sprintf("AF_%d", family), jobspec.CodeSysDenied
	}
	words := []string{f.name}
	if t := kind & 0xf; t != unix.SOCK_STREAM && t != unix.SOCK_DGRAM && family != unix.AF_NETLINK {
		words = append(words, "raw")
	}
	e := Event{Code: f.code, Target: strings.Join(words, " "), Count: 1}
	return expectedBy(builtinSockets, e, n, [3]uint64{uint64(family), uint64(kind), uint64(uint32(n.args[2]))})
}
