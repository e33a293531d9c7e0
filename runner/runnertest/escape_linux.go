package runnertest

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/record"
	"golang.org/x/sys/unix"
)

// escapeCases are known ways out of sandboxes, by their row in the catalogue of
// escapes where other cases do not hold them already.
func escapeCases() []Case {
	return []Case{
		{"F01 to F35, P11 to P25, N27 known ways out are shut", true, knownWays},
		{"F14 a descriptor that the service leaked stays out", false, leakedDescriptor},
		{"F22 a protected file with a second name is refused", true, hardLinked},
		{"F22 a hook with a second name that the job can write is refused", true, linkedHook},
		{"F25 a cwd that became a link is not followed", true, swappedCwd},
		{"F28 every private place is bounded", true, privateBounds},
		{"P01 a set-id program gains nothing", false, setIDProgram},
		{"P10 a job that kills its init and everything ends by itself", false, killsInit},
		{"P26 names that look like options are names", false, optionNames},
		{"P28 no cgroup but its own is visible", false, cgroups},
		{"R12 a crash starts no handler of the host", true, coreLimit},
		{"S06 nothing in HOME outlives a run", true, homeIsNew},
		{"X06 X08 no program or start-up file of the cwd is taken for the system's", false, plantedNames},
		{"X12 a plan gives the same bytes at each start", false, sameBytesTwice},
	}
}

// shutAnswers are what the kernel may answer to each of the victim's attempts.
func shutAnswers() map[string][]string {
	ro := []string{"EROFS", "EACCES"}
	mounted := []string{"EBUSY", "EROFS", "EACCES", "EXDEV"}
	absent := []string{"ENOENT", "EACCES"}
	return map[string][]string{
		"F01": ro, "F02": ro, "F04_link": {"EXDEV", "EPERM"}, "F04_linkat": {"EXDEV", "EPERM"}, "F05_root": ro, "F05_init": {"EACCES", "EPERM"},
		"F13": ro, "F16": ro, "F34_cwd": mounted, "F34_parent": mounted, "F34_rmdir": append(mounted, "ENOTEMPTY"), "F35_cgroup": absent, "F35_ksm": absent,
		"P11": absent, "P19": {"EPERM"}, "P22": {"ENOSYS"}, "P25_nice": {"EACCES", "EPERM"}, "P25_fifo": {"EPERM"}, "P25_limit": {"EPERM"}, "N27": absent,
	}
}

// knownWays works outside of /tmp. There the job's own private directory lies
// above the shown one, landlock grants what a parent grants, and only the mount
// is left to say no, which does not hold for pipes.
func knownWays(l *Lab) error {
	dir, err := os.MkdirTemp("/var/tmp", "sbxcron-case")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	defer os.RemoveAll(dir + "x") // the name that the victim tries to give it
	cwd, shown := dir+"/ws", dir+"/shown"
	for _, d := range []string{dir, cwd, shown} {
		must(errors.Join(os.MkdirAll(d, 0o755), os.Chmod(d, 0o755), os.Chown(d, l.account.UID, l.account.GID)))
	}
	f := l.file(shown+"/f", "unchanged", 0o666)
	must(unix.Mkfifo(shown+"/fifo", 0o666))
	must(os.Chmod(shown+"/fifo", 0o666))
	must(os.Chmod(shown, 0o777))
	reader, err := os.OpenFile(shown+"/fifo", os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	defer reader.Close()
	j := l.victim("escape", shown).in(jobspec.Workspace, cwd)
	j.read = []string{shown}
	got, err := l.answers(j)
	if err != nil {
		return err
	}
	var wrong []string
	for name, want := range shutAnswers() {
		if answer, made := got[name]; (made || name != "P19") && !slices.Contains(want, answer) {
			wrong = append(wrong, fmt.Sprintf("%s: %q, want one of %q", name, answer, want))
		}
	}
	if len(wrong) > 0 || len(got) < len(shutAnswers())-1 {
		return fmt.Errorf("%d attempts: %s", len(got), strings.Join(wrong, "; "))
	}
	return firstError(
		func() error { return empty(cwd) },
		func() error { return unchanged(f, "unchanged", shown, 2) })
}

func leakedDescriptor(l *Lab) error {
	fd, err := unix.Open(l.folder("outside"), unix.O_DIRECTORY, 0) // without close-on-exec
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	out, err := l.succeed(l.victim("fds"))
	if err != nil {
		return err
	}
	return wantText("list of descriptors", strings.TrimSpace(out), "[0 1 2]")
}

func hardLinked(l *Lab) error {
	cwd := l.folder("ws")
	l.file(cwd+"/.envrc", "export A=1\n", 0o644)
	must(os.Link(cwd+"/.envrc", cwd+"/alias"))
	r, err := l.run(shell("echo export A=2 > alias").in(jobspec.Workspace, cwd))
	if err == nil {
		return fmt.Errorf("it ran: %s %q", r.End.Outcome, r.Out)
	}
	if !refused(err) || !strings.Contains(err.Error(), string(jobspec.CodeFsDeniedProtected)) {
		return err
	}
	return unchanged(cwd+"/.envrc", "export A=1\n", cwd, 2)
}

// linkedHook has a hook that the job finds by another name too, and then one whose
// second name lies elsewhere, which is none of the job's.
func linkedHook(l *Lab) error {
	cwd := l.folder("ws")
	for _, dir := range []string{".git", ".git/hooks", ".git/objects", "sub"} {
		l.folder("ws/" + dir)
	}
	hook := l.file(cwd+"/.git/hooks/pre-push", "#!/bin/sh\n", 0o755)
	object := l.file(cwd+"/.git/objects/aa", "x", 0o444)
	must(os.Link(object, cwd+"/object")) // as a clone of the same machine has them
	must(os.Link(hook, l.Dir+"/elsewhere"))
	j := shell("test -e .git/hooks/pre-push && echo ran; test -e sub/alias && echo evil >> sub/alias; true").in(jobspec.Workspace, cwd)
	out, err := l.succeed(j)
	if err = errors.Join(err, wantText("output", out, "ran\n")); err != nil {
		return err
	}
	must(os.Link(hook, cwd+"/sub/alias"))
	r, err := l.run(j)
	switch {
	case err == nil:
		return fmt.Errorf("it ran: %s %q", r.End.Outcome, r.Out)
	case !refused(err) || !strings.Contains(err.Error(), string(jobspec.CodeFsDeniedProtected)) || !strings.Contains(err.Error(), "sub/alias"):
		return err
	}
	must(os.Chmod(cwd+"/sub", 0o300)) // the job still reaches what it has closed
	defer os.Chmod(cwd+"/sub", 0o755) // or nobody can remove it
	if r, err := l.run(j); err == nil {
		return fmt.Errorf("it ran with a closed folder: %s %q", r.End.Outcome, r.Out)
	}
	text, err := os.ReadFile(hook)
	return errors.Join(err, wantText("the hook", string(text), "#!/bin/sh\n"))
}

// swappedCwd exchanges the cwd after it was opened and before it is mounted.
func swappedCwd(l *Lab) error {
	cwd, outside := l.folder("ws"), l.folder("outside")
	canary := l.file(outside+"/canary", "unchanged", 0o666)
	p, _, done, err := l.plan(shell("cat canary; echo x > canary; echo made > made").in(jobspec.Workspace, cwd))
	if err != nil {
		return err
	}
	defer done()
	must(os.Rename(cwd, cwd+".moved"))
	must(os.Symlink(outside, cwd))
	armed, err := l.Backend.Prepare(l.ctx, p)
	if err != nil {
		if !refused(err) {
			return err
		}
		return unchanged(canary, "unchanged", outside, 1)
	}
	proc, err := armed.Release()
	if err != nil {
		return err
	}
	proc.Wait()
	return firstError(
		func() error { return unchanged(canary, "unchanged", outside, 1) },
		func() error { return unchanged(cwd+".moved/made", "made\n", cwd+".moved", 2) })
}

func privateBounds(l *Lab) error {
	j := shell(`for d in /tmp /home/job /dev/shm /scratch; do
  head -c 4000000 /dev/zero > $d/big 2>/dev/null && echo $d is not bounded
  rm -f $d/big
done
for d in / /dev /etc /home; do echo x > $d/new && echo $d is writable; done 2>/dev/null
true`)
	j.limits = func(x *jobspec.Limits) { x.TmpBytes = 1 << 20 }
	out, err := l.succeed(j)
	if err != nil {
		return err
	}
	return wantText("complaints", out, "")
}

// setIDProgram copies id, set-id to root where the suite may make such a file.
func setIDProgram(l *Lab) error {
	cwd := l.folder("ws")
	id, err := os.ReadFile("/usr/bin/id")
	if err != nil {
		return &Missing{"id"}
	}
	must(os.WriteFile(cwd+"/id", id, 0o755))
	must(os.Chmod(cwd+"/id", 0o755|os.ModeSetuid|os.ModeSetgid))
	r, err := l.wantDenied(shell("./id -u; ./id -g").in(jobspec.ReadOnly, cwd), "esc_setuid_inert "+cwd+"/id x2")
	if err != nil {
		return err
	}
	return wantText("ids of the set-id program", r.Out, fmt.Sprintf("%d\n%d\n", l.account.UID, l.account.GID))
}

// killsInit does nothing where it is not in a namespace of its own: there it
// would end every process of the account.
func killsInit(l *Lab) error {
	r, err := l.run(shell("[ $$ = 2 ] || exit 9; kill -9 1; kill -STOP 1; kill -9 -1; echo alive"))
	if err != nil {
		return err
	}
	if r.End.Outcome != record.OutcomeSucceeded || r.Out != "alive\n" {
		return fmt.Errorf("ended as %+v with output %q", r.End, r.Out)
	}
	return nil
}

func optionNames(l *Lab) error {
	cwd := l.folder("--bind")
	l.file(cwd+"/--ro-bind", "a file\n", 0o644)
	j := command("/bin/cat", "--", "--ro-bind")
	out, err := l.succeed(j.in(jobspec.ReadOnly, cwd))
	if err != nil {
		return err
	}
	return wantText("the file with an option's name", out, "a file\n")
}

func cgroups(l *Lab) error {
	out, err := l.succeed(shell("cut -d: -f3 /proc/self/cgroup | sort -u; ls -A /sys/fs/cgroup 2>/dev/null; true"))
	if err != nil {
		return err
	}
	return wantText("cgroups", out, "/\n")
}

// coreLimit: 1 is the one value by which the kernel starts no handler (core(5)).
func coreLimit(l *Lab) error {
	out, err := l.succeed(shell("grep 'core file' /proc/self/limits | tr -s ' '"))
	if err != nil {
		return err
	}
	return wantText("limit of core files", strings.TrimSpace(out), "Max core file size 1 1 bytes")
}

func homeIsNew(l *Lab) error {
	leave := shell("cd; mkdir -p .config/systemd/user; echo x > .profile; echo x > .config/systemd/user/x.service; ls -A | wc -l")
	for range 2 {
		out, err := l.succeed(leave)
		if err != nil {
			return err
		}
		if err := wantText("entries in HOME", strings.TrimSpace(out), "2"); err != nil {
			return err
		}
	}
	out, err := l.succeed(shell("ls -A ~ /tmp /dev/shm | grep -v : ; true"))
	if err != nil {
		return err
	}
	return wantText("what later runs find", strings.TrimSpace(out), "")
}

// plantedNames has what a script could take by mistake beside it: interpreters
// and tools by their names, and files that shells and interpreters read by themselves.
func plantedNames(l *Lab) error {
	cwd := l.folder("ws")
	const evil = "#!/bin/sh\necho planted\n"
	for _, name := range []string{"sh", "env", "id", "ls"} {
		l.file(cwd+"/"+name, evil, 0o755)
	}
	for _, name := range []string{".profile", ".bashrc", ".bash_profile", ".shrc", ".pythonrc", "sitecustomize.py", "usercustomize.py"} {
		l.file(cwd+"/"+name, "echo planted\n", 0o644)
	}
	script := l.file(cwd+"/job.sh", "#!/usr/bin/env sh\nid -u >/dev/null\nls / >/dev/null\nbash -c : 2>&1\nbash -lc : 2>&1\npython3 -c 'print(1)' 2>&1 | grep -i planted\necho over\n", 0o755)
	out, err := l.succeed(command(script).in(jobspec.Workspace, cwd))
	if err != nil {
		return err
	}
	// Where nothing is mounted bash complains that it may not read /etc/profile.
	if strings.Contains(out, "planted") || !strings.HasSuffix(out, "over\n") {
		return fmt.Errorf("output %q", out)
	}
	return nil
}

// sameBytesTwice starts one plan twice: an inherited descriptor keeps its offset.
func sameBytesTwice(l *Lab) error {
	script := l.file(l.folder("bin")+"/job.sh", "#!/bin/sh\necho whole\n", 0o755)
	p, out, done, err := l.plan(command(script))
	if err != nil {
		return err
	}
	defer done()
	for range 2 {
		armed, err := l.Backend.Prepare(l.ctx, p)
		if err != nil {
			return err
		}
		proc, err := armed.Release()
		if err != nil {
			return err
		}
		if end := proc.Wait(); end.Outcome != record.OutcomeSucceeded {
			return fmt.Errorf("ended as %+v", end)
		}
		if err := wantText("output", out.text("out"), "whole\n"); err != nil {
			return err
		}
	}
	return nil
}
