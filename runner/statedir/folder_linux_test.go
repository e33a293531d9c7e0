package statedir

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/runner/pin"
)

// jobID is the account of jobs in tests that run as root: in no passwd file.
const jobID = 61191

// newFolder is a folder that was not made yet, below a place that every account
// reaches.
func newFolder(t *testing.T) Folder {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range []string{dir, filepath.Dir(dir)} {
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	f := Folder{Root: filepath.Join(dir, "jobs"), Name: "job-0123", Account: pin.Account{UID: os.Getuid()}}
	if os.Getuid() == 0 {
		f.Account = pin.Account{UID: jobID, GID: jobID, Drop: true}
	}
	return f
}

func look(t *testing.T, f Folder, create bool) jobspec.Observation {
	t.Helper()
	seen, file, err := f.Look(create)
	if err != nil {
		t.Fatal(err)
	}
	if file != nil {
		file.Close()
	}
	if (file != nil) != (seen.Problem == "" && create) && create {
		t.Errorf("problem %q and a file %v", seen.Problem, file)
	}
	return seen
}

// inJob does what a job does: with its rights, in its folder.
func inJob(t *testing.T, f Folder, do func(dir string) error) {
	t.Helper()
	if err := as(f.Account, func() error { return do(f.Path()) }); err != nil {
		t.Fatal(err)
	}
}

func TestAFolderIsMadeForItsAccountAndNobodyElse(t *testing.T) {
	f := newFolder(t)
	if seen := look(t, f, false); seen.Problem != "" || seen.Size != 0 {
		t.Errorf("not made yet: %+v", seen)
	}
	if _, err := os.Lstat(f.Root); !os.IsNotExist(err) {
		t.Error("looking has made something")
	}
	if seen := look(t, f, true); seen.Problem != "" || seen.Kind != jobspec.KindDir || seen.UID != f.Account.UID {
		t.Fatalf("%+v", seen)
	}
	var st unix.Stat_t
	if err := unix.Stat(f.Path(), &st); err != nil || int(st.Uid) != f.Account.UID || st.Mode&0o7777 != 0o700 {
		t.Errorf("uid %d, mode %04o, %v", st.Uid, st.Mode&0o7777, err)
	}
	inJob(t, f, func(dir string) error { return os.WriteFile(dir+"/a", make([]byte, 100_000), 0o600) })
	if seen := look(t, f, true); seen.Size < 100_000 || seen.Size > 200_000 {
		t.Errorf("100000 bytes are counted as %d", seen.Size)
	}
	if os.Getuid() != 0 {
		return
	}
	other := pin.Account{UID: jobID + 1, GID: jobID + 1, Drop: true}
	err := as(other, func() error { _, err := os.Stat(f.Path()); return err })
	if !os.IsPermission(err) {
		t.Errorf("another account gets there: %v", err)
	}
}

func TestAnInodeWithSeveralNamesCountsOnce(t *testing.T) {
	f := newFolder(t)
	look(t, f, true)
	inJob(t, f, func(dir string) error { return os.WriteFile(dir+"/a", make([]byte, 1<<20), 0o600) })
	before := look(t, f, true).Size
	inJob(t, f, func(dir string) error { return os.Link(dir+"/a", dir+"/b") })
	if after := look(t, f, true).Size; after != before {
		t.Errorf("%d bytes with one name, %d with two", before, after)
	}
}

func TestWhatIsNotAsItWasMadeIsUnusable(t *testing.T) {
	for name, change := range map[string]func(f Folder) error{
		"a link in place of data": func(f Folder) error {
			if err := os.Remove(f.Path()); err != nil {
				return err
			}
			return os.Symlink("/etc", f.Path())
		},
		"a file in place of data": func(f Folder) error {
			if err := os.Remove(f.Path()); err != nil {
				return err
			}
			return os.WriteFile(f.Path(), nil, 0o600)
		},
		"no data": func(f Folder) error { return os.Remove(f.Path()) },
		"a link in place of the folder": func(f Folder) error {
			outer := filepath.Dir(f.Path())
			if err := os.Rename(outer, outer+".moved"); err != nil {
				return err
			}
			return os.Symlink(outer+".moved", outer)
		},
		"writable for others": func(f Folder) error { return os.Chmod(filepath.Dir(f.Path()), 0o777) },
		"root writable":       func(f Folder) error { return os.Chmod(f.Root, 0o777) },
		"unreadable": func(f Folder) error {
			return as(f.Account, func() error {
				if err := os.Mkdir(f.Path()+"/closed", 0o700); err != nil {
					return err
				}
				return os.Chmod(f.Path()+"/closed", 0)
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFolder(t)
			look(t, f, true)
			if err := change(f); err != nil {
				t.Fatal(err)
			}
			if seen := look(t, f, true); seen.Problem != jobspec.CodeStateUnusable {
				t.Errorf("%+v", seen)
			}
		})
	}
	t.Run("of another account", func(t *testing.T) {
		f := newFolder(t)
		look(t, f, true)
		f.Account.UID++
		if f.Account.Drop {
			f.Account.GID++
		}
		if seen := look(t, f, true); seen.Problem != jobspec.CodeStateUnusable {
			t.Errorf("%+v", seen)
		}
	})
}

func TestATreeThatIsTooDeepOrTooManyIsTooMuch(t *testing.T) {
	f := newFolder(t)
	look(t, f, true)
	inJob(t, f, func(dir string) error { return os.MkdirAll(dir+strings.Repeat("/d", maxDepth+2), 0o700) })
	if seen := look(t, f, true); seen.Problem != jobspec.CodeStateOverQuota {
		t.Errorf("%+v", seen)
	}
}

func TestLinksInAFolderLeadNowhere(t *testing.T) {
	f := newFolder(t)
	look(t, f, true)
	outside := filepath.Join(filepath.Dir(f.Root), "outside")
	if err := os.MkdirAll(outside+"/sub", 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(outside+"/sub/big", make([]byte, 1<<20), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, d := range []string{outside, outside + "/sub"} {
		if err := os.Chmod(d, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	inJob(t, f, func(dir string) error {
		if err := os.Symlink(outside, dir+"/away"); err != nil {
			return err
		}
		return os.Symlink(outside+"/sub/big", dir+"/file")
	})
	if seen := look(t, f, true); seen.Problem != "" || seen.Size > 64<<10 {
		t.Errorf("links were followed: %+v", seen)
	}
	if err := Remove(f.Root, f.Name); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(outside + "/sub/big"); err != nil {
		t.Errorf("removal followed a link: %v", err)
	}
}

func TestATreeOfAnyShapeIsRemoved(t *testing.T) {
	f := newFolder(t)
	look(t, f, true)
	inJob(t, f, func(dir string) error {
		if err := os.MkdirAll(dir+strings.Repeat("/d", 10*maxDepth), 0o700); err != nil {
			return err
		}
		if err := os.MkdirAll(dir+"/.deep-1/x", 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(dir+"/d/d/file", []byte("x"), 0); err != nil {
			return err
		}
		if err := os.Mkdir(dir+"/closed", 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(dir+"/closed/file", []byte("x"), 0o600); err != nil {
			return err
		}
		if err := os.Chmod(dir+"/closed", 0); err != nil {
			return err
		}
		return os.Chmod(dir, 0)
	})
	names, err := Names(f.Root)
	if err != nil || len(names) != 1 || names[0] != f.Name {
		t.Fatalf("%v, %v", names, err)
	}
	if err := Remove(f.Root, f.Name); err != nil {
		t.Fatal(err)
	}
	if names, err := Names(f.Root); err != nil || len(names) != 0 {
		t.Errorf("%v, %v", names, err)
	}
}

func TestAFolderOfManyNamesIsRemoved(t *testing.T) {
	f := newFolder(t)
	look(t, f, true)
	inJob(t, f, func(dir string) error {
		for i := range 3*batch + 7 {
			if err := os.WriteFile(filepath.Join(dir, strconv.Itoa(i)), nil, 0o600); err != nil {
				return err
			}
		}
		return nil
	})
	if err := Remove(f.Root, f.Name); err != nil {
		t.Fatal(err)
	}
}

// Who fills the folder while it is removed makes the removal fail, and end.
func TestAFolderThatIsFilledAllTheTimeDoesNotHoldItsRemoval(t *testing.T) {
	f := newFolder(t)
	look(t, f, true)
	stop, over := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(over)
		as(f.Account, func() error {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return nil
				default:
					os.WriteFile(f.Path()+"/"+strconv.Itoa(i), nil, 0o600) // until it is gone
				}
			}
		})
	}()
	done := make(chan error, 1)
	go func() { done <- Remove(f.Root, f.Name) }()
	select {
	case <-done: // either way
	case <-time.After(20 * time.Second):
		t.Error("the removal does not end")
	}
	close(stop)
	<-over
}

func TestAHalfMadeFolderIsMadeAnew(t *testing.T) {
	f := newFolder(t)
	root, err := f.makeRoot()
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(root)
	shop, err := openWorkshop(root, workshop)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(shop)
	if err := f.makeIn(shop, f.Name); err != nil {
		t.Fatal(err)
	}
	if seen := look(t, f, true); seen.Problem != "" {
		t.Errorf("%+v", seen)
	}
}

func TestRootNeitherGetsAFolderNorRemovesOneOfItsOwn(t *testing.T) {
	f := newFolder(t)
	f.Account = pin.Account{UID: 0}
	if _, _, err := f.Look(true); err == nil {
		t.Error("root got a folder")
	}
	if os.Getuid() != 0 {
		t.Skip("needs root")
	}
	f = newFolder(t)
	look(t, f, true)
	if err := os.Chown(f.Path(), 0, 0); err != nil {
		t.Fatal(err)
	}
	if err := Remove(f.Root, f.Name); err == nil {
		t.Error("root removed what a job made with its own rights")
	}
}

// The group of a job's account can be one that many accounts are in. None of them
// gets into a folder while it is made, however fast.
func TestNobodyElseOfTheGroupGetsIntoAFolderThatIsMade(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root, to act as another account")
	}
	f := newFolder(t)
	look(t, f, true) // the root is there
	stop, ended := make(chan struct{}), make(chan error)
	places := func(name string) []string {
		return []string{f.Root + "/.new-" + name, filepath.Join(f.Root, workshop, name)}
	}
	names := []string{"job-1", "job-2", "job-3", "job-4", "job-5", "job-6", "job-7", "job-8"}
	go func() {
		ended <- as(pin.Account{UID: jobID + 1, GID: jobID, Drop: true}, func() error {
			for {
				select {
				case <-stop:
					return nil
				default:
				}
				for _, name := range names {
					for _, p := range places(name) {
						_ = unix.Mkdir(p+"/data", 0o777)
					}
				}
			}
		})
	}()
	for _, name := range names {
		f.Name = name
		for range 5 {
			if seen, file, err := f.Look(true); err != nil || seen.Problem != "" {
				t.Errorf("%s: %+v, %v", name, seen, err)
			} else {
				file.Close()
			}
			if err := Remove(f.Root, name); err != nil {
				t.Fatal(err)
			}
		}
	}
	close(stop)
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
}

func TestAWorkshopThatOthersReachIsUnusable(t *testing.T) {
	f := newFolder(t)
	root, err := f.makeRoot()
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(root)
	if err := os.Mkdir(filepath.Join(f.Root, workshop), 0o711); err != nil {
		t.Fatal(err)
	}
	if seen := look(t, f, true); seen.Problem != jobspec.CodeStateUnusable {
		t.Errorf("%+v", seen)
	}
}
