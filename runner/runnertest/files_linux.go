package runnertest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/record"
)

// fileCases say which files a job sees and may change.
func fileCases() []Case {
	return []Case{
		{"tier scratch writes into its own empty directory only", true, tierScratch},
		{"tier read-only cannot change its cwd", true, tierReadOnly},
		{"tier workspace changes its cwd on the host", false, tierWorkspace},
		{"read and write paths open exactly those", true, readAndWrite},
		{"deny hides directories and files, and a longer path wins", true, denied},
		{"a denied name that does not exist is not made", false, deniedMissing},
		{"protected names can be neither changed nor moved", true, protectedNames},
		{"protected names that are missing are not made on the host", false, protectedMissing},
		{"a protected name that a job makes is a denial", true, protectedCreated},
		{"a protected name that is a link is refused", true, protectedLink},
	}
}

func tierScratch(l *Lab) error {
	outside := l.folder("outside")
	canary := l.file(outside+"/canary", "unchanged", 0o666)
	out, err := l.succeed(shell("pwd; ls -A; echo x > new; cat new; ls " + outside + " 2>/dev/null; true"))
	if err != nil {
		return err
	}
	return firstError(
		func() error { return wantText("work directory and its content", out, "/scratch\nx\n") },
		func() error { return unchanged(canary, "unchanged", outside, 1) })
}

func tierReadOnly(l *Lab) error {
	cwd := l.folder("ws")
	file := l.file(cwd+"/file", "unchanged", 0o644)
	got, err := l.answers(l.victim("write", "file", "new", cwd+"/new").in(jobspec.ReadOnly, cwd))
	if err != nil {
		return err
	}
	for path, answer := range got {
		if answer != "EROFS" && answer != "EACCES" {
			return fmt.Errorf("write to %s: %s", path, answer)
		}
	}
	return unchanged(file, "unchanged", cwd, 1)
}

func tierWorkspace(l *Lab) error {
	cwd := l.folder("ws")
	l.file(cwd+"/old", "old", 0o644)
	must(os.Mkdir(cwd+"/sub", 0o755))
	must(os.Chown(cwd+"/sub", l.account.UID, l.account.GID))
	if _, err := l.succeed(shell("echo new > made; echo more >> old; mv made sub/moved; rm old; ln -s sub link; mkfifo pipe").in(jobspec.Workspace, cwd)); err != nil {
		return err
	}
	b, err := os.ReadFile(cwd + "/sub/moved")
	if err != nil {
		return err
	}
	if _, err := os.Lstat(cwd + "/old"); err == nil {
		return fmt.Errorf("old is still there")
	}
	return wantText("the made file", string(b), "new\n")
}

func readAndWrite(l *Lab) error {
	cwd, r, w := l.folder("ws"), l.folder("r"), l.folder("w")
	rfile, wfile := l.file(r+"/data", "data", 0o644), l.file(w+"/log", "", 0o644)
	one := l.file(l.folder("single")+"/one", "one", 0o644)
	l.file(filepath.Dir(one)+"/two", "two", 0o644)
	j := shell(fmt.Sprintf("cat %s %s; echo line > %s; echo x > %s; echo x > %s; ls %s 2>&1", rfile, one, wfile, rfile, one, filepath.Dir(one))).in(jobspec.Workspace, cwd)
	j.read, j.write = []string{r, one}, []string{w}
	res, err := l.run(j)
	if err != nil {
		return err
	}
	log, err := os.ReadFile(wfile)
	if err != nil {
		return err
	}
	return firstError(
		func() error { return wantText("what was read", strings.TrimSpace(res.Out), "dataoneone") },
		func() error { return wantText("what was written", string(log), "line\n") },
		func() error { return unchanged(rfile, "data", r, 1) },
		func() error { return unchanged(one, "one", filepath.Dir(one), 2) })
}

func denied(l *Lab) error {
	cwd := l.folder("ws")
	l.folder("ws/private")
	l.folder("ws/private/open")
	l.file(cwd+"/private/secret", "secret", 0o644)
	l.file(cwd+"/private/open/public", "public", 0o644)
	l.file(cwd+"/token", "token", 0o644)
	j := shell("cat private/secret; ls private; cat token; echo x > token; echo x > private/new; rm -r private; mv private other; cat private/open/public").in(jobspec.Workspace, cwd)
	j.deny, j.read = []string{cwd + "/private", cwd + "/token"}, []string{cwd + "/private/open"}
	res, err := l.run(j)
	if err != nil {
		return err
	}
	return firstError(
		func() error { return wantText("what was read", res.Out, "public") },
		func() error { return unchanged(cwd+"/token", "token", cwd, 2) },
		func() error { return unchanged(cwd+"/private/secret", "secret", cwd+"/private", 2) })
}

func deniedMissing(l *Lab) error {
	cwd := l.folder("ws")
	j := command("/bin/true").in(jobspec.Workspace, cwd)
	j.deny = []string{cwd + "/none"}
	if _, err := l.succeed(j); err != nil {
		return err
	}
	return empty(cwd)
}

func empty(dir string) error {
	list, err := os.ReadDir(dir)
	if err == nil && len(list) > 0 {
		return fmt.Errorf("%s holds %v", dir, list)
	}
	return err
}

func protectedNames(l *Lab) error {
	cwd := l.folder("ws")
	l.folder("ws/.git")
	hooks := l.folder("ws/.git/hooks")
	l.file(cwd+"/.git/config", "[core]\n", 0o644)
	l.file(cwd+"/.envrc", "export A=1\n", 0o644)
	r, err := l.run(shell(`echo x > .git/hooks/pre-commit; echo x >> .git/config; echo x >> .envrc
mv .git moved; rm -rf .git; mv .envrc moved; rm -f .envrc; ln -sf /bin/sh .envrc; mkdir -p .git/hooks/new; cat .git/config`).in(jobspec.Workspace, cwd))
	if err != nil {
		return err
	}
	if !strings.Contains(r.Err, "busy") {
		return fmt.Errorf("moving .git was not refused as busy: %q", r.Err)
	}
	return firstError(
		func() error { return wantText("the config as read inside", r.Out, "[core]\n") },
		func() error { return unchanged(cwd+"/.envrc", "export A=1\n", cwd, 2) },
		func() error { return unchanged(cwd+"/.git/config", "[core]\n", hooks, 0) })
}

func protectedMissing(l *Lab) error {
	cwd := l.folder("ws")
	if _, err := l.succeed(command("/bin/true").in(jobspec.Workspace, cwd)); err != nil {
		return err
	}
	return empty(cwd)
}

func protectedCreated(l *Lab) error {
	cwd := l.folder("ws")
	j := shell("mkdir .git; echo x > .envrc; echo x > .npmrc").in(jobspec.Workspace, cwd)
	j.mayCreate = []string{".npmrc"}
	r, err := l.run(j)
	if err != nil {
		return err
	}
	var got []string
	for _, d := range r.End.Denials {
		got = append(got, string(d.Code)+" "+strings.TrimPrefix(d.Target, cwd+"/"))
	}
	return firstError(
		func() error { return wantText("outcome", string(r.End.Outcome), string(record.OutcomeDenied)) },
		func() error {
			return wantText("denials", strings.Join(got, ", "), "fs_protected_created .git, fs_protected_created .envrc")
		})
}

func protectedLink(l *Lab) error {
	secret := l.folder("secrets")
	l.file(secret+"/key", "secret", 0o644)
	cwd := l.folder("ws")
	must(os.Symlink(secret, cwd+"/.git"))
	r, err := l.run(shell("cat .git/key").in(jobspec.Workspace, cwd))
	if err == nil {
		return fmt.Errorf("it ran: %s %q", r.End.Outcome, r.Out)
	}
	if !refused(err) || !strings.Contains(err.Error(), string(jobspec.CodeFsDeniedProtected)) {
		return err
	}
	return nil
}
