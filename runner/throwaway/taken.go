package throwaway

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// named collects every id that the accounts of the machine have.
func (s Sources) named() (map[int]bool, error) {
	all := make(map[int]bool)
	for _, file := range []string{s.Passwd, s.Group} {
		if err := fromAccounts(all, file); err != nil {
			return nil, err
		}
	}
	if err := fromNames(all, s.Systemd); err != nil {
		return nil, err
	}
	return all, nil
}

// fromAccounts reads the third field of passwd or group lines, and the fourth:
// a passwd line may name a gid that has no group. Group members are no numbers.
func fromAccounts(all map[int]bool, file string) error {
	raw, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(raw)) {
		f := strings.Split(strings.TrimSpace(line), ":")
		for _, field := range f[min(2, len(f)):min(4, len(f))] {
			if id, err := strconv.Atoi(field); err == nil {
				all[id] = true
			}
		}
	}
	return nil
}

// fromNames takes the names of systemd's lock files: each is a uid, or a user's
// name that links to it.
func fromNames(all map[int]bool, dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		if id, err := strconv.Atoi(e.Name()); err == nil {
			all[id] = true
		}
	}
	return nil
}

// fromProcesses reads the real, effective, saved and file system ids of every
// process. A process that ends meanwhile uses nothing any more.
func fromProcesses(all map[int]bool, proc string) error {
	entries, err := os.ReadDir(proc)
	if err != nil {
		return err
	}
	found := false
	for _, e := range entries {
		if _, err := strconv.Atoi(e.Name()); err != nil {
			continue
		}
		raw, err := os.ReadFile(filepath.Join(proc, e.Name(), "status"))
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
			continue
		}
		if err != nil {
			return err
		}
		found = true
		fromStatus(all, string(raw))
	}
	if !found {
		return fmt.Errorf("%s shows no process", proc)
	}
	return nil
}

func fromStatus(all map[int]bool, status string) {
	for line := range strings.Lines(status) {
		key, ids, _ := strings.Cut(line, ":")
		if key != "Uid" && key != "Gid" && key != "Groups" {
			continue
		}
		for _, field := range strings.Fields(ids) {
			if id, err := strconv.Atoi(field); err == nil {
				all[id] = true
			}
		}
	}
}
