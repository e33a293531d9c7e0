package send

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// confinedTest is argv[0] of a process that tries what a sender may not do.
const confinedTest = "sbxcron test: confined"

func runConfined(t *testing.T, secret string) string {
	t.Helper()
	cmd := exec.Command("/proc/self/exe")
	cmd.Args = []string{confinedTest, secret}
	cmd.Dir = "/"
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return string(out)
}

// tryConfined is run by TestMain in that process. As root it stays root: it is
// Landlock alone that is tried.
func tryConfined() {
	if len(os.Args) != 2 || os.Args[0] != confinedTest {
		return
	}
	runtime.LockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		panic(err)
	}
	if err := confine(); errors.Is(err, errNoLandlock) {
		fmt.Println("no landlock")
		os.Exit(0)
	} else if err != nil {
		panic(err)
	}
	say := func(what string, err error) {
		var errno syscall.Errno
		if err != nil && !errors.As(err, &errno) {
			panic(err)
		}
		if err == nil {
			fmt.Println(what, "read")
			return
		}
		fmt.Println(what, errno)
	}
	_, err := os.ReadFile("/etc/resolv.conf")
	say("resolver", err)
	_, err = os.ReadDir("/etc/ssl/certs")
	say("certificates", err)
	_, err = os.ReadFile(os.Args[1])
	say("secret", err)
	say("write", os.WriteFile(filepath.Join(filepath.Dir(os.Args[1]), "new"), nil, 0o600))
	os.Exit(0)
}
