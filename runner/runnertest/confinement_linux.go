package runnertest

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/record"
	"github.com/sbxcron/sbxcron/runner/seccomp"
)

// confinementCases say what a job cannot do to the host.
func confinementCases() []Case {
	return []Case{
		{"kernel interfaces are refused", true, kernelInterfaces},
		{"each rule about system calls refuses what it is about", true, eachRule},
		{"no file outside can be written", true, writesOutside},
		{"no secret can be read", true, secrets},
		{"no set-id file or device is left behind", true, setIDFiles},
		{"sockets of the host cannot be reached", true, hostSockets},
		{"a file size limit ends the writer", true, fileSize},
		{"the number of processes is bounded", true, processLimit},
	}
}

// allowedAnswers are the exceptions among the victim's attempts: what a job may
// do, or what the kernel answers for another reason than a refusal.
func allowedAnswers() map[string]string {
	return map[string]string{"socketpair_stream": "ok", "personality_ask": "ok", "clone3": "ENOSYS", "io_uring": "ENOSYS", "unknown": "ENOSYS", "tty": "ENXIO"}
}

func kernelInterfaces(l *Lab) error {
	got, err := l.answers(l.victim("kernel"))
	if err != nil {
		return err
	}
	if len(got) < 40 {
		return fmt.Errorf("only %d attempts were made: %v", len(got), got)
	}
	special := allowedAnswers()
	var wrong []string
	for name, answer := range got {
		want, ok := special[name]
		if !ok {
			want = "EPERM"
		}
		if answer != want {
			wrong = append(wrong, fmt.Sprintf("%s: %s, want %s", name, answer, want))
		}
	}
	if len(wrong) > 0 {
		return fmt.Errorf("%s", strings.Join(wrong, "; "))
	}
	return nil
}

// eachRule makes a call for every rule of the filters and wants its answer: the
// rules themselves say which, so that none is without a victim.
func eachRule(l *Lab) error {
	all, err := seccomp.EachRefused(seccomp.Arch(runtime.GOARCH), seccomp.Opens{})
	if err != nil {
		return err
	}
	want, argv := map[string]string{}, []string{"calls"}
	for i, r := range all {
		name := fmt.Sprintf("%d-%s", i, r.Call)
		want[name] = "EPERM"
		if r.Absent {
			want[name] = "ENOSYS"
		}
		text := fmt.Sprintf("%s,%d", name, r.NR)
		for _, a := range r.Args {
			text += fmt.Sprintf(",%d", a)
		}
		argv = append(argv, text)
	}
	got, err := l.answers(l.victim(argv...))
	if err != nil {
		return err
	}
	var wrong []string
	for name, answer := range want {
		if got[name] != answer {
			wrong = append(wrong, fmt.Sprintf("%s: %q, want %s", name, got[name], answer))
		}
	}
	if len(wrong) > 0 || len(want) < 80 {
		return fmt.Errorf("%d calls: %s", len(want), strings.Join(wrong, "; "))
	}
	return nil
}

func writesOutside(l *Lab) error {
	outside := l.folder("outside")
	must(os.Chmod(outside, 0o777))
	canary := l.file(outside+"/canary", "unchanged", 0o666)
	cwd := l.folder("ws")
	got, err := l.answers(l.victim("write", canary, outside+"/new", cwd+"/../outside/new", "/proc/self/root"+canary, "/proc/1/root"+canary,
		"/new", "/usr/new", "/etc/new", "/dev/new", "/etc/passwd", "/run/new", "/var/tmp/new", "/usr/bin/env", "/.sbxcron/stub").in(jobspec.Workspace, cwd))
	if err != nil {
		return err
	}
	for path, answer := range got {
		if answer == "ok" {
			return fmt.Errorf("%s was written", path)
		}
	}
	return unchanged(canary, "unchanged", outside, 1)
}

// unchanged looks from outside: at a file's text and the number of entries.
func unchanged(file, text, dir string, entries int) error {
	b, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	list, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	if string(b) != text || len(list) != entries {
		return fmt.Errorf("%s holds %q, %s has %d entries", file, b, dir, len(list))
	}
	return nil
}

func secrets(l *Lab) error {
	secret := l.file(l.folder("secrets")+"/key", "secret", 0o644)
	self, err := os.Executable()
	if err != nil {
		return err
	}
	got, err := l.answers(l.victim("read", secret, self, "/etc/shadow", "/etc/ssh", "/root/.bashrc", "/var/log", "/run", "/sys/class", "/.sbxcron/stub", "/proc/1/root/etc/passwd"))
	if err != nil {
		return err
	}
	for path, answer := range got {
		if answer == "ok" {
			return fmt.Errorf("%s can be read", path)
		}
	}
	return nil
}

func setIDFiles(l *Lab) error {
	cwd := l.folder("ws")
	got, err := l.answers(l.victim("setid", cwd).in(jobspec.Workspace, cwd))
	if err != nil {
		return err
	}
	for name, answer := range got {
		free := name == "plain" || name == "rename"
		if (answer == "ok") != free {
			return fmt.Errorf("%s: %s", name, answer)
		}
	}
	return filepath.WalkDir(cwd, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err == nil && info.Mode()&(os.ModeSetuid|os.ModeSetgid|os.ModeDevice) != 0 {
			return fmt.Errorf("%s was left with mode %s", path, info.Mode())
		}
		return err
	})
}

// hostSockets offers a socket file in the workspace itself and a listener on
// loopback; perl is always there on Debian and tells errors by name.
func hostSockets(l *Lab) error {
	if _, err := os.Stat("/usr/bin/perl"); err != nil {
		return &Missing{"perl"}
	}
	cwd := l.folder("ws")
	path := cwd + "/sock"
	unix, err := net.Listen("unix", path)
	if err != nil {
		return err
	}
	defer unix.Close()
	must(os.Chmod(path, 0o777))
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer tcp.Close()
	j := command("/usr/bin/perl", "-MSocket", "-e", `
socket(my $u, PF_UNIX, SOCK_STREAM, 0) && connect($u, pack_sockaddr_un($ARGV[0])) && print "unix\n";
socket(my $t, PF_INET, SOCK_STREAM, 0) && connect($t, pack_sockaddr_in($ARGV[1], INADDR_LOOPBACK)) && print "tcp\n";
`, path, fmt.Sprint(tcp.Addr().(*net.TCPAddr).Port))
	r, err := l.wantDenied(j.in(jobspec.Workspace, cwd), "esc_unix_socket AF_UNIX x1", "net_denied_direct AF_INET x1")
	if err != nil {
		return err
	}
	return wantText("reached sockets", r.Out, "")
}

func fileSize(l *Lab) error {
	j := shell("head -c 3000000 /dev/zero > big; ls -l big | cut -d' ' -f5")
	j.limits = func(x *jobspec.Limits) { x.FileSizeBytes = 1 << 20 }
	out, err := l.succeed(j)
	if err != nil {
		return err
	}
	return wantText("size of the file", strings.TrimSpace(out), "1048576")
}

func processLimit(l *Lab) error {
	j := shell("i=0; while [ $i -lt 40 ]; do sleep 5 & i=$((i+1)); done; wait")
	j.limits = func(x *jobspec.Limits) { x.PIDs, x.TimeoutSeconds = 16, 4 }
	r, err := l.run(j)
	if err != nil {
		return err
	}
	ended := slices.ContainsFunc(r.End.Reasons, func(x record.Reason) bool { return x.Code == jobspec.CodeLimitPIDs })
	if !ended && !strings.Contains(r.Err, "fork") { // the kill may come before the shell has said so
		return fmt.Errorf("40 processes were made: %s, %q", r.End.Outcome, r.Err)
	}
	return nil
}
