//go:build linux

package e2e

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"github.com/sbxcron/sbxcron/jobspec"
	"golang.org/x/sys/unix"
)

// A program that is to run without something of the sandbox is started by this
// binary: it takes the thing away from its own thread and becomes the program,
// which cannot get it back. The program itself knows nothing of this.
const (
	envWithout = "E2E_WITHOUT" // name of a condition
	envProgram = "E2E_PROGRAM" // what to become; absent: this binary
	envGiven   = "E2E_GIVEN"   // file with the environment to become it with; absent: this one
)

// condition is a machine on which nothing may run.
type condition struct {
	name   string
	root   bool // only root can make it
	take   func() error
	code   jobspec.Code
	remedy string // a word of the advice
	timed  bool   // shown at a slot, too, and not only by hand
}

func conditions() []condition {
	missing, feature, probe := jobspec.CodeSbxBackendMissing, jobspec.CodeSbxFeatureMissing, jobspec.CodeSbxSelftestFailed
	return []condition{
		{"bwrap-absent", true, hideBwrap, missing, "bubblewrap", true},
		{"bwrap-empty", true, coverBwrap, missing, "bubblewrap", false},
		{"no-userns", false, filtered(answer(unix.SYS_CLONE, 0, unix.CLONE_NEWUSER, unix.EPERM),
			answer(unix.SYS_UNSHARE, 0, unix.CLONE_NEWUSER, unix.EPERM), always(unix.SYS_CLONE3, unix.ENOSYS)), feature, "user namespaces", true},
		{"userns-limit", false, filtered(answer(unix.SYS_CLONE, 0, unix.CLONE_NEWUSER, unix.ENOSPC),
			answer(unix.SYS_UNSHARE, 0, unix.CLONE_NEWUSER, unix.ENOSPC), always(unix.SYS_CLONE3, unix.ENOSYS)), feature, "user namespaces", false},
		{"no-landlock", false, filtered(always(unix.SYS_LANDLOCK_CREATE_RULESET, unix.EOPNOTSUPP)), feature, "andlock", true},
		{"landlock-restricts-not", false, filtered(always(unix.SYS_LANDLOCK_RESTRICT_SELF, unix.EPERM)), feature, "andlock", false},
		// A kernel that says yes and does nothing: only measuring finds it out.
		{"false-read-only", false, filtered(answer(unix.SYS_MOUNT, 3, unix.MS_REMOUNT|unix.MS_RDONLY, 0)), probe, "doctor", true},
		{"false-landlock", false, filtered(always(unix.SYS_LANDLOCK_RESTRICT_SELF, 0)), probe, "doctor", false},
		{"false-seccomp", false, filtered(always(unix.SYS_SECCOMP, 0)), feature, "doctor", false}, // it gives no listener
		{"false-close", false, filtered(always(unix.SYS_CLOSE_RANGE, 0)), probe, "doctor", false},
		{"false-limits", false, filtered(answer(unix.SYS_PRLIMIT64, 1, 4, 0)), probe, "doctor", false}, // core, nproc, nofile, not the stack,
	}
}

// need skips where the condition cannot be made.
func (c condition) need(t *testing.T) {
	t.Helper()
	if c.root && os.Getuid() != 0 {
		t.Skip("needs root")
	}
}

// env makes a command of the house run under the condition.
func (c condition) env() string { return envWithout + "=" + c.name }

// become is the life of a process with envWithout.
func become(name string) error {
	runtime.LockOSThread()
	for _, c := range conditions() {
		if c.name != name {
			continue
		}
		if err := c.take(); err != nil {
			return fmt.Errorf("make %s: %w", name, err)
		}
		return syscall.Exec(programPath(), os.Args, cleanEnv())
	}
	return errors.New("no condition " + name)
}

func programPath() string {
	if p := os.Getenv(envProgram); p != "" {
		return p
	}
	return "/proc/self/exe"
}

func cleanEnv() []string {
	if b, err := os.ReadFile(os.Getenv(envGiven)); err == nil {
		return strings.FieldsFunc(string(b), func(r rune) bool { return r == 0 })
	}
	var env []string
	for _, e := range os.Environ() {
		if !strings.HasPrefix(e, envWithout+"=") && !strings.HasPrefix(e, envProgram+"=") {
			env = append(env, e)
		}
	}
	return env
}

func privateMounts() error {
	if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
		return err
	}
	return unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, "")
}

// coverBwrap puts something that is no file in its place.
func coverBwrap() error {
	return errors.Join(privateMounts(), unix.Mount("/dev/null", "/usr/bin/bwrap", "", unix.MS_BIND, ""))
}

// hideBwrap lays a folder without it over /usr/bin (a whiteout, overlayfs of the
// kernel's documentation), for this process alone.
func hideBwrap() error {
	if err := privateMounts(); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("/dev/shm", "e2e-hide-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := unix.Mknod(filepath.Join(dir, "bwrap"), unix.S_IFCHR, 0); err != nil {
		return err
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		return err
	}
	err = unix.Mount("overlay", "/usr/bin", "overlay", unix.MS_RDONLY, "lowerdir="+dir+":/usr/bin")
	if err != nil {
		return fmt.Errorf("overlay: %w", err)
	}
	if _, err := os.Stat("/usr/bin/bwrap"); !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("bwrap is still there: %v", err)
	}
	return nil
}

// rule answers a system call in place of the kernel.
type rule struct {
	nr, arg, mask uint32
	errno         unix.Errno // 0: success, with nothing done
}

// answer is for calls that have all bits of mask in an argument's low half.
func answer(nr, arg, mask uint32, errno unix.Errno) rule { return rule{nr, arg, mask, errno} }

func always(nr uint32, errno unix.Errno) rule { return rule{nr, 0, 0, errno} }

// filtered installs a seccomp filter of rules on the calling thread.
func filtered(rules ...rule) func() error {
	return func() error {
		if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
			return err
		}
		var code []unix.SockFilter
		for _, r := range rules {
			code = append(code, r.code()...)
		}
		code = append(code, unix.SockFilter{Code: unix.BPF_RET, K: unix.SECCOMP_RET_ALLOW})
		prog := unix.SockFprog{Len: uint16(len(code)), Filter: &code[0]}
		_, _, errno := unix.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&prog)))
		if errno != 0 {
			return errno
		}
		return nil
	}
}

// code loads the number, and the argument where it matters, of struct
// seccomp_data (linux/seccomp.h: nr at 0, arguments from 16).
func (r rule) code() []unix.SockFilter {
	const load, and, equal = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, unix.BPF_ALU | unix.BPF_AND, unix.BPF_JMP | unix.BPF_JEQ
	return []unix.SockFilter{
		{Code: load, K: 0},
		{Code: equal, K: r.nr, Jf: 4},
		{Code: load, K: 16 + 8*r.arg},
		{Code: and, K: r.mask},
		{Code: equal, K: r.mask, Jf: 1},
		{Code: unix.BPF_RET, K: unix.SECCOMP_RET_ERRNO | uint32(r.errno)},
	}
}
