package bwrap

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/sbxcron/sbxcron/runner"
)

// baseArgs are the same for every run but for the ids. --disable-userns wants
// --unshare-user spelled out; the namespaces are named one by one because
// --unshare-all only tries some of them.
func baseArgs(a runner.Account, jsonFD string) []string {
	return []string{
		"--unshare-user", "--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts", "--unshare-cgroup",
		"--disable-userns", "--cap-drop", "ALL", "--uid", strconv.Itoa(a.UID), "--gid", strconv.Itoa(a.GID),
		"--hostname", "job", "--new-session", "--die-with-parent", "--json-status-fd", jsonFD,
	}
}

// item is a mount and, where it has one, the file that it comes from.
type item struct {
	runner.Mount
	file *os.File
}

// mountArgs turns mounts into options, in their order, and adds the files that
// they need.
func mountArgs(items []item, fs *files, proc procfs) ([]string, error) {
	var args, last []string
	for _, m := range items {
		if strings.ContainsRune(m.Dst, 0) || strings.ContainsRune(m.Src, 0) {
			return nil, fmt.Errorf("mount at %q: a zero byte in the path", m.Dst)
		}
		more, err := m.args(fs, proc)
		if err != nil {
			return nil, fmt.Errorf("mount at %q: %w", m.Dst, err)
		}
		args = append(args, more...)
		if m.Kind == runner.HideDir || m.Kind == runner.Dev {
			last = append(last, "--remount-ro", m.Dst)
		}
	}
	return append(args, last...), nil
}

func (m item) args(fs *files, proc procfs) ([]string, error) {
	perms := []string{"--perms", fmt.Sprintf("%04o", m.Perm)}
	switch m.Kind {
	case runner.Tmpfs, runner.HideDir:
		return append(perms, "--size", strconv.FormatInt(m.Size, 10), "--tmpfs", m.Dst), nil
	case runner.Proc:
		return proc.args(m.Dst), nil
	case runner.Dev:
		return []string{"--dev", m.Dst}, nil
	case runner.Symlink:
		return []string{"--symlink", m.Src, m.Dst}, nil
	case runner.HostRO:
		return []string{"--ro-bind", m.Src, m.Dst}, nil
	case runner.PinnedRO:
		return []string{"--ro-bind-fd", fs.add(m.file), m.Dst}, nil
	case runner.PinnedRW:
		return []string{"--bind-fd", fs.add(m.file), m.Dst}, nil
	case runner.Copy:
		fd, err := fs.fresh(m.file)
		return append(perms, "--ro-bind-data", fd, m.Dst), err
	case runner.Credential:
		fd, err := fs.data("credential", m.Secret.Reveal())
		return append(perms, "--ro-bind-data", fd, m.Dst), err
	case runner.Data, runner.HideFile:
		fd, err := fs.data("data", m.Bytes)
		return append(perms, "--ro-bind-data", fd, m.Dst), err
	}
	return nil, fmt.Errorf("kind %s cannot be mounted", m.Kind)
}

// items joins the plan's mounts with the guards, which lie somewhere among them
// in depth: a bound file below a protected name must come after it.
func items(b *runner.Blueprint, guards []guarded) []item {
	all := make([]item, 0, len(b.Mounts)+len(guards))
	for _, m := range b.Mounts {
		if m.Kind == runner.Channel {
			continue // the run's own pipe comes with the guards
		}
		it := item{Mount: m}
		if m.Kind == runner.PinnedRO || m.Kind == runner.PinnedRW || m.Kind == runner.Copy {
			it.file = b.Pins.File(m.Pin)
		}
		all = append(all, it)
	}
	for _, g := range guards {
		kind := runner.PinnedRO
		if g.write {
			kind = runner.PinnedRW
		}
		all = append(all, item{Mount: runner.Mount{Kind: kind, Dst: g.path}, file: g.file})
	}
	slices.SortStableFunc(all, func(x, y item) int { return runner.CompareMounts(x.Mount, y.Mount) })
	return all
}
