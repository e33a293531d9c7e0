package child

import (
	"fmt"
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// SocketPair makes a pair that keeps messages apart. The child's end blocks. Who
// names the process on that end.
func SocketPair(who string) (*net.UnixConn, *os.File, error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("make a socket to the %s: %w", who, err)
	}
	ours, theirs := os.NewFile(uintptr(fds[0]), who), os.NewFile(uintptr(fds[1]), who)
	defer ours.Close()
	conn, err := net.FileConn(ours)
	if err != nil {
		theirs.Close()
		return nil, nil, fmt.Errorf("make a socket to the %s: %w", who, err)
	}
	return conn.(*net.UnixConn), theirs, nil
}
