package pin

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/sbxcron/sbxcron/jobspec"
)

// fewName is argv[0] of a test binary with the capabilities of the service.
const fewName = "pin-test-few-caps"

// serviceCaps are those that the service keeps in system mode.
var serviceCaps = map[uintptr]bool{unix.CAP_SETUID: true, unix.CAP_SETGID: true, unix.CAP_SETPCAP: true, unix.CAP_KILL: true}

// fewChild opens a private folder and file of the account.
func fewChild() {
	if os.Args[0] != fewName {
		return
	}
	dir := os.Args[1]
	s, err := Open(context.Background(), dropped(), []Request{
		{Use: jobspec.UseCwd, Path: dir}, script(dir + "/job.sh"), {Use: jobspec.UseRead, Path: dir + "/data"},
		bound(jobspec.RoleInterpreter, "/usr/bin/env"),
	}, Options{})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	for i, seen := range s.Observations() {
		if seen.Problem != "" {
			fmt.Println(i, seen.Problem, seen.Detail)
			os.Exit(1)
		}
	}
	if f, err := reopen(s.File(1)); err != nil || f.Close() != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	_, err = os.ReadFile(dir + "/job.sh")
	fmt.Print("own rights: ", os.IsPermission(err))
	os.Exit(0)
}

// The service keeps four capabilities, so root's own rights do not even reach
// into the account's home: everything must come from the child.
func TestServiceWithFourCapabilitiesOpensThePrivateFilesOfAnAccount(t *testing.T) {
	asRoot(t)
	dir := folder(t) + "/home"
	put(t, dir+"/job.sh", "x", 0o700)
	put(t, dir+"/data/f", "x", 0o600)
	for _, p := range []string{"", "/job.sh", "/data", "/data/f"} {
		owner(t, dir+p, jobUID)
	}
	mode(t, dir+"/data", 0o700)
	mode(t, dir, 0o700)
	cmd := exec.Command("/proc/self/exe")
	cmd.Args = []string{fewName, dir}
	out := make(chan string, 1)
	go func() {
		runtime.LockOSThread() // the thread loses its bounding set and ends here
		for c := uintptr(0); c <= unix.CAP_LAST_CAP; c++ {
			if !serviceCaps[c] {
				unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0)
			}
		}
		raw, err := cmd.CombinedOutput()
		out <- fmt.Sprint(string(raw), err)
	}()
	if got := <-out; got != "own rights: true<nil>" {
		t.Errorf("got %q", got)
	}
}
