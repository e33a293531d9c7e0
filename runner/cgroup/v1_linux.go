package cgroup

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// openV1 tries a hierarchy of version 1 if it has a controller of ours.
func (t *Tree) openV1(m mount, own map[string]string, folder string) {
	h := t.lacks(Held{Memory: m.has("memory"), PIDs: m.has("pids"), CPU: m.has("cpu")})
	if h == (Held{}) {
		return
	}
	base := m.folder(own[m.controllers[controllerOf(m)]])
	if base == "" {
		t.why = append(t.why, fmt.Sprintf("%s does not show the group that the service is in", m.point))
		return
	}
	p := &place{dir: filepath.Join(base, room, folder), held: h}
	if err := p.tryV1(base); err != nil {
		p.close()
		t.why = append(t.why, err.Error())
		return
	}
	t.take(p)
}

// controllerOf is the index of the first controller of ours.
func controllerOf(m mount) int {
	for i, c := range m.controllers {
		if c == "memory" || c == "pids" || c == "cpu" {
			return i
		}
	}
	return 0
}

func (p *place) tryV1(base string) error {
	home, err := os.OpenFile(filepath.Join(base, "tasks"), os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	p.home = home
	if err := errors.Join(makeFolder(filepath.Dir(p.dir)), p.settle()); err != nil {
		return err
	}
	return p.try()
}

// trial is what a place is tried with: bounds that every machine can give.
func trial() Want { return Want{MemoryBytes: 64 << 20, PIDs: 16, CPUPercent: 100} }

// try makes a leaf and has a process begin in it.
func (p *place) try() error {
	t := &Tree{places: []*place{p}}
	l, err := t.Leaf(fmt.Sprintf("try-%d-%d", os.Getpid(), unix.Gettid()), trial())
	if err != nil {
		return err
	}
	if p.v2 {
		err = tryClone(l)
	} else {
		err = onThread(func() error { return l.Start(&syscall.SysProcAttr{}, func() error { return nil }) })
	}
	if err == nil {
		err = l.Throttle()
	}
	if rerr := l.Remove(); err == nil {
		err = rerr
	}
	return err
}

// onThread runs f on a locked thread that is used for nothing else meanwhile. A
// thread that may not have come back is given up with its goroutine.
func onThread(f func() error) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread()
		err := f()
		if err == nil {
			runtime.UnlockOSThread()
		}
		done <- err
	}()
	return <-done
}
