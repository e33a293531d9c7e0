package socket

import (
	"errors"
	"fmt"
	"net"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// maxPath is what sockaddr_un holds besides its final NUL (unix(7)).
const maxPath = 107

// Reachable names a socket so that bind(2) and connect(2) take it: a path that is
// too long for sockaddr_un goes through the descriptor of its folder, which done
// closes. Call done once the socket is bound or connected.
func Reachable(path string) (short string, done func(), err error) {
	if len(path) <= maxPath {
		return path, func() {}, nil
	}
	dir, err := unix.Open(filepath.Dir(path), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return "", nil, fmt.Errorf("open folder of socket: %w", err)
	}
	short = fmt.Sprintf("/proc/self/fd/%d/%s", dir, filepath.Base(path))
	return short, func() { _ = unix.Close(dir) }, nil // O_PATH: nothing can be lost
}

// PeerUID is the uid that the kernel noted for the process at the other end when
// it called connect(2) or listen(2) (SO_PEERCRED, unix(7)); nobody can claim it
// for another. The pid is never used: pids are given out anew.
func PeerUID(c net.Conn) (int, error) {
	local, ok := c.(*net.UnixConn)
	if !ok {
		return -1, errors.New("look at peer: not a unix socket")
	}
	raw, err := local.SyscallConn()
	if err != nil {
		return -1, fmt.Errorf("look at peer: %w", err)
	}
	var cred *unix.Ucred
	var credErr error
	if err := raw.Control(func(fd uintptr) {
		cred, credErr = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	}); err != nil {
		return -1, fmt.Errorf("look at peer: %w", err)
	}
	if credErr != nil {
		return -1, fmt.Errorf("look at peer: %w", credErr)
	}
	return int(cred.Uid), nil
}
