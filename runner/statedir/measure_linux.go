package statedir

import (
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"

	"github.com/sbxcron/sbxcron/jobspec"
)

// maxDepth bounds how deep a tree is measured: each level holds a descriptor.
const maxDepth = 64

// blockSize is the unit of st_blocks (stat(2)).
const blockSize = 512

// measure adds up what the folder takes on disk, with the account's rights.
func (f Folder) measure(data *os.File) (int64, error) {
	m := meter{linked: map[uint64]bool{}}
	err := as(f.Account, func() error {
		fd, err := openAt(int(data.Fd()), ".", anyDir, inside)
		if err != nil {
			return unusable("%q cannot be read by uid %d: %v", f.Path(), f.Account.UID, err)
		}
		return m.folder(fd, f.Path(), 0)
	})
	return m.bytes, err
}

// meter counts.
type meter struct {
	bytes   int64
	entries int64
	linked  map[uint64]bool // inodes with several names that were counted
}

// folder counts what lies in a folder, and closes it.
func (m *meter) folder(fd int, path string, depth int) error {
	dir := os.NewFile(uintptr(fd), path)
	defer dir.Close()
	if depth > maxDepth {
		return tooMuch("%q lies deeper than %d folders", path, maxDepth)
	}
	for {
		names, err := dir.Readdirnames(256)
		for _, name := range names {
			if err := m.entry(fd, name, path, depth); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return unusable("%q cannot be read: %v", path, err)
		}
	}
}

func tooMuch(format string, args ...any) error {
	return &problem{jobspec.CodeStateOverQuota, fmt.Sprintf(format, args...)}
}

func (m *meter) entry(dir int, name, path string, depth int) error {
	var st unix.Stat_t
	err := unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW)
	if errors.Is(err, unix.ENOENT) {
		return nil
	}
	if err != nil {
		return unusable("%q in %q cannot be looked at: %v", name, path, err)
	}
	if m.entries++; m.entries > jobspec.MaxStateEntries {
		return tooMuch("it holds more than %d files and folders", jobspec.MaxStateEntries)
	}
	m.add(st)
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		return nil
	}
	fd, err := openAt(dir, name, anyDir, inside)
	if errors.Is(err, unix.ENOENT) {
		return nil
	}
	if err != nil {
		return unusable("folder %q in %q cannot be read: %v", name, path, err)
	}
	return m.folder(fd, path+"/"+name, depth+1)
}

// add counts an inode once, however many names it has.
func (m *meter) add(st unix.Stat_t) {
	if st.Nlink > 1 && st.Mode&unix.S_IFMT != unix.S_IFDIR {
		if m.linked[st.Ino] {
			return
		}
		m.linked[st.Ino] = true
	}
	m.bytes += st.Blocks * blockSize
}
