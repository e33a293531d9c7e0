package bwrap

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/sbxcron/sbxcron/runner"
)

// surroundings are what bwrap's command line depends on beside the blueprint.
type surroundings struct {
	proc   procfs
	guards []guarded // protected names that exist, and the pipe of the run
	bare   bool      // without the stub, as a benchmark starts it
}

// commandLine is what a blueprint makes of bwrap's command line. It opens
// nothing and looks at nothing: the same blueprint in the same surroundings is
// always the same line, and what it names of the host is what the plan names.
// Files stand in it as what they are; the start gives them their numbers.
func commandLine(p *runner.Blueprint, on surroundings) ([]word, error) {
	l := &line{}
	l.base(p.Account)
	var hidden []string // made read-only when everything in them is mounted
	for _, it := range items(p, on.guards) {
		if err := l.mount(it, on.proc); err != nil {
			return nil, fmt.Errorf("mount at %q: %w", it.Dst, err)
		}
		if it.Kind == runner.HideDir || it.Kind == runner.Dev {
			hidden = append(hidden, it.Dst)
		}
	}
	for _, dir := range hidden {
		l.option("--remount-ro", dir)
	}
	if !on.bare {
		// A file of the root itself, which nothing can change once that is read-only:
		// a mount of its own would take longer than the stub takes to run.
		l.option("--perms", "0555")
		l.file("--file", source{kind: stubSource}, runner.StubPath)
	}
	if err := inside(p.Cwd.Path); err != nil {
		return nil, fmt.Errorf("start in %q: %w", p.Cwd.Path, err)
	}
	l.option("--remount-ro", "/") // nothing is mounted after it
	l.option("--chdir", p.Cwd.Path)
	return l.words, nil
}

// line collects words. Only its two methods add any, so that what follows an
// option is always as many words as it takes.
type line struct{ words []word }

func (l *line) option(name string, operands ...string) {
	l.words = append(l.words, word{text: name})
	for _, o := range operands {
		l.words = append(l.words, word{text: o})
	}
}

func (l *line) file(name string, from source, dst string) {
	l.words = append(l.words, word{text: name}, word{file: from}, word{text: dst})
}

// base is the same for every run but for the ids. --disable-userns wants
// --unshare-user spelled out; the namespaces are named one by one because
// --unshare-all only tries some of them.
func (l *line) base(a runner.Account) {
	for _, name := range []string{"user", "ipc", "pid", "net", "uts", "cgroup"} {
		l.option("--unshare-" + name)
	}
	l.option("--disable-userns")
	l.option("--cap-drop", "ALL")
	l.option("--uid", strconv.Itoa(a.UID))
	l.option("--gid", strconv.Itoa(a.GID))
	l.option("--hostname", "job")
	l.option("--new-session")
	l.option("--die-with-parent")
	l.words = append(l.words, word{text: "--json-status-fd"}, word{file: source{kind: statusSource}})
}

// item is a mount and what it comes from: the pin that it names, or a guard.
type item struct {
	runner.Mount
	from source
}

func (l *line) mount(m item, proc procfs) error {
	if err := inside(m.Dst); err != nil {
		return err
	}
	perms := func() { l.option("--perms", fmt.Sprintf("%04o", m.Perm)) }
	switch m.Kind {
	case runner.Tmpfs, runner.HideDir:
		perms()
		l.option("--size", strconv.FormatInt(m.Size, 10))
		l.option("--tmpfs", m.Dst)
	case runner.Proc:
		proc.options(l, m.Dst)
	case runner.Dev:
		l.option("--dev", m.Dst)
	case runner.Symlink:
		if m.Src == "" || m.Src[0] == '-' || strings.ContainsRune(m.Src, 0) {
			return fmt.Errorf("a link to %q", m.Src)
		}
		l.option("--symlink", m.Src, m.Dst)
	case runner.HostRO:
		if err := inside(m.Src); err != nil {
			return err
		}
		l.option("--ro-bind", m.Src, m.Dst)
	case runner.PinnedRO:
		l.file("--ro-bind-fd", m.from, m.Dst)
	case runner.PinnedRW:
		l.file("--bind-fd", m.from, m.Dst)
	case runner.Copy, runner.Data, runner.HideFile, runner.Credential:
		perms()
		l.file("--ro-bind-data", m.from, m.Dst)
	default:
		return fmt.Errorf("kind %s cannot be mounted", m.Kind)
	}
	return nil
}

// inside refuses what cannot be a path for bwrap: options and their operands are
// parted by zero bytes, and a word that does not begin with a slash could be
// taken for an option.
func inside(path string) error {
	if len(path) < 2 || path[0] != '/' || strings.ContainsRune(path, 0) {
		return fmt.Errorf("%q is no absolute path", path)
	}
	return nil
}

// items joins the plan's mounts with the guards, which lie somewhere among them
// in depth: a bound file below a protected name must come after it. This is the
// one place where mounts get their final order.
func items(p *runner.Blueprint, guards []guarded) []item {
	all := make([]item, 0, len(p.Mounts)+len(guards))
	for _, m := range p.Mounts {
		if m.Kind != runner.Channel { // the run's own pipe comes with the guards
			all = append(all, item{m, sourceOf(m)})
		}
	}
	for i, g := range guards {
		kind := runner.PinnedRO
		if g.write {
			kind = runner.PinnedRW
		}
		all = append(all, item{runner.Mount{Kind: kind, Dst: g.path}, source{kind: guardSource, index: i, name: g.path}})
	}
	slices.SortStableFunc(all, func(x, y item) int { return runner.CompareMounts(x.Mount, y.Mount) })
	return all
}
