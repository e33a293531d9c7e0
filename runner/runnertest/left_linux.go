package runnertest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/record"
)

// hiddenHooks lets a job plant a hook where a look could miss it. It needs no
// chmod, which a job without mounts does not have.
func hiddenHooks(l *Lab) error {
	for name, c := range map[string]struct{ body, want string }{
		"closed": {"mkdir -p a/.git; (umask 466; mkdir a/.git/hooks); cp /bin/true a/.git/hooks/pre-push", "a/.git/hooks/..."},
		"shut":   {"umask 777; mkdir a", "a/..."},
		"link":   {"mkdir -p a/.git/hooks; cp /bin/true a/x; ln -s ../../x a/.git/hooks/pre-push", "a/.git/hooks/pre-push"},
		"many":   {"mkdir -p a/.git/hooks; cp /bin/true a/.git/hooks/pre-push", "a/.git/hooks/pre-push"},
	} {
		cwd := l.folder("left " + name)
		if name == "many" {
			l.fill(cwd+"/m", 21_000)
		}
		r, err := l.run(shell(c.body).in(jobspec.Workspace, cwd))
		for _, below := range []string{"/a", "/a/c", "/a/.git/hooks"} {
			os.Chmod(cwd+below, 0o755) // for those who clean up
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if r.End.Outcome != record.OutcomeDenied || len(r.End.Denials) != 1 || !strings.HasPrefix(r.End.Denials[0].Target, filepath.Join(cwd, c.want)) {
			return fmt.Errorf("%s: ended as %s, %v, %+v: %s", name, r.End.Outcome, r.End.Reasons, r.End.Denials, r.Err)
		}
	}
	return nil
}

// growthHidden lets a job take more than it may in a folder that nobody can list.
func growthHidden(l *Lab) error {
	cwd := l.folder("grows")
	j := shell("umask 466; mkdir d; umask 022; head -c 4M /dev/zero > d/f").in(jobspec.Workspace, cwd)
	j.limits = func(x *jobspec.Limits) { x.WorkspaceGrowthBytes = 1 << 20 }
	r, err := l.run(j)
	os.Chmod(cwd+"/d", 0o755)
	if err != nil {
		return err
	}
	if len(r.End.Reasons) != 1 || r.End.Reasons[0].Code != jobspec.CodeLimitWorkspace || r.End.Outcome == record.OutcomeSucceeded {
		return fmt.Errorf("grew as %s, %+v", r.End.Outcome, r.End.Reasons)
	}
	return nil
}

// fill makes many files; the look after a run once ended at 20,000.
func (l *Lab) fill(dir string, files int) {
	must(os.Mkdir(dir, 0o755))
	for i := range files {
		must(os.WriteFile(fmt.Sprintf("%s/%d", dir, i), nil, 0o644))
	}
}
