package machine

import (
	"fmt"
	"runtime"

	"golang.org/x/sys/unix"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/runner"
	"github.com/sbxcron/sbxcron/runner/cause"
	"github.com/sbxcron/sbxcron/runner/seccomp"
)

// Read reads what a table depends on. It is read for every run: a service whose
// landlock was taken away must not go on from memory. Its error is a
// *runner.Refusal.
func Read() (runner.Machine, error) {
	m := runner.Machine{Arch: seccomp.Arch(runtime.GOARCH), LandlockABI: cause.LandlockABI()}
	for _, l := range []struct {
		resource int
		to       *uint64
	}{{unix.RLIMIT_NOFILE, &m.HardNoFile}, {unix.RLIMIT_NPROC, &m.HardNProc}, {unix.RLIMIT_FSIZE, &m.HardFSize}, {unix.RLIMIT_MEMLOCK, &m.HardMemlock},
		{unix.RLIMIT_DATA, &m.HardData}, {unix.RLIMIT_CPU, &m.HardCPU}} {
		var r unix.Rlimit
		if err := unix.Getrlimit(l.resource, &r); err != nil {
			return m, &runner.Refusal{Reason: jobspec.CodeSbxResource, Detail: fmt.Sprintf("read resource limit %d: %v", l.resource, err)}
		}
		*l.to = r.Max
	}
	return m, nil
}
