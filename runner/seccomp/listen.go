package seccomp

import "slices"

// Flags of open(2) that the listener's rules look at. O_DIRECTORY is one of the
// few that differ between architectures.
const (
	openAccess         = 3 // O_ACCMODE
	openCloexec        = 0x80000
	openNew            = 0x40 | 0x80 // O_CREAT and O_EXCL: only a new file will do
	openPath           = 0x200000
	openDirectoryAMD64 = 0x10000
	openDirectoryARM64 = 0x4000
)

// Opens says which families of sockets exist for a job. The zero value is none.
type Opens struct {
	Inet bool `json:"inet,omitempty"` // IPv4 and IPv6: streams and datagrams
	Unix bool `json:"unix,omitempty"` // local streams
}

// Watch says what the listener of a run is asked about beside what is told of
// every run.
type Watch struct {
	Names bool // files of the host are opened by names that somebody else can move
	Opens Opens
}

// Listener makes the second program of a run: calls that are refused and told,
// that execute a file, or that open one by its name, wait for the answer of
// whoever holds the listener. When nobody does, they fail with ENOSYS. Everything
// else passes; what the first program refuses stays refused, since the kernel
// takes the stricter answer of the two (seccomp(2), SECCOMP_RET_USER_NOTIF).
func Listener(a Arch, w Watch) (Program, error) {
	if made, ok := listeners[listenerOf{a, w}]; ok {
		p, err := made()
		return slices.Clone(p), err
	}
	return makeListener(a, w)
}

func makeListener(a Arch, w Watch) (Program, error) {
	return a.make(append(openRules(a, w), toldRules(w.Opens)...), newestReviewed+1, Allow)
}

// openRules are the calls that bring bytes of a named file into a process, and
// the ways in which programs open a terminal to ask somebody. Opens that want a
// directory or only a place, or that make a new file, need no answer. openat2 and
// io_uring, which could open too, do not exist for a job.
//
// Without names of the host only terminals are looked for. Whoever opens one to
// write does not make a new file; whoever only reads it, the shell for one, does
// not keep it from its children, which almost all other opens for reading do.
func openRules(a Arch, w Watch) []rule {
	directory := uint32(openDirectoryAMD64)
	if a == ARM64 {
		directory = openDirectoryARM64
	}
	var all []rule
	for _, o := range []struct {
		call  string
		flags uint32
	}{{"open", 1}, {"openat", 2}} {
		file := test{o.flags, directory | openPath, equal, 0}
		old := test{o.flags, openNew, notEqual, openNew}
		all = append(all, rule{o.call, Notify, []test{{o.flags, openAccess, notEqual, 0}, file, old}})
		if w.Names {
			all = append(all, rule{o.call, Notify, []test{{o.flags, openAccess, equal, 0}, file, old}})
		} else {
			all = append(all, rule{o.call, Notify, []test{{o.flags, openAccess | openCloexec, equal, 0}, file, old}})
		}
	}
	return append(all, rule{"execve", Notify, nil}, rule{"execveat", Notify, nil})
}

// Closed are families of sockets that the job cannot have: of IPv4 and local
// sockets those that were not opened, and packets of the network itself.
func (w Watch) Closed() []int64 {
	var all []int64
	if !w.Opens.Inet {
		all = append(all, afInet)
	}
	if !w.Opens.Unix {
		all = append(all, afUnix)
	}
	return append(all, afPacket)
}
