package supervise

import (
	"encoding/binary"
	"errors"
	"net/netip"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/runner/witness"
)

// judgeConnect lets a connect go on to where the run may connect, and refuses and
// tells every other. What it reads can be changed by the caller before the kernel
// reads it again, so this decides nothing that the network namespace, landlock and
// the mounts do not decide as well: it is here to tell what was tried.
func (s *server) judgeConnect(n *notification) verdict {
	if !s.counting.Load() {
		return verdict{} // the stub measures what the other layers say
	}
	text, errno := readAddress(int(n.pid), n.args[1], n.args[2])
	switch {
	case errno != 0:
		return refuse(errno)
	case len(text) < 2:
		return verdict{} // the kernel says EINVAL
	}
	switch family := binary.NativeEndian.Uint16(text); family {
	case unix.AF_INET, unix.AF_INET6:
		return s.connectInet(n, family, text)
	case unix.AF_UNIX:
		return s.connectUnix(n, text[2:])
	}
	return verdict{} // AF_UNSPEC ends a connection; of others there is no socket
}

func (s *server) connectInet(n *notification, family uint16, text []byte) verdict {
	to, ok := inetAddress(family, text)
	if !ok {
		return verdict{} // the kernel says EINVAL
	}
	addr := to.Addr().Unmap()
	if addr.IsLoopback() && (slices.Contains(s.ports, to.Port()) || s.isDatagram(n)) {
		return verdict{} // asked by the C library to sort addresses, or the run's own
	}
	if !s.valid(n.id) {
		return refuse(unix.EINTR) // nobody hears it
	}
	s.tell(Event{Code: jobspec.CodeNetDeniedDirect, Target: netip.AddrPortFrom(addr, to.Port()).String(), Count: 1, Rule: "netns"})
	if addr.IsLoopback() {
		return refuse(unix.ECONNREFUSED) // nobody listens there
	}
	return refuse(unix.ENETUNREACH)
}

// inetAddress reads struct sockaddr_in or sockaddr_in6.
func inetAddress(family uint16, text []byte) (netip.AddrPort, bool) {
	size, at := 4, 4
	if family == unix.AF_INET6 {
		size, at = 16, 8
	}
	if len(text) < at+size {
		return netip.AddrPort{}, false
	}
	addr, _ := netip.AddrFromSlice(text[at : at+size])
	return netip.AddrPortFrom(addr, binary.BigEndian.Uint16(text[2:])), true
}

// isDatagram reports whether the caller's socket is one of datagrams, which
// nobody answers on this loopback.
func (s *server) isDatagram(n *notification) bool {
	pidfd, err := unix.PidfdOpen(leader(int(n.pid)), 0)
	if err != nil {
		return false
	}
	defer unix.Close(pidfd)
	fd, err := unix.PidfdGetfd(pidfd, int(int32(n.args[0])), 0)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	kind, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TYPE)
	return err == nil && kind == unix.SOCK_DGRAM
}

// leader is the process that a thread belongs to: only it can be held.
func leader(tid int) int {
	text, err := os.ReadFile(procPath(tid, "status"))
	if err != nil {
		return tid
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "Tgid:"); ok {
			if pid, err := strconv.Atoi(strings.TrimSpace(rest)); err == nil {
				return pid
			}
		}
	}
	return tid
}

// connectUnix judges the path of a local socket. Abstract names are those of the
// run's own network namespace, where only the job itself can have made one.
func (s *server) connectUnix(n *notification, name []byte) verdict {
	if len(name) == 0 || name[0] == 0 {
		return verdict{}
	}
	to := path.Clean(string(trimZero(name)))
	if slices.Contains(s.sockets, to) || s.isOwn(to) {
		return verdict{}
	}
	if !s.valid(n.id) {
		return refuse(unix.EINTR)
	}
	e := Event{Code: jobspec.CodeEscUnixSocket, Target: witness.Words([]string{to}), Count: 1}
	switch {
	case to == "/var/run/nscd/socket" || to == "/run/nscd/socket":
		e.Rule, e.Expected = "builtin:nscd", true
	case jobspec.NeverSocket(to) != "":
		e.Code = socketCode(jobspec.NeverSocket(to))
	}
	s.tell(e)
	return refuse(unix.ENOENT) // as the kernel says: it is not mounted
}

// socketCode says under which code a service is recorded that no job may use.
func socketCode(what string) jobspec.Code {
	switch what {
	case "D-Bus", "systemd":
		return jobspec.CodeEscDBus
	case "docker", "podman", "containerd", "a container or machine manager":
		return jobspec.CodeEscContainerSock
	case "an ssh agent":
		return jobspec.CodeEscAgentSock
	}
	return jobspec.CodeEscUnixSocket
}

// isOwn reports whether a path lies where only the job's own sockets can be: it
// may make and use local sockets in its private places.
func (s *server) isOwn(to string) bool {
	for _, dir := range []string{"/tmp/", jobspec.JobHome + "/", "/scratch/", "/dev/shm/"} {
		if strings.HasPrefix(to, dir) {
			return true
		}
	}
	return to[0] != '/'
}

func trimZero(b []byte) []byte {
	if i := slices.Index(b, 0); i >= 0 {
		return b[:i]
	}
	return b
}

// maxSockaddr is the size of struct sockaddr_storage.
const maxSockaddr = 128

// readAddress reads a socket address from the caller's memory.
func readAddress(pid int, address, size uint64) ([]byte, unix.Errno) {
	length := int(int32(size))
	if length < 0 || length > maxSockaddr {
		return nil, unix.EINVAL // as the kernel says
	}
	buf := make([]byte, length)
	if length == 0 {
		return buf, 0
	}
	local := []unix.Iovec{{Base: &buf[0], Len: uint64(length)}}
	got, err := unix.ProcessVMReadv(pid, local, []unix.RemoteIovec{{Base: uintptr(address), Len: length}}, 0)
	if errors.Is(err, unix.EFAULT) {
		return nil, unix.EFAULT
	}
	if err != nil || got != length {
		return nil, unix.EACCES
	}
	return buf, 0
}
