//go:build unix

package safefile_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sbxcron/sbxcron/store/safefile"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// folder is a private folder reached without links.
func folder(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	must(t, os.Chmod(dir, 0o700))
	return dir
}

func options() safefile.Options {
	return safefile.Options{MaxBytes: 100, UID: os.Getuid(), Secret: true}
}

func file(t *testing.T, body string) string {
	t.Helper()
	path := filepath.Join(folder(t), "sub", "file")
	must(t, os.Mkdir(filepath.Dir(path), 0o700))
	must(t, os.WriteFile(path, []byte(body), 0o600))
	return path
}

func TestSafeFileIsReadWhole(t *testing.T) {
	path := file(t, "hello")
	b, err := safefile.Read(path, options())
	if err != nil || string(b) != "hello" {
		t.Fatal(string(b), err)
	}
	must(t, safefile.CheckDir(filepath.Dir(path), os.Getuid()))
}

func TestMissingFileIsNotExist(t *testing.T) {
	for _, path := range []string{file(t, "") + "x", filepath.Dir(file(t, "")) + "x/file"} {
		if _, err := safefile.Read(path, options()); !errors.Is(err, fs.ErrNotExist) {
			t.Error(err)
		}
	}
}

func TestUnsafeFileIsRefusedWithTheCommandThatHelps(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(path string) error
		where string // which part is named: the file or its folder
		hint  string
	}{
		"group writes":         {func(p string) error { return os.Chmod(p, 0o620) }, "file", "chmod go-w"},
		"others write":         {func(p string) error { return os.Chmod(p, 0o602) }, "file", "chmod go-w"},
		"others read a secret": {func(p string) error { return os.Chmod(p, 0o604) }, "file", "chmod 600"},
		"two names":            {func(p string) error { return os.Link(p, p+"2") }, "file", ""},
		"link":                 {func(p string) error { return errors.Join(os.Rename(p, p+"2"), os.Symlink(p+"2", p)) }, "file", "real path"},
		"folder is a link": {func(p string) error {
			d := filepath.Dir(p)
			return errors.Join(os.Rename(d, d+"2"), os.Symlink(d+"2", d))
		}, "sub", "real path"},
		"group writes the folder": {func(p string) error { return os.Chmod(filepath.Dir(p), 0o770) }, "sub", "chmod go-w"},
		"others write the folder": {func(p string) error { return os.Chmod(filepath.Dir(p), 0o707) }, "sub", "chmod go-w"},
		"everybody writes":        {func(p string) error { return os.Chmod(filepath.Dir(p), 0o777) }, "sub", "chmod go-w"},
		"too long":                {func(p string) error { return os.WriteFile(p, make([]byte, 101), 0o600) }, "file", ""},
		"folder in place of file": {func(p string) error { return errors.Join(os.Remove(p), os.Mkdir(p, 0o700)) }, "file", ""},
		"FIFO that nobody writes": {func(p string) error { return errors.Join(os.Remove(p), syscall.Mkfifo(p, 0o600)) }, "file", ""},
	} {
		t.Run(name, func(t *testing.T) {
			path := file(t, "hello")
			must(t, c.spoil(path))
			_, err := safefile.Read(path, options())
			var refused *safefile.Error
			if !errors.As(err, &refused) {
				t.Fatalf("%v", err)
			}
			if filepath.Base(refused.Path) != c.where || !strings.Contains(refused.Hint(), c.hint) || refused.Code() != "store_perms" {
				t.Errorf("%v; hint %q", err, refused.Hint())
			}
		})
	}
}

func TestStickyFolderOfAnOrdinaryUserIsNotAccepted(t *testing.T) {
	path := file(t, "hello")
	must(t, os.Chmod(filepath.Dir(path), 0o777|fs.ModeSticky))
	_, err := safefile.Read(path, options())
	if os.Getuid() == 0 {
		// It is root's here, and the file in it is ours: as in /tmp.
		must(t, err)
		return
	}
	if !errors.As(err, new(*safefile.Error)) {
		t.Fatal(err)
	}
}

func TestFileAndFolderOfAnotherUserAreRefused(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root, to give files away")
	}
	path := file(t, "hello")
	const nobody = 65534
	for _, p := range []string{path, filepath.Dir(path)} {
		must(t, os.Chown(p, nobody, 0))
		_, err := safefile.Read(path, options())
		var refused *safefile.Error
		if !errors.As(err, &refused) || refused.Path != p || !strings.HasPrefix(refused.Hint(), "chown 0 ") {
			t.Errorf("%v", err)
		}
		must(t, os.Chown(p, 0, 0))
	}
	// A file of root is good for any user, and the user's own are good.
	o := options()
	o.UID = nobody
	_, err := safefile.Read(path, o)
	must(t, err)
	must(t, os.Chown(path, nobody, 0))
	_, err = safefile.Read(path, o)
	must(t, err)
}

func TestForeignFileInAStickyFolderIsRefused(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root, to give files away")
	}
	path := file(t, "hello")
	sub := filepath.Dir(path)
	must(t, os.Chmod(sub, 0o777|fs.ModeSticky))
	must(t, os.Chown(path, 65534, 0))
	_, err := safefile.Read(path, options())
	if !errors.As(err, new(*safefile.Error)) {
		t.Fatal(err)
	}
}

func TestRelativeAndUncleanPathsAreRefused(t *testing.T) {
	path := file(t, "hello")
	for _, p := range []string{"", "file", filepath.Dir(path) + "/../sub/file", path + "/", "/" + path} {
		if _, err := safefile.Read(p, options()); !errors.As(err, new(*safefile.Error)) {
			t.Errorf("%q: %v", p, err)
		}
	}
}

func TestZeroOptionsReadNothing(t *testing.T) {
	if _, err := safefile.Read(file(t, "hello"), safefile.Options{UID: os.Getuid()}); err == nil {
		t.Error("a file is read without a limit")
	}
}

func TestWriteReplacesTheFileWhole(t *testing.T) {
	path := file(t, "old")
	before, err := os.Stat(path)
	must(t, err)
	must(t, os.WriteFile(filepath.Join(filepath.Dir(path), ".file.new"), []byte("left by a crash"), 0o644))
	must(t, safefile.Write(path, []byte("new"), 0o644))
	after, err := os.Stat(path)
	must(t, err)
	if os.SameFile(before, after) || after.Mode().Perm() != 0o644 {
		t.Errorf("same file %v, mode %s", os.SameFile(before, after), after.Mode())
	}
	names, err := os.ReadDir(filepath.Dir(path))
	must(t, err)
	if len(names) != 1 {
		t.Errorf("left behind: %v", names)
	}
}

func TestCreateRefusesAnExistingFileAndALink(t *testing.T) {
	path := file(t, "old")
	if err := safefile.Create(path, []byte("new"), 0o600); !errors.Is(err, fs.ErrExist) {
		t.Error(err)
	}
	must(t, os.Symlink(path+"-target", path+"-link"))
	if err := safefile.Create(path+"-link", nil, 0o600); !errors.Is(err, fs.ErrExist) {
		t.Error(err)
	}
	must(t, safefile.Create(path+"2", []byte("new"), 0o600))
}

func TestReaderSeesOldOrNewAndNothingBetween(t *testing.T) {
	path := file(t, strings.Repeat("a", 64))
	done := make(chan error)
	go func() {
		for i := range 200 {
			if err := safefile.Write(path, []byte(strings.Repeat(string(rune('a'+i%2)), 64)), 0o600); err != nil {
				done <- err
				return
			}
		}
		done <- nil
	}()
	for {
		b, err := safefile.Read(path, options())
		if err != nil || len(b) != 64 || strings.Trim(string(b), string(b[:1])) != "" {
			t.Fatalf("%q, %v", b, err)
		}
		select {
		case err := <-done:
			must(t, err)
			return
		default:
		}
	}
}

func TestSwappedLinkIsNeverFollowed(t *testing.T) {
	path := file(t, "good")
	evil := path + "-evil"
	must(t, os.WriteFile(evil, []byte("evil"), 0o600))
	stop := make(chan struct{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-stop:
				return
			default:
			}
			os.Symlink(evil, path+"-tmp")
			os.Rename(path+"-tmp", path)
			os.WriteFile(path+"-tmp2", []byte("good"), 0o600)
			os.Rename(path+"-tmp2", path)
		}
	}()
	good, refused := 0, 0
	for end := time.Now().Add(300 * time.Millisecond); time.Now().Before(end); {
		b, err := safefile.Read(path, options())
		switch {
		case err != nil:
			refused++
		case string(b) == "good" || len(b) == 0:
			good++
		default:
			t.Errorf("read %q through a link", b)
		}
	}
	close(stop)
	<-done
	if good == 0 || refused == 0 {
		t.Errorf("%d good, %d refused: the race was not met", good, refused)
	}
}
