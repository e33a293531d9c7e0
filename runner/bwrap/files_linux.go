package bwrap

import (
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// files collects what bwrap inherits. The position of a file is its number in
// the child.
type files struct {
	list []*os.File
	own  []*os.File // to be closed after the start
}

// add puts a file at the next number and returns that number.
func (fs *files) add(f *os.File) string {
	fs.list = append(fs.list, f)
	return strconv.Itoa(len(fs.list) - 1)
}

// take is add for a file that this start owns.
func (fs *files) take(f *os.File) string {
	fs.own = append(fs.own, f)
	return fs.add(f)
}

// data adds a sealed memory file with the given bytes, at offset 0.
func (fs *files) data(name string, b []byte) (string, error) {
	f, err := sealedFile(name, b)
	if err != nil {
		return "", err
	}
	return fs.take(f), nil
}

// fresh opens a file once more: an inherited descriptor shares its offset with
// every other use, and bwrap copies from the current offset.
func (fs *files) fresh(f *os.File) (string, error) {
	again, err := reopen(f)
	if err != nil {
		return "", err
	}
	return fs.take(again), nil
}

func (fs *files) close() {
	for _, f := range fs.own {
		f.Close()
	}
	fs.own = nil
}

func reopen(f *os.File) (*os.File, error) {
	fd, err := unix.Open(fmt.Sprintf("/proc/self/fd/%d", f.Fd()), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("open %s once more: %w", f.Name(), err)
	}
	return os.NewFile(uintptr(fd), f.Name()), nil
}

const allSeals = unix.F_SEAL_SEAL | unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_WRITE

// sealedFile makes a memory file that nobody can change any more.
func sealedFile(name string, b []byte) (*os.File, error) {
	fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil, fmt.Errorf("make memory file %s: %w", name, err)
	}
	f := os.NewFile(uintptr(fd), name)
	if _, err := f.Write(b); err != nil {
		f.Close()
		return nil, fmt.Errorf("fill memory file %s: %w", name, err)
	}
	if _, err := f.Seek(0, 0); err != nil {
		f.Close()
		return nil, fmt.Errorf("rewind memory file %s: %w", name, err)
	}
	if _, err := unix.FcntlInt(f.Fd(), unix.F_ADD_SEALS, allSeals); err != nil {
		f.Close()
		return nil, fmt.Errorf("seal memory file %s: %w", name, err)
	}
	return f, nil
}
