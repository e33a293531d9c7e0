package ends

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Pipe makes a pipe. Our end can have deadlines; the child's end blocks, as
// programs expect of their output.
func Pipe(name string, weRead bool) (ours, theirs *os.File, err error) {
	var fd [2]int
	if err := unix.Pipe2(fd[:], unix.O_CLOEXEC); err != nil {
		return nil, nil, fmt.Errorf("make pipe %s: %w", name, err)
	}
	mine, other := fd[0], fd[1]
	if !weRead {
		mine, other = other, mine
	}
	if err := unix.SetNonblock(mine, true); err != nil {
		return nil, nil, errors.Join(fmt.Errorf("make pipe %s: %w", name, err), unix.Close(mine), unix.Close(other))
	}
	return os.NewFile(uintptr(mine), name), os.NewFile(uintptr(other), name), nil
}

// Reopen opens a file once more, for reading from its begin: an inherited
// descriptor shares its offset with every other use.
func Reopen(f *os.File) (*os.File, error) {
	fd, err := unix.Open(fmt.Sprintf("/proc/self/fd/%d", f.Fd()), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("open %s once more: %w", f.Name(), err)
	}
	return os.NewFile(uintptr(fd), f.Name()), nil
}

const allSeals = unix.F_SEAL_SEAL | unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_WRITE

// Sealed makes a memory file that nobody can change any more, at offset 0.
func Sealed(name string, b []byte) (*os.File, error) {
	fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil, fmt.Errorf("make memory file %s: %w", name, err)
	}
	f := os.NewFile(uintptr(fd), name)
	_, err = f.WriteAt(b, 0) // leaves the offset where it is
	if err == nil {
		_, err = unix.FcntlInt(f.Fd(), unix.F_ADD_SEALS, allSeals)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("fill memory file %s: %w", name, err), f.Close())
	}
	return f, nil
}

// Stdin is what a job reads: nothing, or a signed text.
func Stdin(text string) (*os.File, error) {
	if text != "" {
		return Sealed("stdin", []byte(text))
	}
	f, err := os.Open(os.DevNull)
	if err != nil {
		return nil, fmt.Errorf("open stdin: %w", err)
	}
	return f, nil
}
