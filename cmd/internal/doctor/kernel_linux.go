package doctor

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Kernel fills what the kernel tells of itself: Landlock, user namespaces and
// the clock.
func (f *Facts) Kernel() {
	f.Landlock = landlockABI()
	f.Userns = usernsProblem()
	f.Synchronised = synchronised()
}

// landlockABI asks for the version, as landlock_create_ruleset(2) describes it:
// no attributes and LANDLOCK_CREATE_RULESET_VERSION.
func landlockABI() int {
	abi, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0
	}
	return int(abi)
}

// usernsProblem reads the switches that refuse user namespaces; whether they
// really work is what the sandbox's own probe tries.
func usernsProblem() string {
	if n, known := sysctl("user/max_user_namespaces"); known && n == 0 {
		return "user.max_user_namespaces is 0"
	}
	if n, known := sysctl("kernel/unprivileged_userns_clone"); known && n == 0 && os.Getuid() != 0 {
		return "kernel.unprivileged_userns_clone is 0"
	}
	if _, err := os.Stat("/proc/self/ns/user"); err != nil {
		return "this kernel has no user namespaces"
	}
	return ""
}

func sysctl(name string) (int64, bool) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/sys/%s", name))
	if err != nil {
		return 0, false
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64)
	return n, err == nil
}

// synchronised reads the clock's status without setting anything (adjtimex(2)
// with no modes).
func synchronised() Answer {
	var t unix.Timex
	if _, err := unix.Adjtimex(&t); err != nil {
		return Unknown
	}
	if t.Status&unix.STA_UNSYNC != 0 {
		return No
	}
	return Yes
}
