package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sbxcron/sbxcron/jobspec/record"
)

// clockTick is the unit of the times in /proc/PID/stat, the same on every machine
// that Go runs on (sysconf(3), _SC_CLK_TCK).
const clockTick = 10 * time.Millisecond

// familyTime is what a process and its children have used, those that are still there
// (its supervisors) and those that it has waited for.
func familyTime(pid int) (time.Duration, error) {
	all, err := processorTime(pid)
	if err != nil {
		return 0, err
	}
	lists, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	if err != nil {
		return 0, err
	}
	for _, list := range lists {
		b, err := os.ReadFile(list)
		if err != nil {
			continue // a thread that ended
		}
		for _, child := range bytes.Fields(b) {
			n, err := strconv.Atoi(string(child))
			if err != nil {
				return 0, fmt.Errorf("%s: %w", list, err)
			}
			if used, err := processorTime(n); err == nil { // else it ended, and counts with its parent's
				all += used
			}
		}
	}
	return all, nil
}

// processorTime is what a process has used, with all children that it has waited
// for (proc_pid_stat(5), fields 14 to 17).
func processorTime(pid int) (time.Duration, error) {
	path := fmt.Sprintf("/proc/%d/stat", pid)
	b, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	_, rest, found := bytes.Cut(b, []byte(") ")) // the name may hold blanks
	fields := bytes.Fields(rest)
	if !found || len(fields) < 15 {
		return 0, fmt.Errorf("%s: %q", path, b)
	}
	var all int64
	for _, f := range fields[11:15] {
		n, err := strconv.ParseInt(string(f), 10, 64)
		if err != nil {
			return 0, fmt.Errorf("%s: %w", path, err)
		}
		all += n
	}
	return time.Duration(all) * clockTick, nil
}

// ownTime is the same of this process.
func ownTime() (time.Duration, error) {
	var all time.Duration
	for _, who := range []int{unix.RUSAGE_SELF, unix.RUSAGE_CHILDREN} {
		var u unix.Rusage
		if err := unix.Getrusage(who, &u); err != nil {
			return 0, err
		}
		all += time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	return all, nil
}

// tail reads what a ledger gets from now on.
type tail struct {
	dir  string
	path string // of the segment that is read
	at   int64
}

// ledgerTail begins at the end of the ledger as it is.
func (s *site) ledgerTail() (*tail, error) {
	t := &tail{dir: s.conf.Dirs.LedgerDir()}
	all, err := filepath.Glob(filepath.Join(t.dir, "*.jsonl"))
	if err != nil || len(all) == 0 {
		return t, err
	}
	t.path = slices.Max(all)
	info, err := os.Stat(t.path)
	if err != nil {
		return nil, err
	}
	t.at = info.Size()
	return t, nil
}

// finals are the finished rows that came since the last call.
func (t *tail) finals() ([]*record.Leaf, error) {
	f, err := os.Open(t.path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if _, err := f.Seek(t.at, io.SeekStart); err != nil {
		return nil, err
	}
	b, err := io.ReadAll(f)
	if err != nil {
		return nil, err
	}
	b = b[:bytes.LastIndexByte(b, '\n')+1]
	t.at += int64(len(b))
	var out []*record.Leaf
	for line := range bytes.Lines(b) {
		l, err := record.Decode(bytes.TrimSuffix(line, []byte("\n")))
		if err != nil {
			return nil, err
		}
		if l.Kind == record.Finished {
			out = append(out, l)
		}
	}
	return out, nil
}
