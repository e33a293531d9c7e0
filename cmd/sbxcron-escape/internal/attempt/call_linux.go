package attempt

import (
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"unsafe"

	"github.com/sbxcron/sbxcron/runner/seccomp"
	"golang.org/x/sys/unix"
)

// others are numbers of calls that the filter does not name, and of some that an
// architecture may lack there.
var others = map[string]uintptr{
	"fchmodat": unix.SYS_FCHMODAT, "ioprio_set": unix.SYS_IOPRIO_SET, "kill": unix.SYS_KILL, "msgrcv": unix.SYS_MSGRCV, "pidfd_open": unix.SYS_PIDFD_OPEN, "prctl": unix.SYS_PRCTL,
	"prlimit64": unix.SYS_PRLIMIT64, "sched_setaffinity": unix.SYS_SCHED_SETAFFINITY, "sched_setscheduler": unix.SYS_SCHED_SETSCHEDULER,
	"semctl": unix.SYS_SEMCTL, "setgid": unix.SYS_SETGID, "setgroups": unix.SYS_SETGROUPS, "setpriority": unix.SYS_SETPRIORITY, "setresuid": unix.SYS_SETRESUID, "setuid": unix.SYS_SETUID,
	"shmat": unix.SYS_SHMAT, "shmctl": unix.SYS_SHMCTL, "shmget": unix.SYS_SHMGET, "socketpair": unix.SYS_SOCKETPAIR, "tgkill": unix.SYS_TGKILL,
}

// callNumber finds a call by its name; #N is a number as it is.
func callNumber(name string) (uintptr, error) {
	if n, is := strings.CutPrefix(name, "#"); is {
		return number(n), nil
	}
	if nr, ok := others[name]; ok {
		return nr, nil
	}
	nr, err := seccomp.Arch(runtime.GOARCH).Number(name)
	return uintptr(nr), err
}

// number reads an operand. Like the kernel's own headers it takes a leading 0
// for octal.
func number(s string) uintptr {
	n, err := strconv.ParseInt(s, 0, 64)
	if err != nil {
		panic(fmt.Sprintf("operand %q: %v", s, err)) // a fault of the list
	}
	return uintptr(n)
}

// operands turns words into arguments: numbers, "buf" for zeros, "one" for a 1,
// and the address of a text for everything else. The bytes are returned so that
// they stay.
func operands(words []string) (args [6]uintptr, keep [][]byte) {
	for i, word := range words {
		var b []byte
		switch _, err := strconv.ParseInt(word, 0, 64); {
		case err == nil:
			args[i] = number(word)
			continue
		case word == "buf":
			b = make([]byte, 8192)
		case word == "one":
			b = []byte{1, 0, 0, 0, 0, 0, 0, 0}
		default:
			b = append([]byte(word), 0)
		}
		keep = append(keep, b)
		args[i] = addressOf(b)
	}
	return args, keep
}

func addressOf(b []byte) uintptr { return uintptr(unsafe.Pointer(&b[0])) }

// call makes a raw system call, so that no library decides anything.
func call(_ *worker, a []string) error {
	nr, err := callNumber(a[0])
	if err != nil {
		return err
	}
	args, keep := operands(a[1:])
	_, err = raw(nr, args[:]...)
	runtime.KeepAlive(keep)
	return err
}

func raw(nr uintptr, a ...uintptr) (int, error) {
	var v [6]uintptr
	copy(v[:], a)
	r, _, errno := syscall.Syscall6(nr, v[0], v[1], v[2], v[3], v[4], v[5])
	if errno != 0 {
		return -1, errno
	}
	return int(r), nil
}

// named is raw for a call by its name.
func named(name string, a ...uintptr) (int, error) {
	nr, err := callNumber(name)
	if err != nil {
		return -1, err
	}
	return raw(nr, a...)
}
