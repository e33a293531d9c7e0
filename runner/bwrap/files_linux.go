package bwrap

import (
	"os"
	"strconv"

	"github.com/sbxcron/sbxcron/runner/internal/ends"
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
	f, err := ends.Sealed(name, b)
	if err != nil {
		return "", err
	}
	return fs.take(f), nil
}

// fresh opens a file once more: an inherited descriptor shares its offset with
// every other use, and bwrap copies from the current offset.
func (fs *files) fresh(f *os.File) (string, error) {
	again, err := ends.Reopen(f)
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
