package child

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Harden makes sure that the parent did its part and closes the door that the
// exec opens: the process is dumpable again, and then its user may trace it and
// a crash may leave what it read in a core file (prctl(2), PR_SET_DUMPABLE). Who
// names the process in the error.
func Harden(who string) error {
	if os.Getuid() == 0 || os.Getgid() == 0 || os.Getuid() != os.Geteuid() {
		return fmt.Errorf("the %s still is root", who)
	}
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("keep the %s from being traced: %w", who, err)
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("keep the %s from new rights: %w", who, err)
	}
	return nil
}
