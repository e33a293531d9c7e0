package left

import (
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/runner/internal/tree"
)

// MaxLooked bounds how many names below one folder are looked at.
const MaxLooked = 1 << 20

// mostNamed bounds how many finds one record names.
const mostNamed = 20

// coarse is how far the time that file systems stamp with may lie behind the
// clock: one tick of the slowest kernel.
const coarse = 10 * time.Millisecond

// Folder is one that the run could write to.
type Folder struct {
	Path string // as records name it
	Dir  *os.File
}

// Look is one look after a run. The caller's thread has the file system rights
// of the job's account.
type Look struct {
	UID       int       // of the job's account
	Since     time.Time // when the run began
	MayCreate []string  // protected names that the job may make
	Most      int       // names below one folder; 0 for MaxLooked
}

// At returns what a run changed below the folders: files that run as their owner,
// which would be somebody's rights for whoever starts them, and hooks. The bits
// are taken off with the job's own rights; hooks stay for a person to look at.
// What could not be looked at is a find, too: a job chooses what lies there.
func (l Look) At(folders []Folder) ([]string, error) {
	if l.Most == 0 {
		l.Most = MaxLooked
	}
	var found []string
	for _, f := range folders {
		w := walk{Look: l, top: f.Path}
		w.Since = l.Since.Add(-coarse)
		err := tree.Walk(f.Dir, l.Most, w.see, w.closed)
		found = append(found, w.found...)
		if errors.Is(err, tree.ErrTooMuch) {
			// First of all: a record that is cut short must still say it.
			found = append([]string{f.Path + "/... (too many or too deep files, not all were looked at)"}, found...)
			continue
		}
		if err != nil {
			return found, err
		}
	}
	return found, nil
}

type walk struct {
	Look
	top   string
	found []string
}

func (w *walk) name(below string) error {
	if len(w.found) < mostNamed {
		w.found = append(w.found, w.top+"/"+below)
	}
	return nil
}

func (w *walk) see(e tree.Entry) error {
	switch kind := e.Stat.Mode & unix.S_IFMT; {
	case kind == unix.S_IFDIR:
		return enter(e.Path)
	case kind == unix.S_IFREG && runsAsOwner(e.Stat.Mode) && w.changed(e.Stat):
		takeOff(e)
		return w.name(e.Path)
	case (kind == unix.S_IFREG && e.Stat.Mode&0o111 != 0 || kind == unix.S_IFLNK) && !w.allowsHooks() && w.isHook(e):
		return w.name(e.Path)
	}
	return nil
}

// closed judges a folder that cannot be read. The job may have closed it, and
// reach what lies in it by names that only the job knows.
func (w *walk) closed(e tree.Entry) error {
	own := int(e.Stat.Uid) == w.UID && w.changed(e.Stat)
	if !own && !reaches(e) {
		return nil
	}
	return w.name(e.Path + "/... (a folder that cannot be read)")
}

// reaches reports whether names in a folder can be used without reading it.
func reaches(e tree.Entry) bool {
	fd, err := unix.Openat(e.Dir, e.Name+"/.", unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	unix.Close(fd)
	return true
}

func (w *walk) changed(st *unix.Stat_t) bool { return !time.Unix(st.Ctim.Unix()).Before(w.Since) }

// enter leaves out the part of a repository that is large and trusted by nobody.
func enter(folder string) error {
	if path.Base(folder) == "objects" && path.Base(path.Dir(folder)) == jobspec.GitFolder {
		return tree.SkipFolder
	}
	return nil
}

// runsAsOwner tells set-id programs. The set-group bit without the group's right
// to execute is an old mark of locked files.
func runsAsOwner(mode uint32) bool {
	return mode&unix.S_ISUID != 0 || mode&unix.S_ISGID != 0 && mode&unix.S_IXGRP != 0
}

const hooks = "hooks"

// isHook tells a changed hook of a repository below the folder, or a link in
// place of one, of all hooks, or of the repository: git runs it for whoever works
// there next. That of the folder itself is protected by its name.
func (w *walk) isHook(e tree.Entry) bool {
	dir, name := path.Split(path.Clean(e.Path))
	dir = strings.TrimSuffix(dir, "/")
	isLink := e.Stat.Mode&unix.S_IFMT == unix.S_IFLNK
	switch {
	case dir == jobspec.GitFolder || strings.HasPrefix(dir, jobspec.GitFolder+"/"):
		return false // the folder's own
	case isLink && name == jobspec.GitFolder && dir != "":
		return w.changed(e.Stat)
	case isLink && name == hooks && isRepository(e.Dir, ".", dir):
		return w.changed(e.Stat)
	case path.Base(dir) != hooks || strings.HasSuffix(name, ".sample") || !isRepository(e.Dir, "..", path.Dir(dir)):
		return false
	}
	return w.changed(e.Stat) || w.folderChanged(e.Dir)
}

// folderChanged tells a folder of old files that was moved to where it counts.
func (w *walk) folderChanged(dir int) bool {
	var st unix.Stat_t
	return unix.Fstat(dir, &st) != nil || w.changed(&st)
}

// isRepository knows one by its name, or as git itself does, by what lies in it.
func isRepository(dir int, at, below string) bool {
	if path.Base(below) == jobspec.GitFolder {
		return true
	}
	for _, name := range []string{"HEAD", "objects"} {
		var st unix.Stat_t
		if unix.Fstatat(dir, at+"/"+name, &st, unix.AT_SYMLINK_NOFOLLOW) != nil {
			return false
		}
	}
	return true
}

// takeOff removes the set-id bits of exactly the file that was looked at: through
// its descriptor, since its name may mean another by now. A file of somebody
// else, which the job could not have made, stays and is reported.
func takeOff(e tree.Entry) {
	fd, err := unix.Openat2(e.Dir, e.Name, &unix.OpenHow{Flags: unix.O_PATH | unix.O_NOFOLLOW | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS})
	if err != nil {
		return
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if unix.Fstat(fd, &st) != nil || st.Ino != e.Stat.Ino || st.Dev != e.Stat.Dev || st.Mode&unix.S_IFMT != unix.S_IFREG {
		return
	}
	// fchmod(2) takes no O_PATH descriptor; its name in procfs leads to that inode.
	_ = unix.Chmod(fmt.Sprintf("/proc/self/fd/%d", fd), st.Mode&0o7777&^(unix.S_ISUID|unix.S_ISGID))
}

// allowsHooks says that the owner lets the job make repositories or their hooks.
func (l Look) allowsHooks() bool {
	return slices.Contains(l.MayCreate, jobspec.GitFolder) || slices.Contains(l.MayCreate, jobspec.GitFolder+"/"+hooks)
}
