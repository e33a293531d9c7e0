package supervise

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"os"
	"path"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"
)

// builtin is something that ordinary programs try without anybody having asked
// for it. It is refused and recorded like everything else, and only does not count
// against the run.
type builtin struct {
	rule  string    // as records have it
	args  [3]uint64 // of socket: family, kind with its flags, protocol; of an open: its flags
	by    string    // the program or, as lib*.so.*, the library that makes it, "" for any
	why   string
	shown string // a command that shows it
}

// byLibrary stands for the system's C library, in whatever program.
const byLibrary = "libc.so.6"

// byUUID makes ids. It has no other use for a network.
const byUUID = "libuuid.so.1"

// builtinSockets are sockets that libraries of the system want by themselves. The
// same call from any other code is no entry of the table.
var builtinSockets = []builtin{
	{"builtin:nscd", [3]uint64{unix.AF_UNIX, unix.SOCK_STREAM | unix.SOCK_CLOEXEC | unix.SOCK_NONBLOCK, 0}, byLibrary,
		"looking up an account or a host asks the name service's cache first", "ls -l"},
	{"builtin:addresses", [3]uint64{unix.AF_NETLINK, unix.SOCK_RAW | unix.SOCK_CLOEXEC, unix.NETLINK_ROUTE}, "",
		"looking up a host asks for the machine's own addresses first, and many programs list them", "getent ahosts localhost"},
	{"builtin:syslog", [3]uint64{unix.AF_UNIX, unix.SOCK_DGRAM | unix.SOCK_CLOEXEC, 0}, byLibrary,
		"syslog(3) connects before it knows whether anybody listens", "python3 -c 'import syslog; syslog.syslog(\"x\")'"},
	{"builtin:uuid", [3]uint64{unix.AF_UNIX, unix.SOCK_STREAM, 0}, byUUID, "making an id asks the keeper of ids first", "python3 -c 'import uuid; uuid.uuid1()'"},
	{"builtin:uuid", [3]uint64{unix.AF_INET, unix.SOCK_DGRAM, 0}, byUUID, "an id has the number of a network card, read through a socket that sends nothing", "python3 -c 'import uuid; uuid.uuid1()'"},
	{"builtin:logger", [3]uint64{unix.AF_UNIX, unix.SOCK_DGRAM, 0}, "logger", "scripts leave notes with it; it does what syslog(3) does", "logger x"},
	{"builtin:logger", [3]uint64{unix.AF_UNIX, unix.SOCK_STREAM, 0}, "logger", "it tries both kinds of socket", "logger x"},
}

// builtinTerminals are opens of the terminal by programs that ask nobody.
var builtinTerminals = []builtin{
	{"builtin:bash", [3]uint64{unix.O_RDWR | unix.O_NONBLOCK}, "bash", "each bash looks at its start whether there is a terminal", "bash -c true"},
	{"builtin:ps", [3]uint64{unix.O_RDONLY | unix.O_NONBLOCK | unix.O_NOCTTY}, "ps", "it asks the terminal for its width", "ps ax"},
}

// builtinBits are files with rights of their own that are of use without them.
var builtinBits = []struct{ rule, path, why, shown string }{
	{"builtin:ssh-agent", "/usr/bin/ssh-agent", "its set-group-id bit only keeps others from tracing it", "ssh-agent -c"},
	{"builtin:mount", "/usr/bin/mount", "everybody may list mounts; one that makes some is told of as such", "mount"},
}

// expectedBy marks an event that an entry of a table stands for.
func expectedBy(table []builtin, e Event, n *notification, args [3]uint64) Event {
	for _, b := range table {
		if args == b.args && n.madeBy(b.by) {
			e.Rule, e.Expected = b.rule, true
		}
	}
	return e
}

// madeBy reports whether a call was made by a program or library. A job can forge
// it, and changes by that the label of what was refused, nothing else.
func (n *notification) madeBy(who string) bool {
	if who == "" {
		return true
	}
	if strings.HasPrefix(who, "lib") {
		return n.byLibrary(who)
	}
	var buf [unix.PathMax]byte
	l, err := unix.Readlink(procPath(int(n.pid), "exe"), buf[:])
	return err == nil && path.Base(string(buf[:l])) == who
}

// byLibrary reports whether a library of the system made a call: the call stands in
// the C library, and what it returns to stands in the one that made it. On arm64 the
// latter is kept in a register which nobody can read here: for the C library the
// first must do there, and no other is told apart.
func (n *notification) byLibrary(name string) bool {
	if runtime.GOARCH != "amd64" {
		return name == byLibrary && inLibraries(int(n.pid), map[uint64]string{n.ip: byLibrary})
	}
	back, err := returnAddress(int(n.pid))
	return err == nil && inLibraries(int(n.pid), map[uint64]string{n.ip: byLibrary, back: name})
}

// returnAddress is the top of the caller's stack: the library's system calls push
// nothing onto it.
func returnAddress(pid int) (uint64, error) {
	text, err := os.ReadFile(procPath(pid, "syscall"))
	if err != nil {
		return 0, err
	}
	var nr int
	var args [6]uint64
	var sp, pc uint64
	if _, err := fmt.Sscanf(string(text), "%d %v %v %v %v %v %v %v %v", &nr, &args[0], &args[1], &args[2], &args[3], &args[4], &args[5], &sp, &pc); err != nil {
		return 0, err
	}
	var word [8]byte
	local := []unix.Iovec{{Base: &word[0], Len: uint64(len(word))}}
	if _, err := unix.ProcessVMReadv(pid, local, []unix.RemoteIovec{{Base: uintptr(sp), Len: len(word)}}, 0); err != nil {
		return 0, err
	}
	return binary.LittleEndian.Uint64(word[:]), nil
}

// inLibraries reports whether each place lies in code of its library of the system.
func inLibraries(pid int, places map[uint64]string) bool {
	f, err := os.Open(procPath(pid, "maps"))
	if err != nil {
		return false
	}
	defer f.Close()
	found := 0
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var from, to uint64
		fields := strings.Fields(lines.Text())
		if len(fields) != 6 || !strings.HasPrefix(fields[5], "/usr/") && !strings.HasPrefix(fields[5], "/lib") {
			continue
		}
		if _, err := fmt.Sscanf(fields[0], "%x-%x", &from, &to); err != nil || !strings.Contains(fields[1], "x") {
			continue
		}
		for p, name := range places {
			if p >= from && p < to && library(fields[5]) == name {
				found++
			}
		}
	}
	return found == len(places)
}

// library is the name that programs have for a library's file: of the C library
// that of the file, of others with a shorter version than the file's.
func library(file string) string {
	name := path.Base(file)
	if i := strings.Index(name, ".so."); i >= 0 {
		major, _, _ := strings.Cut(name[i+len(".so."):], ".")
		return name[:i+len(".so.")] + major
	}
	return name
}
