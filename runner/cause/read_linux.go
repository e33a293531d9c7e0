package cause

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Read looks at this machine, as this process sees it.
func Read() Facts {
	f := Facts{MaxUserNS: sysctl("user/max_user_namespaces"), UnprivClone: sysctl("kernel/unprivileged_userns_clone"),
		AppArmor: sysctl("kernel/apparmor_restrict_unprivileged_userns"), Landlock: LandlockABI(), Seccomp: seccomp(), Container: container()}
	_, err := os.Stat("/proc/self/ns/user")
	f.UserNS = err == nil
	mode, err := unix.PrctlRetInt(unix.PR_GET_SECCOMP, 0, 0, 0, 0)
	f.Filtered = err == nil && mode == unix.SECCOMP_MODE_FILTER
	f.OverProc, f.ReadOnlyProc = overProc()
	return f
}

func sysctl(name string) int64 {
	b, err := os.ReadFile("/proc/sys/" + name)
	if err != nil {
		return -1
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64)
	if err != nil {
		return -1
	}
	return n
}

// LandlockABI asks the kernel for it (landlock_create_ruleset(2)); 0 is none.
func LandlockABI() int {
	abi, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0
	}
	return int(abi)
}

// seccomp asks for an action that every kernel with filters has, and changes
// nothing. A filter that knows nothing of seccomp(2) can still be set by prctl(2),
// which answers EFAULT for a program that is not there.
func seccomp() bool {
	err := unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, 0, 0, 0)
	return errors.Is(err, unix.EFAULT)
}

// overProc lists what is mounted over parts of /proc, and whether /proc itself
// can only be read. The kernel gives no fresh one in either case (mount_too_revealing
// in its fs/namespace.c); a mount on an empty directory that is always there hides
// nothing.
func overProc() (over []string, readOnly bool) {
	f, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return nil, false
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) < 6 {
			continue
		}
		switch at := fields[4]; {
		case at == "/proc":
			readOnly = strings.HasPrefix(fields[5], "ro")
		case strings.HasPrefix(at, "/proc/") && !alwaysEmpty(at):
			over = append(over, at)
		}
	}
	return over, readOnly
}

// alwaysEmpty are directories of procfs that exist to be mounted on.
func alwaysEmpty(dir string) bool {
	return dir == "/proc/sys/fs/binfmt_misc" || strings.HasPrefix(dir, "/proc/fs/")
}

// container names what tells that this is one.
func container() string {
	for _, path := range []string{"/.dockerenv", "/run/.containerenv"} {
		if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) && err == nil {
			return path
		}
	}
	if _, err := os.Lstat("/run/systemd/container"); err == nil {
		return "/run/systemd/container"
	}
	return ""
}

// LookAt sees what kind of file a sandbox program is, by its descriptor.
func LookAt(fd int, path string) (Program, error) {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return Program{}, fmt.Errorf("look at %s: %w", path, err)
	}
	_, err := unix.Fgetxattr(fd, "security.capability", nil)
	return Program{Path: path, Regular: st.Mode&unix.S_IFMT == unix.S_IFREG, UID: st.Uid, Mode: st.Mode & 0o7777, Caps: err == nil}, nil
}
