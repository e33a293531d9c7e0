package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"time"

	"github.com/sbxcron/sbxcron/jobspec/record"
)

// Retention says how long outputs stay. A zero field keeps nothing back: set both.
type Retention struct {
	MaxAge   time.Duration
	MaxBytes int64 // of all outputs together
}

// DefaultRetention is 30 days or 1 GiB, whichever is reached first.
func DefaultRetention() Retention { return Retention{MaxAge: 30 * 24 * time.Hour, MaxBytes: 1 << 30} }

// Removed is what pruning takes away of one run.
type Removed struct {
	Run   string
	Files int64
	Bytes int64
	paths []string
	at    time.Time
}

// Prune removes the outputs of the oldest runs that are over age or over size,
// never those of a run that running names. It calls record with all of them
// first: an error there, as when the ledger refuses, removes nothing, so that
// nothing goes without a trace.
func (o *Outputs) Prune(now time.Time, keep Retention, running func(run string) bool, record func([]Removed) error) ([]Removed, error) {
	all, err := o.kept()
	if err != nil {
		return nil, err
	}
	doomed := over(all, now, keep, running)
	if len(doomed) == 0 {
		return nil, nil
	}
	if err := record(doomed); err != nil {
		return nil, fmt.Errorf("prune outputs: %w", err)
	}
	for _, r := range doomed {
		for _, path := range r.paths {
			if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return nil, fmt.Errorf("prune outputs: %w", err)
			}
		}
		os.Remove(filepath.Dir(r.paths[0])) // the day's folder, which stays while it holds others
	}
	return doomed, nil
}

// over picks what goes, oldest first.
func over(all []Removed, now time.Time, keep Retention, running func(string) bool) []Removed {
	var total int64
	for _, r := range all {
		total += r.Bytes
	}
	var doomed []Removed
	for _, r := range all {
		old := now.Sub(r.at) > keep.MaxAge
		if !old && total <= keep.MaxBytes || running(r.Run) {
			continue
		}
		doomed = append(doomed, r)
		total -= r.Bytes
	}
	return doomed
}

// kept lists the runs with files, oldest first. Files that no run of ours could
// have made are left alone.
func (o *Outputs) kept() ([]Removed, error) {
	files, err := filepath.Glob(filepath.Join(o.dirs.OutputDir(), "[0-9]*-[0-9]*-[0-9]*", "r-*.*"))
	if err != nil {
		return nil, fmt.Errorf("list outputs: %w", err)
	}
	runs := map[string]*Removed{}
	for _, path := range files {
		run, _, _ := strings.Cut(filepath.Base(path), ".")
		at, err := record.RunTime(run)
		info, serr := os.Lstat(path)
		if err != nil || serr != nil || !info.Mode().IsRegular() {
			continue
		}
		r, ok := runs[run]
		if !ok {
			r = &Removed{Run: run, at: at}
			runs[run] = r
		}
		r.Files++
		r.Bytes += info.Size()
		r.paths = append(r.paths, path)
	}
	all := make([]Removed, 0, len(runs))
	for _, r := range runs {
		all = append(all, *r)
	}
	sort.Slice(all, func(i, j int) bool { return all[i].Run < all[j].Run })
	return all, nil
}
