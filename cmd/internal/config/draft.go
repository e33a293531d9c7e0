package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// DraftPolicy reads the policy of a folder that is laid out like CONF and not in
// force: whose the files are does not matter.
func DraftPolicy(path string) (*PolicySet, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("folder %q: %w", path, err)
	}
	return plainFolder(abs).load()
}

func plainFolder(path string) folder {
	return folder{path: path, uid: os.Getuid(), read: readPlain, list: listPlain}
}

// listPlain names what lies in a folder; none where there is no such folder.
func listPlain(path string) ([]string, error) {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	case !info.IsDir():
		return nil, fmt.Errorf("%q is not a folder", path) // opening a FIFO would wait
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names, nil // sorted by ReadDir
}

// readPlain reads a regular file of any owner.
func readPlain(path string, _ []int) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%q is not a regular file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	limit := policyLimit(path)
	text, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(text)) > limit {
		return nil, fmt.Errorf("%q is longer than %d bytes", path, limit)
	}
	return text, err
}
