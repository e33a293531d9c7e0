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

	"golang.org/x/sys/unix"
)

// serviceGroup is where the service itself goes in a group that was delegated to
// it: a group with processes of its own can give no controllers to groups below
// it (cgroups(7), "no internal processes").
const serviceGroup = "sbxcron-service"

// openV2 tries the groups of the version 2 tree that may be ours, the nearest
// first. What version 1 holds already is left to it; the tree is worth having
// for cgroup.kill alone.
func (t *Tree) openV2(m mount, own, folder string) {
	base := m.folder(own)
	if base == "" {
		t.why = append(t.why, fmt.Sprintf("%s does not show the group that the service is in", m.point))
		return
	}
	var kill *place // the nearest that can at least kill
	for _, g := range groupsV2(m, base) {
		p, err := t.tryV2(g, folder)
		switch {
		case err != nil:
			t.why = append(t.why, err.Error())
		case p.held.Memory || p.held.PIDs || p.held.CPU:
			if kill != nil {
				kill.close()
			}
			t.take(p)
			return
		case kill == nil:
			kill = p
		default:
			p.close()
		}
	}
	if kill != nil {
		t.take(kill)
	}
}

// groupsV2 are the groups in which the service may have its folder.
func groupsV2(m mount, base string) []string {
	if filepath.Base(base) == serviceGroup {
		base = filepath.Dir(base)
	}
	if os.Geteuid() == 0 && base != m.point {
		// The top, as engines of containers do it where nobody delegates.
		return []string{base, m.point}
	}
	return []string{base}
}

// tryV2 tries one group.
func (t *Tree) tryV2(group, folder string) (*place, error) {
	enable := t.enable(group)
	p := &place{dir: filepath.Join(group, room, folder), v2: true}
	if err := errors.Join(makeFolder(filepath.Dir(p.dir)), p.settle()); err != nil {
		return nil, err
	}
	for _, dir := range []string{filepath.Dir(p.dir), p.dir} {
		for _, c := range enable {
			if err := write(filepath.Join(dir, "cgroup.subtree_control"), "+"+c); err != nil {
				t.why = append(t.why, err.Error())
			}
		}
	}
	given := words(filepath.Join(p.dir, "cgroup.subtree_control"))
	p.give = given
	p.held = t.lacks(Held{Memory: slices.Contains(given, "memory"), PIDs: slices.Contains(given, "pids"), CPU: slices.Contains(given, "cpu"),
		Kill: exists(filepath.Join(p.dir, "cgroup.kill"))})
	if err := p.try(); err != nil {
		p.close()
		return nil, err
	}
	return p, nil
}

// enable has a group give controllers to the groups below it, and returns which
// it gives. In a group that holds nobody but this process it first moves the
// process into a group of its own; processes of others are never moved.
func (t *Tree) enable(group string) []string {
	have := words(filepath.Join(group, "cgroup.controllers"))
	var want, missing []string
	for _, c := range []string{"memory", "pids", "cpu"} {
		if slices.Contains(have, c) {
			want = append(want, c)
		}
	}
	for _, c := range want {
		if !slices.Contains(words(filepath.Join(group, "cgroup.subtree_control")), c) {
			missing = append(missing, c)
		}
	}
	if len(missing) > 0 {
		if err := stepAside(group); err != nil {
			// pids and cpu could be given all the same, and would turn the group into
			// the root of a threaded part, below which no process can be put.
			t.why = append(t.why, err.Error())
			missing = nil
		}
	}
	for _, c := range missing {
		if err := write(filepath.Join(group, "cgroup.subtree_control"), "+"+c); err != nil {
			t.why = append(t.why, err.Error())
		}
	}
	given := words(filepath.Join(group, "cgroup.subtree_control"))
	return slices.DeleteFunc(want, func(c string) bool { return !slices.Contains(given, c) })
}

// stepAside moves this process out of a group that is its own alone. The root of
// the tree needs none of that: it has cgroup.type nowhere.
func stepAside(group string) error {
	if !exists(filepath.Join(group, "cgroup.type")) {
		return nil
	}
	for _, word := range words(filepath.Join(group, "cgroup.procs")) {
		if pid, err := strconv.Atoi(word); err != nil || pid != os.Getpid() {
			return fmt.Errorf("%s holds other processes too", group)
		}
	}
	aside := filepath.Join(group, serviceGroup)
	if err := makeFolder(aside); err != nil {
		return err
	}
	return write(filepath.Join(aside, "cgroup.procs"), strconv.Itoa(os.Getpid()))
}

func words(path string) []string {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	return strings.Fields(string(text))
}

// tryClone has a process made in the leaf. The program does not exist: that the
// kernel says so shows that the process was there to look for it.
func tryClone(l *Leaf) error {
	attr := &syscall.SysProcAttr{}
	return l.Start(attr, func() error {
		proc, err := os.StartProcess("/proc/self/sbxcron-none", []string{"none"}, &os.ProcAttr{Sys: attr})
		switch {
		case err == nil:
			_, err = proc.Wait()
			return errors.Join(errors.New("a program that does not exist was started"), err)
		case errors.Is(err, fs.ErrNotExist) && !errors.Is(err, unix.EACCES):
			return nil
		}
		return fmt.Errorf("start a process in %s: %w", l.dirs[0], err)
	})
}
