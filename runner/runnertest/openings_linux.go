package runnertest

import (
	"fmt"
	"os"
	"os/exec"
	"strings"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/record"
)

// openingCases say what binds, the state folder and fs.git open, and what not.
func openingCases() []Case {
	return []Case{
		{"a bound file appears at its target with the approved bytes", true, bindBytes},
		{"a live folder appears at its target and cannot be changed", true, bindFolder},
		{"a writable bind changes the host, but not its protected names", true, bindWritable},
		{"a new protected name in a writable bind is a denial", true, bindCreated},
		{"the state folder survives runs, and nothing beside it is seen", true, stateSurvives},
		{"fs.git commit lets git commit and keeps hooks and config", true, gitCommit},
		{"fs.git commit reports names in .git that were missing", true, gitCreated},
		{"fs.git commit refuses a .git that is a file", true, gitFile},
	}
}

func bindOf(source, target, mode string, kind jobspec.FileKind, uid int) jobspec.Bind {
	return jobspec.Bind{Source: source, Target: target, Mode: mode, Kind: kind, UID: uid}
}

func bindBytes(l *Lab) error {
	file := l.file(l.folder("conf")+"/app.toml", "key = 1\n", 0o644)
	j := shell(`cat ~/.app/app.toml /srv/app.toml; echo x >> ~/.app/app.toml; rm -f /srv/app.toml; mv ~/.app/app.toml ~/other; ls ` + l.Dir + ` 2>/dev/null; true`)
	j.bind = []jobspec.Bind{bindOf(file, "~/.app/app.toml", "ro", jobspec.KindRegular, l.account.UID),
		bindOf(file, "/srv/app.toml", "ro", jobspec.KindRegular, l.account.UID)}
	out, err := l.succeed(j)
	if err != nil {
		return err
	}
	return firstError(
		func() error { return wantText("what was read", out, "key = 1\nkey = 1\n") },
		func() error { return unchanged(file, "key = 1\n", l.Dir+"/conf", 1) })
}

func bindFolder(l *Lab) error {
	dir := l.folder("data")
	file := l.file(dir+"/one", "one\n", 0o644)
	j := shell("cat /data/one; echo x > /data/two; echo x >> /data/one; rm -f /data/one; true")
	j.bind = []jobspec.Bind{bindOf(dir, "/data", "ro", jobspec.KindDir, l.account.UID)}
	out, err := l.succeed(j)
	if err != nil {
		return err
	}
	return firstError(
		func() error { return wantText("what was read", out, "one\n") },
		func() error { return unchanged(file, "one\n", dir, 1) })
}

func bindWritable(l *Lab) error {
	cwd, spool := l.folder("ws"), l.folder("spool")
	l.file(spool+"/.envrc", "A=1\n", 0o644)
	one := l.file(l.folder("single")+"/log", "", 0o644)
	j := shell("echo new > ~/spool/made; echo x >> ~/spool/.envrc; mv ~/spool/.envrc ~/spool/moved; echo line >> /log; true").in(jobspec.Workspace, cwd)
	j.bind = []jobspec.Bind{bindOf(spool, "~/spool", "rw", jobspec.KindDir, l.account.UID), bindOf(one, "/log", "rw", jobspec.KindRegular, l.account.UID)}
	if _, err := l.succeed(j); err != nil {
		return err
	}
	made, err := os.ReadFile(spool + "/made")
	if err != nil {
		return err
	}
	log, err := os.ReadFile(one)
	if err != nil {
		return err
	}
	return firstError(
		func() error { return wantText("the made file", string(made), "new\n") },
		func() error { return wantText("the log", string(log), "line\n") },
		func() error { return unchanged(spool+"/.envrc", "A=1\n", spool, 2) })
}

func bindCreated(l *Lab) error {
	cwd, spool := l.folder("ws"), l.folder("spool")
	j := shell("echo x > ~/spool/.envrc").in(jobspec.Workspace, cwd)
	j.bind = []jobspec.Bind{bindOf(spool, "~/spool", "rw", jobspec.KindDir, l.account.UID)}
	return l.deniedFor(j, spool+"/.envrc")
}

// deniedFor runs a job that must end as denied for new protected names.
func (l *Lab) deniedFor(j Job, targets ...string) error {
	r, err := l.run(j)
	if err != nil {
		return err
	}
	var got []string
	for _, d := range r.End.Denials {
		if d.Code == jobspec.CodeFsProtectedCreated {
			got = append(got, d.Target)
		}
	}
	return firstError(
		func() error { return wantText("outcome", string(r.End.Outcome), string(record.OutcomeDenied)) },
		func() error { return wantText("denials", strings.Join(got, ", "), strings.Join(targets, ", ")) })
}

func stateSurvives(l *Lab) error {
	private := l.Dir + "/private"
	must(os.Mkdir(private, 0o755))
	l.file(private+"/secret", "secret", 0o644)
	state := l.folder("private/state")
	must(os.Chmod(private, 0o711))
	j := shell(`echo "$STATE_DIRECTORY"; echo run >> $STATE_DIRECTORY/count; cat $STATE_DIRECTORY/count; ls -A / | grep -c private; cat $STATE_DIRECTORY/../secret 2>/dev/null; true`)
	j.state = state
	if _, err := l.succeed(j); err != nil {
		return err
	}
	out, err := l.succeed(j)
	if err != nil {
		return err
	}
	return wantText("the second run", out, "/state\nrun\nrun\n0\n")
}

// repository makes a repository with one hook in a workspace of the job.
func (l *Lab) repository() (string, error) {
	if _, err := exec.LookPath("git"); err != nil {
		return "", &Missing{"git"}
	}
	cwd := l.folder("ws")
	cmd := exec.Command("git", "init", "-q", cwd)
	cmd.Env = []string{"PATH=/usr/bin:/bin", "HOME=/nonexistent", "GIT_CONFIG_NOSYSTEM=1"}
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("git init: %w: %s", err, out)
	}
	l.file(cwd+"/.git/hooks/post-commit", "#!/bin/sh\n# kept\n", 0o755)
	out, err := exec.Command("chown", "-R", fmt.Sprintf("%d:%d", l.account.UID, l.account.GID), cwd).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("chown: %w: %s", err, out)
	}
	return cwd, nil
}

func gitCommit(l *Lab) error {
	cwd, err := l.repository()
	if err != nil {
		return err
	}
	config, err := os.ReadFile(cwd + "/.git/config")
	if err != nil {
		return err
	}
	j := shell(`echo x > file && git add file && git commit -q -m one && git log --format=%s
echo bad > .git/hooks/post-commit; echo bad > .git/hooks/pre-commit; git config core.pager bad 2>/dev/null; mv .git other; mv .git/hooks .git/old; rm -rf .git/hooks
echo bad > .git/info/attributes; true`).in(jobspec.Workspace, cwd)
	j.git, j.env = jobspec.GitCommit, committer()
	out, err := l.succeed(j)
	if err != nil {
		return err
	}
	hooks, err := os.ReadDir(cwd + "/.git/hooks")
	if err != nil {
		return err
	}
	for _, h := range hooks {
		if h.Name() == "pre-commit" {
			return fmt.Errorf("a hook was planted")
		}
	}
	_, moved := os.Lstat(cwd + "/other")
	_, attributes := os.Lstat(cwd + "/.git/info/attributes")
	if !os.IsNotExist(moved) || !os.IsNotExist(attributes) {
		return fmt.Errorf(".git was moved (%v) or info changed (%v)", moved, attributes)
	}
	return firstError(
		func() error { return wantText("the log of git", out, "one\n") },
		func() error { return fileHolds(cwd+"/.git/hooks/post-commit", "#!/bin/sh\n# kept\n") },
		func() error { return fileHolds(cwd+"/.git/config", string(config)) })
}

// committer says who commits: a job has no configuration of git but the
// repository's.
func committer() map[string]string {
	return map[string]string{"GIT_AUTHOR_NAME": "job", "GIT_AUTHOR_EMAIL": "job@example.org", "GIT_COMMITTER_NAME": "job", "GIT_COMMITTER_EMAIL": "job@example.org"}
}

func fileHolds(path, want string) error {
	got, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return wantText(path, string(got), want)
}

func gitCreated(l *Lab) error {
	cwd, err := l.repository()
	if err != nil {
		return err
	}
	must(os.RemoveAll(cwd + "/.git/info"))
	j := shell("mkdir .git/info; echo /tmp > .git/commondir; mkdir .git/modules; echo x > .git/harmless; mkdir .git/rebase-merge; echo 'exec true' > .git/rebase-merge/git-rebase-todo").in(jobspec.Workspace, cwd)
	j.git, j.mayCreate = jobspec.GitCommit, []string{".git/modules"}
	return l.deniedFor(j, cwd+"/.git/info", cwd+"/.git/commondir", cwd+"/.git/rebase-merge")
}

func gitFile(l *Lab) error {
	cwd := l.folder("ws")
	l.file(cwd+"/.git", "gitdir: /srv/other\n", 0o644)
	j := shell("true").in(jobspec.Workspace, cwd)
	j.git = jobspec.GitCommit
	r, err := l.run(j)
	if err == nil {
		return fmt.Errorf("it ran: %s", r.End.Outcome)
	}
	if !refused(err) || !strings.Contains(err.Error(), string(jobspec.CodeFsDeniedProtected)) {
		return err
	}
	return nil
}
