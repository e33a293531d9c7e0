package socket

import (
	"fmt"
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
