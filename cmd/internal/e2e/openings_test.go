//go:build linux

package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sbxcron/sbxcron/cmd/internal/api"
	"github.com/sbxcron/sbxcron/jobspec"
)

// openings is a house whose principal may bind what lies below work/shared.
func openings(t *testing.T) (h *house, shared string) {
	t.Helper()
	h = newHouse(t)
	shared = h.mkdir("shared")
	h.permit(func(_, alice map[string]any) { alice["bind"], alice["write"] = []any{shared}, []any{shared + "/spool"} })
	must(t, os.Chmod(h.root, 0o755)) // a job's account reaches its state folder
	return h, shared
}

// job adds a job of a shell text in a workspace of its own.
func (h *house) job(name, body string, flags ...string) (dir string) {
	h.t.Helper()
	dir = h.script(name, body)
	args := append([]string{"add", name, "--schedule", never, "--yes", "--tier", "workspace", "--cwd", dir}, flags...)
	h.must(append(args, "--", "./job.sh")...)
	return dir
}

func TestBindsShowWhatWasApproved(t *testing.T) {
	h, shared := openings(t)
	conf := h.put(filepath.Join(shared, "app.toml"), "a = 1\n", 0o644)
	spool := h.mkdir("shared/spool")
	h.put(filepath.Join(h.mkdir("shared/data"), "one"), "one\n", 0o644)
	h.job("binds", "cat ~/.app/app.toml /data/one; echo made > /spool/made",
		"--bind", conf+":~/.app/app.toml:ro", "--bind", shared+"/data:/data:ro", "--bind", spool+":/spool:rw")
	h.start()
	h.allowed("binds")
	if out := h.text(h.row("binds", "succeeded", "")); out != "a = 1\none\n" {
		t.Errorf("inside it read %q", out)
	}
	if b, err := os.ReadFile(filepath.Join(spool, "made")); err != nil || string(b) != "made\n" {
		t.Errorf("the writable bind holds %q, %v", b, err)
	}
	show := item[api.JobDetail](h, "show", "binds")
	if show.Coverage["bind_files"] != "hash" || show.Coverage["bind_live"] != "unbound" {
		t.Errorf("coverage %v", show.Coverage)
	}
	h.put(filepath.Join(shared, "data", "one"), "two\n", 0o644) // live, and said so
	if out := h.text(h.row("binds", "succeeded", "")); out != "a = 1\ntwo\n" {
		t.Errorf("inside it read %q", out)
	}
	for _, c := range []struct {
		name         string
		change, undo func()
	}{
		{"bytes of a file that is only read", func() { h.put(conf, "a = 2\n", 0o644) }, func() { h.put(conf, "a = 1\n", 0o644) }},
		{"a folder that became a link", func() { linkAway("spool")(t, h, shared) },
			func() { must(t, os.Remove(spool)); must(t, os.Rename(spool+".moved", spool)) }},
		{"a folder that became a file", func() { must(t, os.Rename(spool, spool+".moved")); h.put(spool, "", 0o644) },
			func() { must(t, os.Remove(spool)); must(t, os.Rename(spool+".moved", spool)) }},
		{"a folder that is gone", func() { must(t, os.Rename(spool, spool+".moved")) }, func() { must(t, os.Rename(spool+".moved", spool)) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := *h
			in.t = t
			c.change()
			in.refused("binds", jobspec.CodeDriftBindSrc)
			c.undo()
			in.allowed("binds")
		})
	}
	if os.Getuid() == 0 {
		must(t, os.Chown(shared+"/data", 1, 1))
		h.refused("binds", jobspec.CodeDriftBindSrc)
	}
}

func TestBindsThatOpenTooMuchAreRefusedAtAdd(t *testing.T) {
	h, shared := openings(t)
	h.start()
	file := h.put(filepath.Join(shared, "file"), "x\n", 0o644)
	must(t, os.Symlink(file, filepath.Join(shared, "link")))
	h.mkdir("shared/proj/.git")
	h.mkdir("shared/holed/private")
	h.mkdir("elsewhere")
	dir := h.script("ws", "true")
	for _, c := range []struct {
		bind string
		code jobspec.Code
		more []string
	}{
		{file + ":~/f", jobspec.CodeBindModeMissing, nil},
		{file + ":~/f:rx", jobspec.CodeBindModeMissing, nil},
		{filepath.Join(h.work, "elsewhere") + ":/x:ro", jobspec.CodeBindOverCeiling, nil},
		{shared + ":/x:rw", jobspec.CodeBindOverCeiling, []string{"--tier", "read-only"}},
		{filepath.Join(shared, "link") + ":~/f:ro", jobspec.CodeDriftBindSrc, nil},
		{filepath.Join(shared, "none") + ":~/f:ro", jobspec.CodeDriftBindSrc, nil},
		{"/dev/null:~/f:ro", jobspec.CodePathSensitive, nil},
		{h.root + ":/x:ro", jobspec.CodePathSensitive, nil},
		{"/etc/shadow:~/f:ro", "", nil}, // root's: unreachable for the account, or sensitive
		{file + ":/etc/f:ro", jobspec.CodeBindSensitive, nil},
		{file + ":/usr/bin/ls:ro", jobspec.CodeBindSensitive, nil},
		{file + ":/:ro", jobspec.CodeBindSensitive, nil},
		{file + ":/home/job:ro", jobspec.CodeBindSensitive, nil},
		{file + ":/home:ro", jobspec.CodeBindSensitive, nil},
		{file + ":~/../x:ro", jobspec.CodeBindSensitive, nil},
		{file + ":" + dir + "/made:ro", jobspec.CodeBindSensitive, nil},
		{file + ":" + h.work + ":ro", jobspec.CodeBindSensitive, nil},
		{file + ":/state/x:ro", jobspec.CodeBindSensitive, nil},
		{shared + "/proj/.git:/g:rw", jobspec.CodeBindSensitive, nil},
		{shared + "/holed:/h:ro", jobspec.CodeBindSensitive, []string{"--read", shared + "/holed", "--deny", shared + "/holed/private"}},
	} {
		args := append([]string{"b", "--schedule", never, "--yes", "--tier", "workspace", "--cwd", dir, "--bind", c.bind}, c.more...)
		args = append(args, "--", "./job.sh")
		if c.code == "" {
			if r := h.run(append([]string{"add"}, args...)...); r.code == 0 {
				t.Errorf("%s was accepted", c.bind)
			}
			continue
		}
		d := h.run(append([]string{"add", "--json"}, args...)...)
		if !strings.Contains(d.err, `"`+string(c.code)+`"`) || d.code == 0 {
			t.Errorf("--bind %s: exit %d, want %s\n%s", c.bind, d.code, c.code, d.err)
		}
	}
}

func TestAStateFolderSurvivesRunsAndGoesWithItsJob(t *testing.T) {
	h, _ := openings(t)
	h.job("keeps", `echo run >> "$STATE_DIRECTORY/count"; cat "$STATE_DIRECTORY/count"`, "--state-dir")
	h.start()
	h.allowed("keeps") // looking makes nothing
	where := item[api.JobDetail](h, "show", "keeps").StateDir
	if _, err := os.Lstat(where); !os.IsNotExist(err) {
		t.Errorf("%s is there before any run: %v", where, err)
	}
	h.row("keeps", "succeeded", "")
	if out := h.text(h.row("keeps", "succeeded", "")); out != "run\nrun\n" {
		t.Errorf("the second run read %q", out)
	}
	h.must("replace", "keeps", "--schedule", never, "--yes", "--tier", "workspace", "--cwd", filepath.Join(h.work, "keeps"), "--state-dir", "--note", "again", "--", "./job.sh")
	if out := h.text(h.row("keeps", "succeeded", "")); out != "run\nrun\nrun\n" {
		t.Errorf("after a replace it read %q", out)
	}
	if r := h.run("remove", "keeps", "--yes"); r.code != 0 || !strings.Contains(r.err, "state folder") {
		t.Errorf("remove: exit %d\n%s", r.code, r.err)
	}
	gone := func() bool { _, err := os.Lstat(filepath.Dir(where)); return os.IsNotExist(err) }
	for end := time.Now().Add(20 * time.Second); !gone() && time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
	}
	if !gone() {
		t.Errorf("%s is still there", where)
	}
	told := false
	for _, l := range h.ledger() {
		told = told || l.Kind == "pruned" && l.Job == "keeps"
	}
	if !told {
		t.Error("no line of the ledger tells of the removal")
	}
	h.job("keeps", `cat "$STATE_DIRECTORY/count"`, "--state-dir")
	h.row("keeps", "failed", "") // another job of that name begins empty
	if r := h.run("audit", "verify"); r.code != 0 {
		t.Errorf("audit verify: exit %d\n%s%s", r.code, r.out, r.err)
	}
}

func TestAStateFolderOverItsLimitKeepsTheJobFromStarting(t *testing.T) {
	h, _ := openings(t)
	h.job("grows", `head -c 300000 /dev/zero > "$STATE_DIRECTORY/big"`, "--state-dir", "--limit", "state=100KiB")
	h.start()
	if r := h.row("grows", "succeeded", jobspec.CodeStateOverQuota); len(r.Reasons) != 1 {
		t.Errorf("%+v", r.Reasons) // said at once, refused next time
	}
	h.refused("grows", jobspec.CodeStateOverQuota)
	big := filepath.Join(item[api.JobDetail](h, "show", "grows").StateDir, "big")
	must(t, os.Remove(big))
	h.allowed("grows")
}

func TestAStateFolderThatIsNotAsItWasMadeIsNotUsed(t *testing.T) {
	h, _ := openings(t)
	h.job("keeps", `touch "$STATE_DIRECTORY/x"`, "--state-dir")
	h.start()
	h.row("keeps", "succeeded", "")
	where := item[api.JobDetail](h, "show", "keeps").StateDir
	must(t, os.Rename(where, where+".moved"))
	must(t, os.Symlink("/etc", where))
	h.refused("keeps", jobspec.CodeStateUnusable)
	must(t, os.Remove(where))
	must(t, os.Rename(where+".moved", where))
	h.row("keeps", "succeeded", "")
}

// The first folder by name is spoiled by its owner; the last must go all the same.
func TestAStateFolderThatCannotBeRemovedKeepsNoOther(t *testing.T) {
	h, _ := openings(t)
	h.start()
	var where []string
	for _, name := range []string{"a-spoiled", "z-goes"} {
		h.job(name, `touch "$STATE_DIRECTORY/x"`, "--state-dir")
		h.row(name, "succeeded", "")
		where = append(where, item[api.JobDetail](h, "show", name).StateDir)
	}
	must(t, os.Rename(where[0], where[0]+".moved"))
	must(t, os.Symlink("/etc", where[0]))
	h.must("remove", "a-spoiled", "--yes")
	h.must("remove", "z-goes", "--yes")
	gone := func() bool { _, err := os.Lstat(filepath.Dir(where[1])); return os.IsNotExist(err) }
	for end := time.Now().Add(20 * time.Second); !gone() && time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
	}
	if !gone() {
		t.Errorf("%s is still there", where[1])
	}
}

func TestAStateFolderNeedsAnAccountThatStays(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root")
	}
	h := newHouse(t)
	h.permit(func(_, alice map[string]any) { delete(alice, "run_as") })
	h.start()
	e := h.refusesToAdd(jobspec.CodeRunAsForbidden, "s", "--schedule", never, "--yes", "--state-dir", "--", "/bin/true")
	if !strings.Contains(e.Help, "--run-as") {
		t.Errorf("hint %q", e.Help)
	}
}

func TestGitCommitIsAskedForAndKeepsHooks(t *testing.T) {
	h, _ := openings(t)
	h.needs("git")
	dir := h.script("repo", "echo x >> file; git add file; git commit -q -m one; git log --format=%s; echo bad > .git/hooks/pre-commit")
	h.gitInit(dir)
	args := []string{"repo", "--schedule", never, "--yes", "--tier", "workspace", "--cwd", dir, "--git", "commit"}
	for _, v := range []string{"AUTHOR", "COMMITTER"} {
		args = append(args, "--env", "GIT_"+v+"_NAME=job", "--env", "GIT_"+v+"_EMAIL=job@example.org")
	}
	command := []string{"--", "./job.sh"}
	d := h.dryRun(append(append([]string{}, args...), command...)...)
	if len(d.Asks) != 1 || d.Asks[0].Rule != "floor.git_commit" {
		t.Fatalf("asks %+v, reasons %+v", d.Asks, d.Reasons)
	}
	h.must(append(append([]string{"add"}, append(args, "--answer", d.Asks[0].ID+"=allow")...), command...)...)
	h.start()
	r := h.trigger("repo")
	if out := h.text(r); out != "one\n" {
		t.Errorf("%s: git says %q\n%s", r.Outcome, out, h.must("logs", r.Run, "--stream", "err"))
	}
	if _, err := os.Lstat(filepath.Join(dir, ".git/hooks/pre-commit")); !os.IsNotExist(err) {
		t.Errorf("a hook was planted: %v", err)
	}
}

func TestMayCreateIsForProtectedNames(t *testing.T) {
	h, _ := openings(t)
	h.start()
	dir := h.script("ws", "true")
	base := []string{"m", "--schedule", never, "--yes", "--tier", "workspace", "--cwd", dir}
	h.refusesToAdd(jobspec.CodeSpecMalformed, append(append([]string{}, base...), "--may-create", "file.txt", "--", "./job.sh")...)
	h.job("makes", "echo 1 > .envrc", "--may-create", ".envrc")
	h.row("makes", "succeeded", "")
	h.job("plants", "echo 1 > .envrc")
	if r := h.trigger("plants"); r.Outcome != "denied" || len(r.Denials) != 1 || r.Denials[0].Code != jobspec.CodeFsProtectedCreated {
		t.Errorf("%s, %+v", r.Outcome, r.Denials)
	}
}

func (h *house) needs(tool string) {
	h.t.Helper()
	if _, err := exec.LookPath(tool); err != nil {
		h.t.Skipf("needs %s", tool)
	}
}

// gitInit makes a folder a repository of the job's account.
func (h *house) gitInit(dir string) {
	h.t.Helper()
	if out, err := exec.Command("git", "init", "-q", dir).CombinedOutput(); err != nil {
		h.t.Fatalf("git init: %v\n%s", err, out)
	}
	must(h.t, filepath.WalkDir(filepath.Join(dir, ".git"), func(path string, _ os.DirEntry, err error) error {
		if err == nil {
			h.own(path)
		}
		return err
	}))
}
