package client

import (
	"context"
	"fmt"
	"net"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// maxSocketPath is what sockaddr_un holds besides its final NUL (unix(7)).
const maxSocketPath = 107

// dial connects to socket and returns the connection only when the process that
// listens belongs to root or to uid.
func dial(ctx context.Context, socket string, uid int) (net.Conn, error) {
	path, done, err := reachable(socket)
	if err != nil {
		return nil, dialError(socket, err)
	}
	defer done()
	conn, err := (&net.Dialer{Timeout: dialTime}).DialContext(ctx, "unix", path)
	if err != nil {
		return nil, dialError(socket, err)
	}
	server, err := peerUID(conn.(*net.UnixConn))
	if err != nil {
		conn.Close()
		return nil, dialError(socket, err)
	}
	if server != 0 && server != uid {
		conn.Close()
		return nil, foreignServer(socket, server, uid)
	}
	return conn, nil
}

// reachable names a socket so that connect(2) takes it: a path that is too long
// for sockaddr_un goes through the descriptor of its folder. done must be
// called after connecting.
func reachable(socket string) (path string, done func(), err error) {
	if len(socket) <= maxSocketPath {
		return socket, func() {}, nil
	}
	dir, err := unix.Open(filepath.Dir(socket), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return "", nil, fmt.Errorf("open folder of socket: %w", err)
	}
	return fmt.Sprintf("/proc/self/fd/%d/%s", dir, filepath.Base(socket)), func() { unix.Close(dir) }, nil
}

// peerUID asks the kernel who listens: the credentials of the process that
// called listen(2), which nobody can claim for another.
func peerUID(conn *net.UnixConn) (int, error) {
	raw, err := conn.SyscallConn()
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
