package statedir

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/sbxcron/sbxcron/runner/pin"
)

// Names lists the folders of root.
func Names(root string) ([]string, error) {
	list, err := os.ReadDir(root)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list state folders: %w", err)
	}
	var names []string
	for _, e := range list {
		if !strings.HasPrefix(e.Name(), ".") && e.IsDir() {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

// Remove takes a folder away with all that lies in it, with the rights of the
// account that owns its data. It may be called again after it was cut short.
func Remove(root, name string) error {
	path := filepath.Join(root, name)
	if err := remove(root, name, path); err != nil {
		return fmt.Errorf("remove state folder %q: %w", path, err)
	}
	return nil
}

func remove(root, name, path string) error {
	top, err := openRoot(root)
	if err != nil {
		return err
	}
	defer unix.Close(top)
	outer, err := openAt(top, name, pathDir, inside)
	if err != nil {
		return err
	}
	defer unix.Close(outer)
	if err := ours(outer, path); err != nil {
		return err
	}
	if err := emptyData(outer); err != nil {
		return err
	}
	return unix.Unlinkat(top, name, unix.AT_REMOVEDIR)
}

// emptyData empties and removes data. One that is missing was removed before.
func emptyData(outer int) error {
	data, err := openAt(outer, dataName, pathDir, inside)
	if errors.Is(err, unix.ENOENT) {
		return nil
	}
	if err != nil {
		return err
	}
	defer unix.Close(data)
	owner, err := ownerOf(data)
	if err != nil {
		return err
	}
	err = as(owner, func() error {
		if err := unix.Fchmodat(outer, dataName, 0o700, 0); err != nil { // not a link: data was opened without following one
			return err
		}
		return clear(data)
	})
	if err != nil {
		return err
	}
	return unix.Unlinkat(outer, dataName, unix.AT_REMOVEDIR)
}

// ownerOf is the account whose rights remove a folder: its owner's, as root, and
// never root's.
func ownerOf(data int) (pin.Account, error) {
	var st unix.Stat_t
	if err := unix.Fstat(data, &st); err != nil {
		return pin.Account{}, err
	}
	a := pin.Account{UID: int(st.Uid), GID: int(st.Gid), Drop: os.Geteuid() == 0}
	if a.Drop && (a.UID == 0 || a.GID == 0) {
		return pin.Account{}, fmt.Errorf("it belongs to uid %d, gid %d, and root removes nothing that a job made", a.UID, a.GID)
	}
	return a, nil
}

// clear removes everything below data. What lies deeper than maxDepth is moved
// to the top first, so that a tree of any depth goes with few descriptors.
func clear(data int) error {
	s := sweeper{top: data}
	for {
		s.moved = false
		if err := s.folder(data, 0); err != nil {
			return err
		}
		if !s.moved {
			return nil
		}
	}
}

type sweeper struct {
	top   int
	count int
	moved bool // something was moved to the top and is still there
}

// batch bounds how many names of a folder are held in memory: how many there are
// was the job's choice.
const batch = 1024

// folder removes what lies in a folder, in one walk over its names: another
// process of the account may make new ones for ever, and what is left is for the
// next call.
func (s *sweeper) folder(at int, depth int) error {
	fd, err := openAt(at, ".", anyDir, inside)
	if err != nil {
		return err
	}
	dir := os.NewFile(uintptr(fd), "state")
	defer dir.Close()
	for {
		names, err := dir.Readdirnames(batch)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		for _, name := range names {
			if err := s.entry(fd, name, depth); err != nil {
				return err
			}
		}
	}
}

func (s *sweeper) entry(dir int, name string, depth int) error {
	err := unix.Unlinkat(dir, name, 0)
	if err == nil || errors.Is(err, unix.ENOENT) {
		return nil
	}
	if !errors.Is(err, unix.EISDIR) {
		return fmt.Errorf("%q: %w", name, err)
	}
	// A folder of mode 0 is made usable. Should the name have become a link
	// since, what changes is a mode of a file of the same account.
	if err := unix.Fchmodat(dir, name, 0o700, 0); err != nil {
		return fmt.Errorf("%q: %w", name, err)
	}
	if depth >= maxDepth {
		return s.moveUp(dir, name)
	}
	fd, err := openAt(dir, name, pathDir, inside)
	if err != nil {
		return fmt.Errorf("%q: %w", name, err)
	}
	err = s.folder(fd, depth+1)
	unix.Close(fd)
	if err != nil {
		return err
	}
	return unix.Unlinkat(dir, name, unix.AT_REMOVEDIR)
}

// moveUp gives a folder a name at the top that nothing has there.
func (s *sweeper) moveUp(dir int, name string) error {
	s.moved = true
	for {
		s.count++
		err := unix.Renameat2(dir, name, s.top, ".deep-"+strconv.Itoa(s.count), unix.RENAME_NOREPLACE)
		if !errors.Is(err, unix.EEXIST) {
			return err
		}
	}
}
