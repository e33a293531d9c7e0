//go:build unix

package send

import (
	"os/exec"
	"syscall"
)

// ownGroup makes the program the head of a process group, which ends with it when
// it takes too long.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
