//go:build unix && !linux

package safefile

import "golang.org/x/sys/unix"

// dirFlags open a folder to walk through.
const dirFlags = unix.O_RDONLY | unix.O_DIRECTORY

// openPart opens one part of a path below dir and follows no link: a single
// part has no other place for one than its end, which O_NOFOLLOW covers.
func openPart(dir int, name string, flags int) (int, error) {
	for {
		fd, err := unix.Openat(dir, name, flags|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0)
		if err != unix.EINTR {
			return fd, err
		}
	}
}
