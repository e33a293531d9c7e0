package cgroup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// Tree is the service's part of the machine's cgroups.
type Tree struct {
	places []*place
	held   Held
	why    []string // why a bound is not held
}

// Open finds what can be held, by trying, with leaves below a folder of this
// name. It never fails: where nothing works, Held is empty and Why tells.
func Open(folder string) *Tree {
	t := &Tree{}
	mounts, err := readMounts()
	own, oerr := readOwn()
	if err = errors.Join(err, oerr); err != nil {
		t.why = append(t.why, err.Error())
		return t
	}
	for _, m := range mounts {
		if !m.v2 {
			t.openV1(m, own, folder)
		}
	}
	for _, m := range mounts {
		if m.v2 {
			if hasClone3() {
				t.openV2(m, own[""], folder)
			} else {
				t.why = append(t.why, "clone3 is not there, so no process can be made in a cgroup of version 2")
			}
			break // every mount of version 2 is the same tree
		}
	}
	for _, p := range t.places {
		sweep(filepath.Dir(p.dir), folder)
	}
	if len(mounts) == 0 {
		t.why = append(t.why, "no cgroup file system is mounted")
	}
	return t
}

// hasClone3 asks for a child without saying which. Sandboxes around us, such as
// an older docker's, answer that the call does not exist.
func hasClone3() bool {
	_, _, errno := unix.RawSyscall(unix.SYS_CLONE3, 0, 0, 0)
	return errno != unix.ENOSYS
}

// Held says what leaves of this tree hold.
func (t *Tree) Held() Held { return t.held }

// Why says what was tried in vain, "" where everything is held.
func (t *Tree) Why() string {
	if t.held.Memory && t.held.PIDs && t.held.CPU {
		return ""
	}
	return strings.Join(t.why, "; ")
}

// take adds a place that was tried.
func (t *Tree) take(p *place) {
	t.places = append(t.places, p)
	t.held.Memory = t.held.Memory || p.held.Memory
	t.held.PIDs = t.held.PIDs || p.held.PIDs
	t.held.CPU = t.held.CPU || p.held.CPU
	t.held.Kill = t.held.Kill || p.held.Kill
}

// lacks leaves of a place only what no other holds yet.
func (t *Tree) lacks(h Held) Held {
	return Held{Memory: h.Memory && !t.held.Memory, PIDs: h.PIDs && !t.held.PIDs, CPU: h.CPU && !t.held.CPU, Kill: h.Kill && !t.held.Kill}
}

// Reap kills and removes the leaves that a dead service left, and returns their
// names. It must not be called while another service uses the folder.
func (t *Tree) Reap() ([]string, error) {
	var names []string
	var failed []error
	for _, p := range t.places {
		list, err := os.ReadDir(p.dir)
		if err != nil {
			failed = append(failed, fmt.Errorf("look for leftovers: %w", err))
			continue
		}
		for _, e := range list {
			if e.IsDir() && !slices.Contains(names, e.Name()) {
				names = append(names, e.Name())
			}
		}
	}
	slices.Sort(names)
	for _, name := range names {
		l := t.left(name)
		failed = append(failed, l.Kill(), l.Remove())
	}
	return names, errors.Join(failed...)
}

// left is a leaf of an earlier service.
func (t *Tree) left(name string) *Leaf {
	l := &Leaf{}
	for _, p := range t.places {
		if dir := filepath.Join(p.dir, name); exists(dir) {
			l.places, l.dirs = append(l.places, p), append(l.dirs, dir)
		}
	}
	return l
}

// Close removes the service's folders. Those with leaves in use stay, and the
// next service reaps them.
func (t *Tree) Close() {
	for _, p := range t.places {
		p.close()
	}
	t.places, t.held = nil, Held{}
}

// close removes the folder if no other service uses it.
func (p *place) close() {
	if p.lock != nil {
		if unix.Flock(int(p.lock.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil && same(p.lock, p.dir) == nil {
			os.Remove(p.dir)
		}
		p.lock.Close()
	}
	if p.home != nil {
		p.home.Close()
	}
}

// room is the group that the folders of all services lie in. The top group of a
// hierarchy is closed even to its owner (its mode is 0555), so making the room
// takes the right to override modes, which the service of root gives up. From
// then on its owner can do everything. It is never removed: another service may
// be about to use it.
const room = "sbxcron"

// Claim makes the room wherever this process may. Root calls it while it has all
// its rights. Where that fails Open says why.
func Claim() {
	mounts, err := readMounts()
	own, oerr := readOwn()
	if err != nil || oerr != nil {
		return
	}
	for _, m := range mounts {
		var bases []string
		switch {
		case m.v2:
			if base := m.folder(own[""]); base != "" {
				bases = groupsV2(m, base)
			}
		case m.has("memory") || m.has("pids") || m.has("cpu"):
			bases = []string{m.folder(own[m.controllers[controllerOf(m)]])}
		}
		for _, base := range bases {
			if base != "" {
				_ = makeFolder(filepath.Join(base, room)) // Open tells
			}
		}
	}
}

// sweep removes what services have left that were killed and whose RUN nobody
// uses again, such as that of a try. Whoever lives shares the lock of its folder,
// and the kernel removes no group that holds anybody.
func sweep(room, own string) {
	list, err := filepath.Glob(filepath.Join(room, "sbxcron-*"))
	if err != nil {
		return
	}
	for _, dir := range list {
		if filepath.Base(dir) == own {
			continue
		}
		lock, err := lockFolder(dir, unix.LOCK_EX)
		if err != nil {
			continue
		}
		leaves, _ := os.ReadDir(dir)
		for _, l := range leaves {
			if l.IsDir() {
				_ = os.Remove(filepath.Join(dir, l.Name()))
			}
		}
		_ = os.Remove(dir)
		lock.Close()
	}
}

// makeFolder makes the service's folder; one that is there is its predecessor's.
func makeFolder(dir string) error {
	if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}
