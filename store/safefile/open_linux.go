package safefile

import "golang.org/x/sys/unix"

// dirFlags open a folder to walk through; O_PATH needs no right to list it.
const dirFlags = unix.O_PATH | unix.O_DIRECTORY

// openPart opens one part of a path below dir. RESOLVE_NO_SYMLINKS answers
// ELOOP for a link in any place, RESOLVE_BENEATH keeps ".." out (openat2(2)).
// O_NOFOLLOW must not be added: with O_PATH it would open the link itself.
func openPart(dir int, name string, flags int) (int, error) {
	how := unix.OpenHow{
		Flags:   uint64(flags | unix.O_CLOEXEC),
		Resolve: unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS | unix.RESOLVE_BENEATH,
	}
	for {
		fd, err := unix.Openat2(dir, name, &how)
		if err == unix.EINTR || err == unix.EAGAIN { // EAGAIN: a rename ran at the same time
			continue
		}
		return fd, err
	}
}
