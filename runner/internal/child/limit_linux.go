package child

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Limit bounds the process for good: no core file, nothing written to a file, so
// many descriptors, and so many bytes of memory beyond what the program has when
// it begins.
func Limit(files, memory uint64) error {
	data, err := ownData()
	if err != nil {
		return fmt.Errorf("read the size of this process: %w", err)
	}
	for _, l := range []struct {
		resource int
		most     uint64
	}{{unix.RLIMIT_CORE, 0}, {unix.RLIMIT_FSIZE, 0}, {unix.RLIMIT_NOFILE, files}, {unix.RLIMIT_DATA, data + memory}} {
		if err := lower(l.resource, l.most); err != nil {
			return fmt.Errorf("limit resource %d: %w", l.resource, err)
		}
	}
	return nil
}

// LimitFiles bounds how many descriptors the process may have for now. It cannot
// go beyond what Limit has set.
func LimitFiles(n uint64) error {
	var old unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &old); err != nil {
		return fmt.Errorf("limit descriptors: %w", err)
	}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: min(n, old.Max), Max: old.Max}); err != nil {
		return fmt.Errorf("limit descriptors: %w", err)
	}
	return nil
}

// lower sets a limit for good, never above what it is.
func lower(resource int, n uint64) error {
	var old unix.Rlimit
	if err := unix.Getrlimit(resource, &old); err != nil {
		return err
	}
	n = min(n, old.Max)
	return unix.Setrlimit(resource, &unix.Rlimit{Cur: n, Max: n})
}

// ownData is how much RLIMIT_DATA counts already; the runtime reserves much of
// it at its start, more under the race detector.
func ownData() (uint64, error) {
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0, err
	}
	var pages [6]uint64 // size, resident, shared, text, lib, data (proc(5))
	if _, err := fmt.Sscan(string(text), &pages[0], &pages[1], &pages[2], &pages[3], &pages[4], &pages[5]); err != nil {
		return 0, err
	}
	return pages[5] * uint64(os.Getpagesize()), nil
}
