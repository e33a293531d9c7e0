package throwaway

import (
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"
)

func TestOneLookAtAllProcessesServesSeveralRuns(t *testing.T) {
	s := machine(t)
	p := New(s, 0)
	first := take(t, p).UID()
	if err := os.RemoveAll(s.Proc); err != nil { // a second look would be an error
		t.Fatal(err)
	}
	for i := range batch - 1 {
		if got := take(t, p).UID(); got != first+1+i {
			t.Errorf("lent %d after %d", got, first+i)
		}
	}
	if _, err := p.Take(); err == nil {
		t.Error("lent without a look")
	}
}

func TestAnAccountThatCameSinceTheLookIsNotLent(t *testing.T) {
	s := machine(t)
	p := New(s, 0)
	take(t, p)
	put(t, s.Passwd, "a:x:61185:61186::/:/bin/sh\n")
	put(t, s.Systemd+"/61187", "")
	if got := take(t, p).UID(); got != 61188 {
		t.Errorf("lent %d", got)
	}
}

func TestAnOldLookIsWorthNothing(t *testing.T) {
	s := machine(t)
	p := New(s, 0)
	take(t, p)
	put(t, s.Proc+"/7/status", "Uid:\t61185\t5\t5\t5\nGid:\t5\t5\t5\t5\nGroups:\n")
	p.look = p.look.Add(-lookFor - time.Second)
	if got := take(t, p).UID(); got == 61185 {
		t.Errorf("lent %d, which a process has", got)
	}
}

func TestAProcessThatCameSinceTheLookKeepsItsUid(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root to start a process of another uid")
	}
	p := New(Sources{}, 1000)
	lease := take(t, p)
	next := lease.UID() + 1
	cmd := exec.Command("/bin/sleep", "60")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(next), Gid: uint32(next)}}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { cmd.Process.Kill(); cmd.Wait() }()
	if got := take(t, p).UID(); got == next {
		t.Errorf("lent %d, which a process has", got)
	}
}
