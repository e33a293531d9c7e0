package runnertest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/record"
	"github.com/sbxcron/sbxcron/runner"
)

// viewCases say what a job sees of itself and around it.
func viewCases() []Case {
	return []Case{
		{"exit codes are those of the program", false, exitCodes},
		{"environment is exactly the declared one", false, environment},
		{"descriptors 0 1 2 are all that is open", false, descriptors},
		{"cwd is the bound directory", false, workDirectory},
		{"stdin is empty or the signed text", false, standardInput},
		{"umask is 022", false, umask},
		{"uid is the planned one and not 0", false, identity},
		{"there is no terminal", false, noTerminal},
		{"other processes are not visible", true, processes},
		{"environment of the sandbox's init tells nothing", false, initEnviron},
		{"kernel files of proc are covered", true, procFiles},
		{"accounts and names of the host are not visible", true, hostNames},
		{"home and tmp are private, empty and bounded", true, privatePlaces},
		{"facts name the measured layers", true, facts},
	}
}

func exitCodes(l *Lab) error {
	for _, code := range []int{0, 1, 7, 125, 200} {
		r, err := l.run(shell(fmt.Sprintf("exit %d", code)))
		if err != nil {
			return err
		}
		want := record.OutcomeFailed
		if code == 0 {
			want = record.OutcomeSucceeded
		}
		if r.End.Outcome != want || !r.End.Exited || r.End.ExitCode != code {
			return fmt.Errorf("exit %d: %+v", code, r.End)
		}
	}
	return nil
}

func environment(l *Lab) error {
	j := command("/usr/bin/env")
	j.env = map[string]string{"REPORT_LANG": "de", "EMPTY": ""}
	out, err := l.succeed(j)
	if err != nil {
		return err
	}
	got := strings.Split(strings.TrimSpace(out), "\n")
	slices.Sort(got)
	want := []string{"EMPTY=", "HOME=/home/job", "LANG=C.UTF-8", "LOGNAME=job", "PATH=" + runner.BasePath, "REPORT_LANG=de",
		"SBXCRON_JOB=case", "SBXCRON_RUN=run1", "SHELL=/bin/sh", "TMPDIR=/tmp", "TZ=Europe/Berlin", "USER=job"}
	for _, v := range runner.PromptEnv() {
		want = append(want, v.Name+"="+v.Value)
	}
	slices.Sort(want)
	return wantText("environment", strings.Join(got, " "), strings.Join(want, " "))
}

func descriptors(l *Lab) error {
	out, err := l.succeed(l.victim("fds"))
	if err != nil {
		return err
	}
	return wantText("list of descriptors", strings.TrimSpace(out), "[0 1 2]")
}

func workDirectory(l *Lab) error {
	cwd := l.folder("ws")
	l.file(cwd+"/beside", "neighbour", 0o644)
	out, err := l.succeed(shell("pwd; cat beside").in(jobspec.ReadOnly, cwd))
	if err != nil {
		return err
	}
	return wantText("cwd and neighbour", out, cwd+"\nneighbour")
}

func standardInput(l *Lab) error {
	out, err := l.succeed(command("/bin/cat"))
	if err != nil {
		return err
	}
	if err := wantText("stdin", out, ""); err != nil {
		return err
	}
	j := command("/bin/cat")
	j.stdin = "signed text\n"
	if out, err = l.succeed(j); err != nil {
		return err
	}
	return wantText("stdin", out, "signed text\n")
}

func umask(l *Lab) error {
	out, err := l.succeed(shell("umask"))
	if err != nil {
		return err
	}
	return wantText("umask", strings.TrimSpace(out), "0022")
}

func identity(l *Lab) error {
	out, err := l.succeed(shell("id -u; id -g; id -G; id -un"))
	if err != nil {
		return err
	}
	want := fmt.Sprintf("%d\n%d\n", l.account.UID, l.account.GID)
	if !strings.HasPrefix(out, want) || strings.HasPrefix(out, "0\n") || !strings.HasSuffix(out, "\njob\n") {
		return fmt.Errorf("identity is %q, want %q and the name job", out, want)
	}
	if l.account.Drop && !strings.Contains(out, fmt.Sprintf("\n%d\njob", l.account.GID)) {
		return fmt.Errorf("groups of the service came along: %q", out)
	}
	return nil
}

func noTerminal(l *Lab) error {
	r, err := l.run(shell("exec 3<>/dev/tty"))
	if err != nil {
		return err
	}
	if r.End.Outcome != record.OutcomeDenied || !strings.Contains(r.Err, "No such device or address") {
		return fmt.Errorf("opening the terminal: %s, %q", r.End.Outcome, r.Err)
	}
	return wantText("list of denials", denialsOf(r), "ask_tty /dev/tty x1\n")
}

func processes(l *Lab) error {
	out, err := l.succeed(shell("cd /proc; echo [0-9]*; echo $$"))
	if err != nil {
		return err
	}
	return wantText("processes and own id", out, "1 2\n2\n")
}

func initEnviron(l *Lab) error {
	r, err := l.run(shell("cat /proc/1/environ; cat /proc/1/cmdline | tr '\\0' ' '"))
	if err != nil {
		return err
	}
	for _, word := range []string{"PATH", "HOME", "ro-bind", l.Dir} {
		if strings.Contains(r.Out, word) {
			return fmt.Errorf("process 1 tells %q: %q", word, r.Out)
		}
	}
	return nil
}

func procFiles(l *Lab) error {
	got, err := l.answers(l.victim("read", "/proc/kallsyms", "/proc/keys", "/proc/timer_list", "/proc/kcore", "/proc/1/mem"))
	if err != nil {
		return err
	}
	for path, answer := range got {
		if answer == "ok" {
			return fmt.Errorf("%s can be read", path)
		}
	}
	got, err = l.answers(l.victim("write", "/proc/sys/kernel/core_pattern", "/proc/sysrq-trigger", "/proc/sys/kernel/hostname"))
	if err != nil {
		return err
	}
	for path, answer := range got {
		if answer == "ok" {
			return fmt.Errorf("%s can be written", path)
		}
	}
	return nil
}

func hostNames(l *Lab) error {
	out, err := l.succeed(shell("cut -d: -f1 /etc/passwd; uname -n; cat /etc/hostname /etc/machine-id 2>&1 | grep -c 'No such file'; ls -A /etc/ssh /var /run /root /sys /boot /srv /opt 2>/dev/null; true"))
	if err != nil {
		return err
	}
	return wantText("accounts, host name, missing files and listing", out, "job\nnobody\njob\n2\n")
}

func privatePlaces(l *Lab) error {
	out, err := l.succeed(shell(`ls -A /tmp /home/job /dev/shm /scratch | grep -v : | grep .
for d in /tmp /home/job /dev/shm /scratch; do echo x > $d/new || echo no $d; done
head -c 20000000 /dev/zero > /tmp/big 2>/dev/null && echo unbounded
rm /tmp/big
ls / >/dev/null || echo root is not listed
true`))
	if err != nil {
		return err
	}
	return wantText("complaints", out, "")
}

func facts(l *Lab) error {
	r, err := l.run(command("/bin/true"))
	if err != nil {
		return err
	}
	for _, layer := range []string{"fds", "rlimits", "uid", "capabilities", "mounts", "no_new_privs"} {
		if !slices.Contains(r.Facts.Layers, layer) {
			return fmt.Errorf("layer %q is not among %q", layer, r.Facts.Layers)
		}
	}
	if r.Facts.Probe != "passed" || r.Facts.Plan.IsZero() || r.Facts.Stub.IsZero() || r.Facts.UID != l.account.UID {
		return fmt.Errorf("facts are %+v", r.Facts)
	}
	return nil
}
