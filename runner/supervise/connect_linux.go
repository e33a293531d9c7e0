package supervise

import (
	"encoding/binary"
	"errors"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/sbxcron/sbxcron/jobspec"
)

// judgeConnect lets a connect over IP go on to where the run may connect, and
// refuses and tells every other. Where no local socket exists, what is read here
// can be changed by the caller before the kernel reads it again, so this decides
// nothing that the network namespace and landlock do not decide as well: it is
// here to tell what was tried.
//
// Where local sockets exist, nothing but this decides which of them are reached,
// and an address may become a path after it was judged, and the descriptor another
// socket. So each connect is then made here, with the copy that was judged.
func (s *server) judgeConnect(n *notification) verdict {
	if !s.counting.Load() {
		return verdict{} // the stub measures what the other layers say
	}
	text, errno := readAddress(int(n.pid), n.args[1], n.args[2])
	switch {
	case errno != 0:
		return refuse(errno)
	case len(text) <= 2:
		return verdict{} // too short to lead anywhere, and its length stays as it is
	}
	switch family := binary.NativeEndian.Uint16(text); family {
	case unix.AF_INET, unix.AF_INET6:
		if v := s.judgeInet(n, family, text); v.errno != 0 {
			return v
		}
	case unix.AF_UNIX:
		if text[2] != 0 {
			return s.connectUnix(n, text[2:])
		}
		// an abstract name: those are of the run's own network namespace, where only
		// the job can have made one
	}
	if !s.local.exist() {
		return verdict{}
	}
	return s.connectCopy(n, text)
}

// judgeInet refuses an address that the run may not connect to.
func (s *server) judgeInet(n *notification, family uint16, text []byte) verdict {
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
	fd, errno := socketOf(n)
	if errno != 0 {
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
