package runnertest

import (
	"os"
	"strings"

	"github.com/sbxcron/sbxcron/jobspec"
)

// byteCases say that what was hashed is what runs.
func byteCases() []Case {
	return []Case{
		{"a script that is rewritten after hashing runs as it was", true, rewritten},
		{"a program that is replaced after hashing runs as it was", true, replaced},
		{"a script that is replaced behind the barrier runs as it was", true, replacedLate},
		{"a bound file inside a workspace cannot be changed by the job", true, selfChange},
		{"dirname of a script shows its neighbours", false, neighbours},
		{"an embedded script runs with its operands", false, embedded},
		{"argv[0] is as typed", false, argvZero},
	}
}

const evil = "#!/bin/sh\necho evil\n"

// swapped plans a job, lets swap change files, and runs it.
func (l *Lab) swapped(j Job, swap func()) (string, error) {
	p, out, done, err := l.plan(j)
	if err != nil {
		return "", err
	}
	defer done()
	swap()
	armed, err := l.Backend.Prepare(l.ctx, p)
	if err != nil {
		return "", err
	}
	proc, err := armed.Release()
	if err != nil {
		return "", err
	}
	proc.Wait()
	return out.text("out"), nil
}

func rewritten(l *Lab) error {
	cwd := l.folder("ws")
	script := l.file(cwd+"/job.sh", "#!/bin/sh\necho good\n", 0o755)
	out, err := l.swapped(command(script).in(jobspec.ReadOnly, cwd), func() { l.file(script, evil, 0o755) })
	if err != nil {
		return err
	}
	return wantText("output", out, "good\n")
}

func replaced(l *Lab) error {
	cwd := l.folder("ws")
	b, err := os.ReadFile("/bin/echo")
	if err != nil {
		return &Missing{"/bin/echo"}
	}
	program := l.file(cwd+"/say", string(b), 0o755)
	out, err := l.swapped(command(program, "good").in(jobspec.Workspace, cwd), func() {
		must(os.Rename(l.file(cwd+"/other", evil, 0o755), program))
	})
	if err != nil {
		return err
	}
	return wantText("output", out, "good\n")
}

// replacedLate renames another file over the script while the sandbox waits.
// The kernel takes a mount away whose mount point is renamed over from another
// namespace (rename(2) since Linux 3.18), so the path then means the new file;
// the approved one runs all the same.
func replacedLate(l *Lab) error {
	cwd := l.folder("ws")
	script := l.file(cwd+"/job.sh", "#!/bin/sh\necho good\n", 0o755)
	p, out, done, err := l.plan(command(script).in(jobspec.ReadOnly, cwd))
	if err != nil {
		return err
	}
	defer done()
	armed, err := l.Backend.Prepare(l.ctx, p)
	if err != nil {
		return err
	}
	must(os.Rename(l.file(cwd+"/other", evil, 0o755), script))
	proc, err := armed.Release()
	if err != nil {
		return err
	}
	proc.Wait()
	return wantText("output", out.text("out"), "good\n")
}

func selfChange(l *Lab) error {
	cwd := l.folder("ws")
	text := "#!/bin/sh\necho evil > job.sh; mv job.sh other; rm -f job.sh; echo done\n"
	script := l.file(cwd+"/job.sh", text, 0o755)
	out, err := l.succeed(command(script).in(jobspec.Workspace, cwd))
	if err != nil {
		return err
	}
	return firstError(
		func() error { return wantText("output", out, "done\n") },
		func() error { return unchanged(script, text, cwd, 1) })
}

func neighbours(l *Lab) error {
	cwd := l.folder("ws")
	l.file(cwd+"/lib.sh", "greet() { echo hello $1; }\n", 0o644)
	script := l.file(cwd+"/job.sh", "#!/bin/sh\n. \"$(dirname \"$0\")/lib.sh\"\ngreet \"$1\"\n", 0o755)
	out, err := l.succeed(command(script, "world").in(jobspec.ReadOnly, cwd))
	if err != nil {
		return err
	}
	return wantText("output", out, "hello world\n")
}

func embedded(l *Lab) error {
	j := shell("echo \"$1 $2 $#\"")
	j.argv = append(j.argv, "a b", "c")
	out, err := l.succeed(j)
	if err != nil {
		return err
	}
	return wantText("output", out, "a b c 2\n")
}

func argvZero(l *Lab) error {
	j := command("/bin/bash", "-c", "tr '\\0' ' ' < /proc/$$/cmdline | cut -d' ' -f1")
	j.typed = "./typed/name"
	out, err := l.succeed(j)
	if err != nil {
		return err
	}
	return wantText("argv[0]", strings.TrimSpace(out), "./typed/name")
}
