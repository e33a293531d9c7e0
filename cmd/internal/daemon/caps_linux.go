package daemon

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"

	"github.com/sbxcron/sbxcron/runner/cgroup"
	"golang.org/x/sys/unix"
)

// keptCaps are all that the service of root needs: to become the account of a
// job, to take rights from the thread that does so, and to end what it started.
const keptCaps = 1<<unix.CAP_SETUID | 1<<unix.CAP_SETGID | 1<<unix.CAP_SETPCAP | 1<<unix.CAP_KILL

// shedCapabilities leaves the process with keptCaps. For uid 0 the kernel gives
// every capability of the bounding set back at execve (capabilities(7)), so the
// set is cut on this thread and the program is started anew in its own place:
// that way every thread of the Go runtime lacks the rest. It returns once
// nothing is left to shed.
func shedCapabilities() error {
	bounding, effective, err := readCaps()
	if err != nil {
		return err
	}
	if effective&^keptCaps == 0 {
		return nil
	}
	if bounding&^keptCaps == 0 {
		return fmt.Errorf("give up capabilities: %#x stay in force", effective&^keptCaps)
	}
	cgroup.Claim() // takes a right that is about to go
	runtime.LockOSThread()
	for c := range 64 {
		if bounding&(1<<c) == 0 || keptCaps&(1<<c) != 0 {
			continue
		}
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, uintptr(c), 0, 0, 0); err != nil {
			return fmt.Errorf("give up capability %d: %w", c, err)
		}
	}
	return fmt.Errorf("start again without capabilities: %w", unix.Exec("/proc/self/exe", os.Args, os.Environ()))
}

// readCaps reads the bounding and the effective set of this thread, proc(5).
func readCaps() (bounding, effective uint64, err error) {
	b, err := os.ReadFile("/proc/thread-self/status")
	if err != nil {
		return 0, 0, err
	}
	for line := range strings.Lines(string(b)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":\t")
		var to *uint64
		switch name {
		case "CapBnd":
			to = &bounding
		case "CapEff":
			to = &effective
		default:
			continue
		}
		if *to, err = strconv.ParseUint(value, 16, 64); err != nil {
			return 0, 0, fmt.Errorf("read %s: %w", name, err)
		}
	}
	return bounding, effective, nil
}
