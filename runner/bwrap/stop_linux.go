package bwrap

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/runner/internal/ready"
	"golang.org/x/sys/unix"
)

// payloadTime is how long a killed payload gets to be reaped by its init before
// that is killed too: what it used is counted only then.
const payloadTime = 200 * time.Millisecond

// because notes the first reason and reports whether this one is it.
func (r *run) because(why jobspec.Code) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.end || r.why != "" {
		return false
	}
	r.why = why
	return true
}

// Cancel sends TERM to the payload, neither to bwrap, which would kill at once,
// nor to the namespace's init, which would not hear it; KILL follows after the
// grace.
func (r *run) Cancel(why jobspec.Code) {
	if !r.because(why) {
		return
	}
	r.signal(r.payload, unix.SIGTERM)
	go func() {
		grace := time.NewTimer(time.Duration(r.p.Limits.GraceSeconds) * time.Second)
		defer grace.Stop()
		select {
		case <-r.ended:
		case <-grace.C:
			r.kill()
		}
	}()
}

// Kill ends the whole tree at once.
func (r *run) Kill(why jobspec.Code) {
	r.because(why)
	r.kill()
}

// kill kills the payload and then the namespace's init, with which the kernel
// kills everything that is left.
func (r *run) kill() {
	if r.over() {
		return
	}
	if r.payload >= 0 {
		r.signal(r.payload, unix.SIGKILL)
		ready.Within(r.payload, unix.POLLIN, payloadTime)
	}
	if r.init >= 0 {
		r.signal(r.init, unix.SIGKILL)
	}
}

// over reports whether the tree is gone, and the descriptors perhaps too.
func (r *run) over() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.end
}

// signal sends by pidfd; a process that is gone needs no signal.
func (r *run) signal(pidfd int, sig unix.Signal) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.end {
		unix.PidfdSendSignal(pidfd, sig, nil, 0)
	}
}

// killEarly kills bwrap while it may still be setting up. Its child is born
// waiting for it and asks to die with it only later: killing bwrap alone would
// leave the child waiting for ever. So bwrap is stopped, which keeps it from
// making one, and a child that nobody holds yet is killed with it.
func (r *run) killEarly() {
	r.leaf.Kill() // all at once where there is a cgroup; what follows does not need it
	pid := r.proc.Pid
	if r.init < 0 && r.proc.Signal(unix.SIGSTOP) == nil {
		list, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
		if child, aerr := strconv.Atoi(strings.TrimSpace(string(list))); err == nil && aerr == nil {
			if fd, err := unix.PidfdOpen(child, 0); err == nil {
				r.init = fd
				r.signal(fd, unix.SIGKILL)
			}
		}
	}
	r.proc.Kill()
}
