package cgroup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Leaf is the group of one run, in each hierarchy that bounds it.
type Leaf struct {
	places []*place
	dirs   []string // one for each place
	v2     *os.File // of the version 2 leaf until it was used, nil where there is none
	want   Want

	started bool
}

// Leaf makes the group of a run and sets its bounds, but for its share of CPU:
// see Throttle. The name is a run's id: a single file name.
func (t *Tree) Leaf(name string, w Want) (*Leaf, error) {
	if name == "" || name[0] == '.' || strings.ContainsAny(name, "/\x00\n") {
		return nil, fmt.Errorf("make cgroup: %q is no name of a run", name)
	}
	for n := 2; ; n++ {
		l, err := t.make(name, w)
		if !errors.Is(err, fs.ErrExist) || n > mostAttempts {
			return l, err
		}
		// An earlier attempt of the same run, whose group is not removed yet.
		name = fmt.Sprintf("%s.%d", strings.TrimSuffix(name, fmt.Sprintf(".%d", n-1)), n)
	}
}

const mostAttempts = 100

func (t *Tree) make(name string, w Want) (*Leaf, error) {
	l := &Leaf{want: w}
	for _, p := range t.places {
		if err := l.add(p, name); err != nil {
			return nil, errors.Join(fmt.Errorf("make cgroup of %s: %w", name, err), l.Remove())
		}
	}
	return l, nil
}

func (l *Leaf) add(p *place, name string) error {
	dir := filepath.Join(p.dir, name)
	err := os.Mkdir(dir, 0o755)
	if errors.Is(err, fs.ErrNotExist) { // somebody took the folder away
		if err = p.restore(); err == nil {
			err = os.Mkdir(dir, 0o755)
		}
	}
	if err != nil {
		return err
	}
	l.places, l.dirs = append(l.places, p), append(l.dirs, dir)
	for _, k := range p.knobs(l.want) {
		if err := k.set(dir); err != nil {
			return err
		}
	}
	if !p.v2 {
		return nil
	}
	f, err := os.OpenFile(dir, unix.O_PATH|unix.O_DIRECTORY, 0)
	l.v2 = f
	return err
}

// Start calls start so that the process which it starts is in the leaf from its
// first instruction. With version 2 the kernel puts it there as it is made
// (CLONE_INTO_CGROUP); with version 1 a child is born into the groups of the
// thread that makes it, so the calling thread, which must be locked, goes in
// and comes back. Moving oneself costs no more than a write: only moves of
// others wait for every fork of the machine (cgroup_procs_write_start). It may be
// called once.
func (l *Leaf) Start(attr *syscall.SysProcAttr, start func() error) error {
	if l == nil {
		return start()
	}
	if l.v2 != nil {
		attr.UseCgroupFD, attr.CgroupFD = true, int(l.v2.Fd())
		defer l.closeV2()
	}
	if l.started && l.hasV2() {
		return errors.New("start in a cgroup: it had its process already")
	}
	l.started = true
	err := l.enter()
	if err == nil {
		err = start()
	}
	return errors.Join(err, l.leave())
}

// Throttle gives the leaf its share of CPU and no more. It is called when
// everything is built: with a share of a few percent, building a sandbox would
// take seconds, and what the job may compute says nothing of that.
func (l *Leaf) Throttle() error {
	if l == nil {
		return nil
	}
	for i, p := range l.places {
		for _, k := range p.share(l.want) {
			if err := k.set(l.dirs[i]); err != nil {
				return fmt.Errorf("give a cgroup its share of CPU: %w", err)
			}
		}
	}
	return nil
}

func (l *Leaf) hasV2() bool {
	return slices.ContainsFunc(l.places, func(p *place) bool { return p.v2 })
}

func (l *Leaf) enter() error {
	for i, p := range l.places {
		if p.v2 {
			continue
		}
		if err := write(filepath.Join(l.dirs[i], "tasks"), "0"); err != nil {
			return fmt.Errorf("enter cgroup: %w", err)
		}
	}
	return nil
}

func (l *Leaf) leave() error {
	var all []error
	for _, p := range l.places {
		if p.v2 {
			continue
		}
		if _, err := p.home.WriteAt([]byte("0"), 0); err != nil {
			all = append(all, fmt.Errorf("leave cgroup: %w", err))
		}
	}
	return errors.Join(all...)
}

// Has reports whether a process is in this leaf in every hierarchy.
func (l *Leaf) Has(pid int) (bool, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid))
	if err != nil {
		return false, fmt.Errorf("look at the cgroups of process %d: %w", pid, err)
	}
	n := 0
	for line := range strings.Lines(string(text)) {
		for _, dir := range l.dirs {
			// The path is told from the root of the cgroup namespace, so its end is compared.
			if strings.HasSuffix(dir, tail(line)) && strings.Contains(tail(line), "/"+room+"/") {
				n++
				break
			}
		}
	}
	return n == len(l.dirs), nil
}

// tail is the part of a line of /proc/PID/cgroup from our room on.
func tail(line string) string {
	line = strings.TrimRight(line, "\n")
	if i := strings.LastIndex(line, "/"+room+"/"); i >= 0 {
		return line[i:]
	}
	return line
}

// Events reads what happened so far. It is cheap: three small files at most.
func (l *Leaf) Events() Events {
	var e Events
	if l == nil {
		return e
	}
	for i, p := range l.places {
		dir := l.dirs[i]
		if p.held.Memory && p.v2 {
			e.OOMKills = number(dir+"/memory.events", "oom_kill")
		} else if p.held.Memory {
			e.OOMKills = number(dir+"/memory.oom_control", "oom_kill")
		}
		if p.held.PIDs {
			e.PIDsMax = number(dir+"/pids.events", "max")
		}
		if p.held.CPU && p.v2 {
			e.Throttled = time.Duration(number(dir+"/cpu.stat", "throttled_usec")) * time.Microsecond
		} else if p.held.CPU {
			e.Throttled = time.Duration(number(dir+"/cpu.stat", "throttled_time"))
		}
	}
	return e
}

// Kill kills every process in the leaf.
func (l *Leaf) Kill() error {
	if l == nil {
		return nil
	}
	for i, p := range l.places {
		if p.held.Kill {
			return write(filepath.Join(l.dirs[i], "cgroup.kill"), "1")
		}
	}
	return l.killEach()
}

// rounds bounds how often the list of processes is read again: a process may
// fork while it is killed, but its children are on the next list.
const rounds = 100

// killEach is for kernels without cgroup.kill. The service's own threads are on
// the list while they start somebody, so it is never among the killed.
func (l *Leaf) killEach() error {
	for range rounds {
		left := l.processes()
		if len(left) == 0 {
			return nil
		}
		for _, pid := range left {
			if err := unix.Kill(pid, unix.SIGKILL); err != nil && !errors.Is(err, unix.ESRCH) {
				return fmt.Errorf("kill process %d: %w", pid, err)
			}
		}
		time.Sleep(time.Millisecond)
	}
	return fmt.Errorf("kill cgroup: %d processes are left in %s", len(l.processes()), strings.Join(l.dirs, ", "))
}

// processes lists who is in the leaf, but for this process.
func (l *Leaf) processes() []int {
	var all []int
	for _, dir := range l.dirs {
		text, err := os.ReadFile(filepath.Join(dir, "cgroup.procs"))
		if err != nil {
			continue
		}
		for word := range strings.FieldsSeq(string(text)) {
			if pid, err := strconv.Atoi(word); err == nil && pid > 1 && pid != os.Getpid() {
				all = append(all, pid)
			}
		}
	}
	return all
}

// removeTime is how long the kernel gets to forget processes that are dead.
const removeTime = time.Second

// Remove removes the leaf when nobody is left in it.
func (l *Leaf) Remove() error {
	if l == nil {
		return nil
	}
	l.closeV2()
	var all []error
	for _, dir := range l.dirs {
		all = append(all, removeDir(dir))
	}
	return errors.Join(all...)
}

func (l *Leaf) closeV2() {
	if l.v2 != nil {
		l.v2.Close()
		l.v2 = nil
	}
}

func removeDir(dir string) error {
	limit := time.Now().Add(removeTime)
	for pause := 100 * time.Microsecond; ; pause = min(2*pause, 50*time.Millisecond) {
		err := unix.Rmdir(dir)
		if err == nil || errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if !errors.Is(err, unix.EBUSY) || time.Now().After(limit) {
			return fmt.Errorf("remove cgroup %s: %w", dir, err)
		}
		time.Sleep(pause)
	}
}
