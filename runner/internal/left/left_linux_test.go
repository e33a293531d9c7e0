package left

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/record"
)

// world is a folder with what lay there before the run: names that end with /
// are folders, with * programs, with > links to nowhere.
func world(t *testing.T, names ...string) Folder {
	t.Helper()
	dir := t.TempDir()
	add(t, dir, names...)
	f, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	time.Sleep(2 * coarse)
	return Folder{Path: dir, Dir: f}
}

func add(t *testing.T, dir string, names ...string) {
	t.Helper()
	for _, name := range names {
		path := filepath.Join(dir, strings.TrimRight(name, "*>"))
		must(t, os.MkdirAll(filepath.Dir(path), 0o755))
		switch name[len(name)-1] {
		case '/':
			must(t, os.MkdirAll(path, 0o755))
		case '*':
			must(t, os.WriteFile(path, nil, 0o755))
		case '>':
			must(t, os.Symlink("nowhere", path))
		default:
			must(t, os.WriteFile(path, nil, 0o644))
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func look(t *testing.T, f Folder, l Look) []string {
	t.Helper()
	l.UID = os.Geteuid()
	found, err := l.At([]Folder{f})
	if err != nil {
		t.Fatal(err)
	}
	for i := range found {
		found[i] = strings.TrimPrefix(found[i], f.Path+"/")
	}
	return found
}

func TestHooksOfEveryFormAreFound(t *testing.T) {
	for name, c := range map[string]struct {
		before, made []string
		move         [2]string
		want         string
	}{
		"a hook":                      {made: []string{"r/.git/hooks/post-merge*"}, want: "r/.git/hooks/post-merge"},
		"no program":                  {made: []string{"r/.git/hooks/post-merge", "r/.git/hooks/x.sample*", "hooks/x*", "r/hooks/x*"}},
		"the folder's own":            {made: []string{".git/hooks/post-merge*"}},
		"an old one":                  {before: []string{"r/.git/hooks/post-merge*", "r/.git/HEAD"}, made: []string{"r/.git/index"}},
		"a link for a hook":           {made: []string{"r/.git/hooks/post-merge>", "r/x*"}, want: "r/.git/hooks/post-merge"},
		"a link for all":              {made: []string{"r/.git/hooks>", "r/h/post-merge*"}, want: "r/.git/hooks"},
		"a link for the repository":   {made: []string{"r/.git>"}, want: "r/.git"},
		"a repository without .git":   {made: []string{"r/hooks/post-merge*", "r/HEAD", "r/objects/"}, want: "r/hooks/post-merge"},
		"an old folder moved to hook": {before: []string{"old/post-merge*", "r/.git/HEAD"}, move: [2]string{"old", "r/.git/hooks"}, want: "r/.git/hooks/post-merge"},
	} {
		t.Run(name, func(t *testing.T) {
			f := world(t, c.before...)
			since := time.Now()
			time.Sleep(2 * coarse)
			add(t, f.Path, c.made...)
			if c.move[0] != "" {
				must(t, os.Rename(filepath.Join(f.Path, c.move[0]), filepath.Join(f.Path, c.move[1])))
			}
			got := strings.Join(look(t, f, Look{Since: since.Add(coarse)}), " ")
			if got != c.want {
				t.Errorf("found %q, want %q", got, c.want)
			}
			if got := look(t, f, Look{Since: since.Add(coarse), MayCreate: []string{".git"}}); len(got) != 0 {
				t.Errorf("found %q that the job may make", got)
			}
		})
	}
}

func TestALookThatIsCutShortSaysSo(t *testing.T) {
	f := world(t, "a", "b", "c")
	for most, want := range map[int][]string{3: nil, 2: {"... (too many or too deep files, not all were looked at)"}} {
		if got := look(t, f, Look{Most: most}); !slices.Equal(got, want) {
			t.Errorf("at most %d: found %q", most, got)
		}
	}
	deep := world(t, strings.Repeat("d/", 70)+"f")
	if got := look(t, deep, Look{}); len(got) != 1 || !strings.HasPrefix(got[0], "... (too many or too deep") {
		t.Errorf("too deep: found %q", got)
	}
}

// TestClosedFoldersAreFound as an ordinary user: root reads everything.
func TestClosedFoldersAreFound(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("needs an ordinary user: root reads what nobody may read")
	}
	f := world(t, "before/f", "names/f", "shut/f", "blind/f")
	shut := func(name string, mode os.FileMode) {
		path := filepath.Join(f.Path, name)
		must(t, os.Chmod(path, mode))
		t.Cleanup(func() { os.Chmod(path, 0o755) })
	}
	shut("before", 0)
	time.Sleep(3 * coarse)
	since := time.Now()
	time.Sleep(2 * coarse)
	shut("blind", 0o311)
	shut("names", 0o644)
	shut("shut", 0)
	got := look(t, f, Look{Since: since})
	slices.Sort(got)
	want := []string{"blind/... (a folder that cannot be read)", "names/... (a folder that cannot be read)", "shut/... (a folder that cannot be read)"}
	if !slices.Equal(got, want) {
		t.Errorf("found %q", got)
	}
}

func TestSetIDBitsAreTakenOff(t *testing.T) {
	f := world(t)
	add(t, f.Path, "s*", "g*", "lock")
	must(t, os.Chmod(f.Path+"/s", 0o755|os.ModeSetuid))
	must(t, os.Chmod(f.Path+"/g", 0o755|os.ModeSetgid))
	must(t, os.Chmod(f.Path+"/lock", 0o644|os.ModeSetgid))
	got := look(t, f, Look{})
	slices.Sort(got)
	if !slices.Equal(got, []string{"g", "s"}) {
		t.Errorf("found %q", got)
	}
	for _, name := range got {
		if info, err := os.Stat(filepath.Join(f.Path, name)); err != nil || info.Mode() != 0o755 {
			t.Errorf("%s is %v, %v", name, info.Mode(), err)
		}
	}
}

func TestWhatWasLeftStandsBeforeOtherDenials(t *testing.T) {
	end := record.End{Outcome: record.OutcomeFailed, Denials: []record.Denial{{Code: jobspec.CodeSysDenied}}}
	Tell(&end, nil)
	if end.Outcome != record.OutcomeFailed || len(end.Denials) != 1 {
		t.Errorf("nothing was left: %+v", end)
	}
	Tell(&end, []string{"/srv/.git"})
	if end.Outcome != record.OutcomeDenied || len(end.Denials) != 2 || end.Denials[0].Target != "/srv/.git" {
		t.Errorf("%+v", end)
	}
}
