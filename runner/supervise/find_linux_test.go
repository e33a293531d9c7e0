package supervise

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/runner"
)

const approved = "approved\n"

// site is a server whose sandbox is the machine itself, and whose caller is this
// process. The bound name is dir/ws/bin/job.
type site struct {
	t   *testing.T
	s   *server
	dir string // holds ws, and what lies beside it
	job string
}

func newSite(t *testing.T) *site {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	x := &site{t: t, dir: dir, job: dir + "/ws/bin/job"}
	x.mkdir("ws/bin")
	x.mkdir("ws/sub")
	x.write("ws/bin/job", approved)
	x.write("ws/bin/other", "other\n")
	x.s = &server{bases: map[string]bool{}, texts: map[string]int{}, above: map[fileID]string{}}
	if x.s.root, err = unix.Open("/", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0); err != nil {
		t.Fatal(err)
	}
	if err := x.s.hold(x.name()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		unix.Close(x.s.root)
		unix.Close(x.s.held[0].file)
	})
	return x
}

// name is the bound name as a plan has it, with an alias through a link.
func (x *site) name() runner.Name {
	x.t.Helper()
	var st unix.Stat_t
	x.must(unix.Stat(x.job, &st))
	return runner.Name{Path: x.job, Aliases: []string{x.dir + "/ws/alias"}, Size: int64(len(approved)), What: jobspec.DigestOf([]byte(approved)),
		ID: jobspec.FileID{Dev: st.Dev, Ino: st.Ino}}
}

func (x *site) must(err error) {
	x.t.Helper()
	if err != nil {
		x.t.Fatal(err)
	}
}

func (x *site) mkdir(name string) { x.must(os.MkdirAll(filepath.Join(x.dir, name), 0o755)) }
func (x *site) write(name, text string) {
	x.must(os.WriteFile(filepath.Join(x.dir, name), []byte(text), 0o755))
}
func (x *site) link(target, name string) { x.must(os.Symlink(target, filepath.Join(x.dir, name))) }
func (x *site) rename(from, to string) {
	x.must(os.Rename(filepath.Join(x.dir, from), filepath.Join(x.dir, to)))
}
func (x *site) open(name string) *os.File { return x.openFlags(name, unix.O_RDONLY) }

func (x *site) openFlags(name string, flags int) *os.File {
	x.t.Helper()
	f, err := os.OpenFile(filepath.Join(x.dir, name), flags, 0)
	x.must(err)
	x.t.Cleanup(func() { f.Close() })
	return f
}

// find asks for a path, DIR in it standing for the site, from a directory.
func (x *site) find(dir int, path string) found {
	x.t.Helper()
	before := fdCount(x.t)
	f := x.s.find(call{pid: os.Getpid(), dir: dir, path: strings.ReplaceAll(path, "DIR", x.dir)}, true)
	if after := fdCount(x.t); after != before {
		x.t.Errorf("%s: %d descriptors, %d before", path, after, before)
	}
	return f
}

func fdCount(t *testing.T) int {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}

func TestBoundNamesAreFoundHoweverTheyAreWritten(t *testing.T) {
	x := newSite(t)
	x.link("bin/job", "ws/short")
	x.link(x.job, "ws/absolute")
	x.link("short", "ws/sub/dangling") // leads to ws/sub/short, which is not there
	x.link("../short", "ws/sub/twice")
	x.link(".", "ws/dot")
	x.link("bin", "ws/lib")
	x.link("loop", "ws/loop")
	sub, bin := int(x.open("ws/sub").Fd()), int(x.open("ws/bin").Fd())
	held := int(x.open("ws/bin/job").Fd())
	t.Chdir(x.dir + "/ws/sub")
	fd := strconv.Itoa(held)
	for _, tc := range []struct {
		dir  int
		path string
	}{
		{unix.AT_FDCWD, "DIR/ws/bin/job"}, {sub, "DIR/ws/bin/job"}, {unix.AT_FDCWD, "//DIR/.//ws/./bin//job"}, {unix.AT_FDCWD, "DIR/ws/sub/../bin/job"},
		{unix.AT_FDCWD, "../bin/job"}, {unix.AT_FDCWD, ".././bin/../bin//job"}, {sub, "../bin/job"}, {bin, "job"}, {bin, "./job"}, {bin, "../lib/job"},
		{unix.AT_FDCWD, "DIR/ws/short"}, {unix.AT_FDCWD, "DIR/ws/absolute"}, {unix.AT_FDCWD, "twice"}, {unix.AT_FDCWD, "../dot/dot/lib/job"},
		{unix.AT_FDCWD, "/proc/self/cwd/../bin/job"}, {unix.AT_FDCWD, "/proc/self/root/DIR/ws/short"}, {unix.AT_FDCWD, "/proc/self/fd/" + fd},
		{unix.AT_FDCWD, "/dev/fd/" + fd}, {unix.AT_FDCWD, "/proc/thread-self/fd/" + strconv.Itoa(bin) + "/job"},
		{unix.AT_FDCWD, "/proc/" + strconv.Itoa(os.Getpid()) + "/cwd/../bin/job"},
		{unix.AT_FDCWD, "DIR/ws/alias"}, {unix.AT_FDCWD, "../bin/job/"},
	} {
		if f := x.find(tc.dir, tc.path); f.name != 0 {
			t.Errorf("%d %q: %+v", tc.dir, tc.path, f)
		}
	}
	for path, want := range map[string]unix.Errno{
		"": 0, "DIR/ws/bin/other": 0, "DIR/ws/bin": 0, "DIR/ws/bin/..": 0, "/": 0, ".": 0, "DIR/ws/sub/short": 0, "/proc/self/status": 0, "/proc/mounts": 0,
		"/proc/self/fd/0": 0, "DIR/ws/none": 0, "none/job": unix.ENOENT, "DIR/ws/bin/other/job": unix.ENOTDIR, "dangling": unix.ENOENT, "../loop": unix.ELOOP, "job": unix.ENOENT,
		"../alias/x": 0,
	} {
		if f := x.find(unix.AT_FDCWD, path); f.name >= 0 || f.errno != want {
			t.Errorf("%q: %+v, want %v", path, f, want)
		}
	}
	if f := x.find(999, "job"); f != nothing {
		t.Errorf("a descriptor that is not there: %+v", f)
	}
}

// Each change is one that somebody outside makes. The name must be found as long
// as it is written or reached as it was approved, and must not be the file that
// lies there now.
func TestBoundNamesAreFoundWhateverLiesThereNow(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(x *site)
		paths  []string
	}{
		"replaced":       {func(x *site) { x.rename("ws/bin/other", "ws/bin/job") }, []string{"DIR/ws/bin/job", "../bin/job", "DIR/ws/short"}},
		"moved away":     {func(x *site) { x.rename("ws/bin/job", "ws/gone") }, []string{"DIR/ws/bin/job", "../bin/job", "DIR/ws/short"}},
		"a link":         {func(x *site) { x.rename("ws/bin/job", "ws/gone"); x.link("other", "ws/bin/job") }, []string{"DIR/ws/bin/job", "../bin/job", "DIR/ws/short"}},
		"a loop":         {func(x *site) { x.rename("ws/bin/job", "ws/gone"); x.link("job", "ws/bin/job") }, []string{"DIR/ws/bin/job", "../bin/job", "DIR/ws/short"}},
		"another folder": {func(x *site) { x.rename("ws/bin", "ws/old"); x.mkdir("ws/bin"); x.write("ws/bin/job", "evil") }, []string{"DIR/ws/bin/job", "../bin/job", "DIR/ws/short"}},
		"a link to another": {func(x *site) {
			x.rename("ws/bin", "ws/old")
			x.mkdir("ws/new")
			x.write("ws/new/job", "evil")
			x.link("new", "ws/bin")
		}, []string{"DIR/ws/bin/job", "../bin/job", "DIR/ws/sub/../bin/job", "DIR/ws/sub/.././bin//job", "DIR/ws/short"}},
		"a link far away": {func(x *site) {
			x.rename("ws/bin", "ws/old")
			x.mkdir("other/deep")
			x.write("other/deep/job", "evil")
			x.link(x.dir+"/other/deep", "ws/bin")
		}, []string{"DIR/ws/bin/job", "../bin/job", "DIR/ws/sub/../bin/job", "../sub/../bin/job"}},
		"a file there": {func(x *site) { x.rename("ws/bin", "ws/old"); x.write("ws/bin", "evil") }, []string{"DIR/ws/bin/job"}},
		"an alias":     {func(x *site) { x.link("bin/other", "ws/alias") }, []string{"DIR/ws/alias", "DIR/./ws//alias", "../sub/x/alias"}[:2]},
	} {
		t.Run(name, func(t *testing.T) {
			x := newSite(t)
			x.link("bin/job", "ws/short")
			t.Chdir(x.dir + "/ws/sub")
			tc.change(x)
			for _, path := range tc.paths {
				if f := x.find(unix.AT_FDCWD, path); f.name != 0 || f.errno == 0 && f.object == x.s.held[0].id {
					t.Errorf("%q: %+v", path, f)
				}
			}
		})
	}
}

// A process that already is in the folder, or holds it open, finds the name
// there though the folder has another name.
func TestBoundNamesAreFoundInAFolderThatWasRenamed(t *testing.T) {
	x := newSite(t)
	bin := int(x.open("ws/bin").Fd())
	place := int(x.openFlags("ws/bin/job", unix.O_PATH).Fd())
	t.Chdir(x.dir + "/ws/bin")
	x.rename("ws/bin", "ws/old")
	x.rename("ws/old/other", "ws/old/job")
	for _, f := range []found{x.find(unix.AT_FDCWD, "job"), x.find(bin, "./job"), x.find(unix.AT_FDCWD, "DIR/ws/old/job"), x.find(unix.AT_FDCWD, "/proc/self/fd/"+strconv.Itoa(place))} {
		if f.name != 0 {
			t.Errorf("%+v", f)
		}
	}
}

// Where a part before ".." became a link, the path leads elsewhere than what was
// approved, or not: it is refused. From a folder that is known ".." is where it was.
func TestPathsThatMayHaveMeantABoundNameLeadToNoOtherBytes(t *testing.T) {
	x := newSite(t)
	x.mkdir("other/deep")
	x.mkdir("other/bin")
	x.write("other/bin/job", "evil")
	x.rename("ws/sub", "ws/old")
	x.link(x.dir+"/other/deep", "ws/sub")
	for path, want := range map[string]found{"DIR/ws/sub/../bin/job": {name: -1, errno: unix.EACCES}, "DIR/ws/none/../bin/job": {name: -1, errno: unix.ENOENT}} {
		if f := x.find(unix.AT_FDCWD, path); f.name != want.name || f.errno != want.errno {
			t.Errorf("%q: %+v, want %+v", path, f, want)
		}
	}
	t.Chdir(x.dir + "/ws/bin")
	x.rename("ws/bin", "other/in")
	for _, path := range []string{"../bin/job", "./../bin//job"} {
		if f := x.find(unix.AT_FDCWD, path); f.name != 0 {
			t.Errorf("%q from a folder that was moved: %+v", path, f)
		}
	}
}

// A file that lay at the name for a moment, and was opened as a place then, is
// not the approved one when it is opened through that descriptor.
func TestAFileThatLayAtABoundNameIsFoundByItsPlace(t *testing.T) {
	x := newSite(t)
	x.rename("ws/bin/other", "ws/bin/job")
	place := int(x.openFlags("ws/bin/job", unix.O_PATH).Fd())
	x.must(os.Remove(x.job))
	if f := x.find(unix.AT_FDCWD, "/proc/self/fd/"+strconv.Itoa(place)); f.name != 0 {
		t.Errorf("%+v", f)
	}
}

func TestNamesThatDoNotMeanTheirBytesAreNotHeld(t *testing.T) {
	for what, change := range map[string]func(x *site, n *runner.Name){
		"other bytes":  func(x *site, n *runner.Name) { x.must(os.WriteFile(x.job, []byte("approveD\n"), 0o755)) },
		"another size": func(x *site, n *runner.Name) { n.Size++ },
		"another file": func(x *site, n *runner.Name) { n.ID.Ino++ },
		"a copy that lies on the host": func(x *site, n *runner.Name) {
			n.Sealed, n.Path = true, "/proc/self/status" // whatever device the root has
		},
		"missing":       func(x *site, n *runner.Name) { x.must(os.Remove(x.job)) },
		"a link":        func(x *site, n *runner.Name) { x.rename("ws/bin/job", "ws/gone"); x.link("../gone", "ws/bin/job") },
		"a folder":      func(x *site, n *runner.Name) { x.must(os.Remove(x.job)); x.mkdir("ws/bin/job") },
		"no digest":     func(x *site, n *runner.Name) { n.What = jobspec.Digest{} },
		"folder a link": func(x *site, n *runner.Name) { x.rename("ws/bin", "ws/old"); x.link("old", "ws/bin") },
	} {
		x := newSite(t)
		n := x.name()
		change(x, &n)
		before := fdCount(t)
		if err := x.s.hold(n); err == nil {
			t.Errorf("%s: held", what)
		}
		if after := fdCount(t); after != before {
			t.Errorf("%s: %d descriptors, %d before", what, after, before)
		}
	}
}
