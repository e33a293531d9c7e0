package runnertest

import (
	"fmt"
	"strings"
	"time"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/record"
)

// toldCases say that what the kernel refuses is recorded.
func toldCases() []Case {
	return []Case{
		{"what the kernel refuses is told, each with what was wanted", true, kernelDenials},
		{"a program that only the kernel sees makes its run denied", true, unseenByShims},
		{"a flood of refused calls is counted and harms nobody", true, floodOfCalls},
		{"refused calls without an end are ended", true, endedCalls},
		{"many different refused calls keep the record small", true, manyTargets},
	}
}

// kernelDenials lets the victim try everything once. Calls that are refused
// without being told are the subject of the case that looks at their answers.
func kernelDenials(l *Lab) error {
	_, err := l.wantDenied(l.victim("kernel"),
		"net_denied_direct AF_INET x2", "net_denied_direct AF_INET6 x2", "esc_unix_socket AF_UNIX x2", "sys_denied AF_NETLINK x2",
		"net_denied_direct AF_PACKET x2", "net_denied_direct AF_VSOCK x2", "sys_denied AF_ALG x2",
		"esc_userns unshare user x1", "esc_userns clone user x1", "esc_userns setns x1",
		"esc_mount mount /tmp x1", "esc_mount mount / x1", "esc_mount umount2 /proc/sys x1", "esc_mount open_tree / x1",
		"esc_mount pivot_root /tmp x1", "esc_mount chroot /tmp x1",
		"esc_ptrace ptrace attach x1", "esc_ptrace process_vm_readv x1", "esc_ptrace pidfd_getfd x1",
		"esc_keyctl keyctl x1", "esc_keyctl add_key x1", "esc_keyctl request_key x1", "esc_bpf bpf x1",
		"sys_denied perf_event_open x1", "sys_denied userfaultfd x1", "sys_denied open_by_handle_at x1",
		"sys_denied settimeofday x1", "sys_denied sethostname x1", "sys_denied syslog x1", "sys_denied swapon /tmp x1",
		"esc_module kexec_load x1", "sys_denied and others x2")
	return err
}

// unseenByShims are programs that no shim stands for, one call each.
func unseenByShims(l *Lab) error {
	for _, p := range []struct{ tool, body, want string }{
		{"sh", "read x < /dev/tty", "ask_tty /dev/tty x1"},
		{"sh", "echo x > /dev/tty", "ask_tty /dev/tty x1"},
		{"python3", "python3 -c 'import getpass; getpass.getpass()'", "ask_tty /dev/tty x1"},
		{"cat", "cat /dev/mem", "fs_denied_device /dev/mem x1"},
		{"dd", "dd if=/dev/zero of=/dev/vda count=1", "fs_denied_device /dev/vda x1"},
		{"passwd", "passwd < /dev/null", "esc_setuid_inert /usr/bin/passwd x1"},
		{"unshare", "unshare -Ur true", "esc_userns unshare user x1"},
		{"chroot", "/usr/sbin/chroot / true", "esc_mount chroot / x1"},
		{"perl", `perl -MSocket -e 'socket(S, PF_INET, SOCK_RAW, 1)'`, "net_denied_direct AF_INET raw x1"},
		{"perl", `perl -MSocket -e 'socket(S, PF_UNIX, SOCK_STREAM, 0)'`, "esc_unix_socket AF_UNIX x1"},
		{"date", "date -s 12:00", "sys_denied clock_settime x1"},
	} {
		if _, err := tool(p.tool); err != nil {
			continue
		}
		r, err := l.run(shell(p.body + "; exit 0"))
		if err != nil {
			return err
		}
		if got := unexpected(r); r.End.Outcome != record.OutcomeDenied || got != p.want+"\n" {
			return fmt.Errorf("%s: ended as %s with %q, want %q; %s", p.body, r.End.Outcome, got, p.want, r.Err)
		}
	}
	return nil
}

// unexpected are the denials of a run that nobody expects.
func unexpected(r Result) string {
	var b strings.Builder
	for line := range strings.Lines(denialsOf(r)) {
		if !strings.HasSuffix(line, " expected\n") {
			b.WriteString(line)
		}
	}
	return b.String()
}

// floodOfCalls makes as many refused calls as a job can in a moment.
func floodOfCalls(l *Lab) error {
	const n = 100000
	j := l.victim("flood", fmt.Sprint(n))
	j.denials.Expected = []jobspec.ExpectedDenial{{Code: jobspec.CodeEscKeyctl, Target: "keyctl"}}
	r, err := l.run(j)
	if err != nil {
		return err
	}
	if r.End.Outcome != record.OutcomeSucceeded {
		return fmt.Errorf("ended as %s, %v", r.End.Outcome, r.End.Reasons)
	}
	return wantText("list of denials", denialsOf(r), fmt.Sprintf("esc_keyctl keyctl x%d expected\n", n))
}

func endedCalls(l *Lab) error {
	began := time.Now()
	r, err := l.run(l.victim("flood", "1000000000"))
	if err != nil {
		return err
	}
	if r.End.Outcome != record.OutcomeDenied || len(r.End.Reasons) != 1 || r.End.Reasons[0].Code != jobspec.CodeDenialLoop || time.Since(began) > 10*time.Second {
		return fmt.Errorf("ended as %s, %+v, after %s", r.End.Outcome, r.End.Reasons, time.Since(began))
	}
	return nil
}

func manyTargets(l *Lab) error {
	r, err := l.run(l.victim("targets", "5000"))
	if err != nil {
		return err
	}
	if n := len(r.End.Denials); r.End.Outcome != record.OutcomeDenied || n < 3 || n > 40 {
		return fmt.Errorf("ended as %s, %+v, with %d entries", r.End.Outcome, r.End.Reasons, n)
	}
	return nil
}
