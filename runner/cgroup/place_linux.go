package cgroup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// place is the service's folder in one hierarchy.
type place struct {
	dir  string // leaves lie in it
	v2   bool
	held Held
	give []string   // version 2: controllers that the folder gives to leaves
	lock *os.File   // of dir, shared by those who use it, for as long as the service lives
	mend sync.Mutex // of restore: runs start side by side
	home *os.File   // version 1: "tasks" of the group that the service's threads are in
}

// restore makes the folder, with what it gives to leaves.
func (p *place) restore() error {
	p.mend.Lock()
	defer p.mend.Unlock()
	if p.lock != nil && same(p.lock, p.dir) == nil {
		return nil // by another run
	}
	if err := p.settle(); err != nil {
		return err
	}
	for _, c := range p.give {
		if err := write(filepath.Join(p.dir, "cgroup.subtree_control"), "+"+c); err != nil {
			return err
		}
	}
	return nil
}

// settleTime is how long others get to finish removing a folder that we want.
const settleTime = time.Second

// settle makes the folder and takes a share of its lock, which tells others that
// it is in use. Another service may be removing it for dead meanwhile.
func (p *place) settle() error {
	if p.lock != nil {
		p.lock.Close()
		p.lock = nil
	}
	for limit := time.Now().Add(settleTime); ; time.Sleep(time.Millisecond) {
		err := makeFolder(p.dir)
		if err == nil {
			p.lock, err = lockFolder(p.dir, unix.LOCK_SH)
		}
		again := errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.EWOULDBLOCK)
		if !again || time.Now().After(limit) {
			return err
		}
	}
}

// lockFolder takes the lock of a folder, shared or alone, if it can be had now.
// A lock that was waited for could be that of a folder which is there no more.
func lockFolder(dir string, how int) (*os.File, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	err = unix.Flock(int(f.Fd()), how|unix.LOCK_NB)
	if err == nil {
		err = same(f, dir)
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("lock %s: %w", dir, err)
	}
	return f, nil
}

// same reports ErrNotExist unless an open folder is the one that has its name.
func same(f *os.File, dir string) error {
	opened, err := f.Stat()
	if err != nil {
		return err
	}
	named, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	if !os.SameFile(opened, named) {
		return fs.ErrNotExist
	}
	return nil
}

// knob is one file of a leaf and what is written to it.
type knob struct {
	name, value string
	optional    bool // some kernels are built or booted without it
}

// knobs are the files that bound a leaf in this hierarchy from its begin.
func (p *place) knobs(w Want) []knob {
	var all []knob
	if p.held.Memory && w.MemoryBytes > 0 {
		n := fmt.Sprint(w.MemoryBytes)
		if p.v2 {
			// One process of a job that is out of memory tells nothing: all end.
			all = append(all, knob{"memory.max", n, false}, knob{"memory.swap.max", "0", true}, knob{"memory.oom.group", "1", true})
		} else {
			// Memory and swap together may not be set below memory, so it comes second.
			all = append(all, knob{"memory.limit_in_bytes", n, false}, knob{"memory.memsw.limit_in_bytes", n, true}, knob{"memory.swappiness", "0", true})
		}
	}
	if p.held.PIDs && w.PIDs > 0 {
		all = append(all, knob{"pids.max", fmt.Sprint(w.PIDs), false})
	}
	return all
}

// share are the files that bound a leaf's use of the processors.
func (p *place) share(w Want) []knob {
	if !p.held.CPU || w.CPUPercent <= 0 {
		return nil
	}
	quota := w.CPUPercent * period / 100
	if p.v2 {
		return []knob{{"cpu.max", fmt.Sprintf("%d %d", quota, period), false}}
	}
	return []knob{{"cpu.cfs_period_us", fmt.Sprint(period), false}, {"cpu.cfs_quota_us", fmt.Sprint(quota), false}}
}

// period is what a CPU quota counts in, in microseconds: the kernel's default.
const period = 100_000

// set writes one knob.
func (k knob) set(dir string) error {
	err := write(filepath.Join(dir, k.name), k.value)
	if k.optional && (errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, fs.ErrPermission)) {
		return nil
	}
	return err
}

// write writes to a file that exists: the kernel makes those of a cgroup.
func write(path, text string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := f.WriteString(text); err != nil {
		return fmt.Errorf("write %q to %s: %w", text, path, err)
	}
	return nil
}

// number reads one "NAME N" line of a file, 0 where there is none.
func number(path, name string) int64 {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		var n int64
		if word, rest, _ := strings.Cut(strings.TrimSpace(line), " "); word == name {
			if _, err := fmt.Sscan(rest, &n); err == nil {
				return n
			}
		}
	}
	return 0
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
