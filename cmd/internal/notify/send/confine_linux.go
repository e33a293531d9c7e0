package send

import (
	"errors"
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// errNoLandlock means that the kernel has none. The uid, no_new_privs and the
// limits hold all the same.
var errNoLandlock = errors.New("the kernel has no Landlock")

// accessOf are the rights that Landlock of an ABI can take away, landlock(7): all
// that there are, so that what is not given back below is denied.
//
// Ports are not among them: a socket of MPTCP, which Go makes, is none of TCP to it.
func accessOf(abi int) (fs, scoped uint64) {
	fs = 1<<13 - 1
	if abi >= 2 {
		fs |= unix.LANDLOCK_ACCESS_FS_REFER
	}
	if abi >= 3 {
		fs |= unix.LANDLOCK_ACCESS_FS_TRUNCATE
	}
	if abi >= 5 {
		fs |= unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	}
	if abi >= 6 {
		scoped = unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | unix.LANDLOCK_SCOPE_SIGNAL
	}
	return fs, scoped
}

// confine leaves the calling thread, which must be locked, what a client of the
// network needs: to read certificates, the resolver's files and the program, and to
// write nothing. No home is among it, and so no CONF and no STATE of an ordinary
// user; root's are closed to it by its uid.
func confine() error {
	abi, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return errNoLandlock
	}
	var attr unix.LandlockRulesetAttr
	attr.Handled_access_fs, attr.Scoped = accessOf(int(abi))
	size := uintptr(24)
	switch {
	case abi < 4:
		size = 8
	case abi < 6:
		size = 16
	}
	fd, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), size, 0)
	if errno != 0 {
		return fmt.Errorf("make the rules of the sender: %w", errno)
	}
	set := int(fd)
	defer unix.Close(set)
	const read = unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR
	const run = read | unix.LANDLOCK_ACCESS_FS_EXECUTE
	for path, access := range map[string]uint64{"/usr": run, "/lib": run, "/lib64": run, "/etc": read,
		"/run/systemd/resolve": read, "/run/resolvconf": read, "/run/NetworkManager": read} {
		if err := allow(set, path, access); err != nil && !errors.Is(err, unix.ENOENT) {
			return fmt.Errorf("let the sender read %s: %w", path, err)
		}
	}
	// A copy of the program in memory lies on no file system that Landlock knows, and
	// is not confined by it.
	if err := allow(set, "/proc/self/exe", unix.LANDLOCK_ACCESS_FS_READ_FILE|unix.LANDLOCK_ACCESS_FS_EXECUTE); err != nil && !errors.Is(err, unix.EBADFD) {
		return fmt.Errorf("let the sender begin anew: %w", err)
	}
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, uintptr(set), 0, 0); errno != 0 {
		return fmt.Errorf("confine the sender: %w", errno)
	}
	return nil
}

// allow gives rights below a path back. /dev/null is not among them: the runtime
// opens it only where a standard descriptor is missing.
func allow(set int, path string, access uint64) error {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if info, err := os.Stat(path); err == nil && !info.IsDir() {
		access &^= unix.LANDLOCK_ACCESS_FS_READ_DIR
	}
	rule := unix.LandlockPathBeneathAttr{Allowed_access: access, Parent_fd: int32(fd)}
	_, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(set), unix.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(&rule)), 0, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}
