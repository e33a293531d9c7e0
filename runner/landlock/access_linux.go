package landlock

import (
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/runner"
	"github.com/sbxcron/sbxcron/runner/internal/channel"
	"github.com/sbxcron/sbxcron/runner/shim"
)

// takeAccess makes the rules: for each part of the plan that opens something, what
// it opens here.
func (l *local) takeAccess(events *channel.Channel) error {
	for _, m := range l.b.Mounts {
		if err := l.check(m); err != nil {
			return err
		}
	}
	for _, a := range l.b.Access {
		if err := l.allow(a, events); err != nil {
			return err
		}
	}
	copies, err := l.open(l.at.copies())
	if err != nil {
		return err
	}
	bin, err := l.open(l.at.bin())
	if err != nil {
		return err
	}
	l.Grants = append(l.Grants, runner.Grant{FD: copies, Right: runner.Read}, runner.Grant{FD: bin, Right: runner.Read})
	return nil
}

// check refuses what only a mount can do.
func (l *local) check(m runner.Mount) error {
	switch m.Kind {
	case runner.Proc, runner.Dev, runner.Symlink, runner.HostRO, runner.Channel:
		return nil
	case runner.Tmpfs:
		switch m.Dst {
		case "/dev/shm", runner.TmpPath, runner.HomePath, runner.ScratchDir:
			return nil
		}
	case runner.Data:
		if m.Dst == runner.ScriptPath || m.Dst == runner.ShimPath || strings.HasPrefix(m.Dst, "/etc/") || shim.Known(base(m.Dst)) {
			return nil
		}
	case runner.Copy, runner.PinnedRO, runner.PinnedRW:
		return l.checkPinned(m)
	case runner.HideDir, runner.HideFile:
		if !l.opened(m.Dst) {
			return nil // what nothing opens needs no hiding
		}
		return lacks("mounts", "fs.deny", "%q lies below what is opened, and landlock cannot take out a part", m.Dst)
	}
	return lacks("mounts", m.Kind.String(), "nothing can stand for it at %q", m.Dst)
}

// checkPinned wants a file or folder to be shown at its own place, and not to be
// more protected than what lies around it.
func (l *local) checkPinned(m runner.Mount) error {
	if m.Src != "" && m.Src != m.Dst && m.Dst != runner.StateDir {
		return lacks("mounts", "bind", "%q cannot be shown at %q", m.Src, m.Dst)
	}
	if m.Kind != runner.PinnedRO || !m.What.IsZero() {
		return nil
	}
	for _, around := range l.b.Mounts {
		if around.Kind == runner.PinnedRW && strings.HasPrefix(m.Dst, around.Dst+"/") {
			return lacks("mounts", "fs.read", "%q lies below %q, which the job may write", m.Dst, around.Dst)
		}
	}
	return nil
}

// opened reports whether a path lies in something that the plan opens.
func (l *local) opened(path string) bool {
	for _, m := range l.b.Mounts {
		switch m.Kind {
		case runner.HostRO, runner.PinnedRO, runner.PinnedRW:
			if path == m.Dst || strings.HasPrefix(path, m.Dst+"/") {
				return true
			}
		}
	}
	return false
}

// allow adds the rules for one access of the plan.
func (l *local) allow(a runner.Access, events *channel.Channel) error {
	switch a.Path {
	case "/", "/dev/shm":
		return nil // the machine's own is not for jobs
	case "/proc":
		for _, part := range runner.ClosedProc() {
			l.grantPath(part.Path, part.Right)
		}
		return nil
	case "/dev":
		for _, node := range []string{"null", "zero", "full", "random", "urandom", "tty"} {
			l.grantPath("/dev/"+node, runner.Node)
		}
		return nil
	case "/etc":
		return l.allowEtc()
	case runner.ChannelPath:
		l.Grants = append(l.Grants, runner.Grant{FD: l.add(events.Name()), Right: a.Right})
		return nil
	}
	if path := l.placeOf(a.Path); path != "" {
		fd, err := l.open(path)
		if err == nil {
			l.Grants = append(l.Grants, runner.Grant{FD: fd, Right: a.Right})
		}
		return err
	}
	return l.allowMount(a)
}

// placeOf is the part of the run's folder that stands for a place of a sandbox.
func (l *local) placeOf(path string) string {
	return map[string]string{runner.HomePath: l.at.home(), runner.TmpPath: l.at.tmp(), runner.ScratchDir: l.at.work(),
		runner.ShimPath: l.at.shim(), runner.ScriptPath: l.at.script()}[path]
}

// allowMount adds the rule for what the plan mounts at a path.
func (l *local) allowMount(a runner.Access) error {
	for _, m := range l.b.Mounts {
		if m.Dst != a.Path {
			continue
		}
		switch m.Kind {
		case runner.HostRO:
			l.grantPath(m.Src, a.Right)
			return nil
		case runner.Copy:
			return nil // its bytes are the program's, or a copy in the run's folder
		case runner.PinnedRO, runner.PinnedRW:
			return l.allowPinned(m, a)
		}
	}
	return refusal(jobspec.CodeInternal, a.Path, "the plan grants %q and opens nothing there", a.Path)
}

func (l *local) allowPinned(m runner.Mount, a runner.Access) error {
	for _, g := range l.b.Guard {
		if g.Path == a.Path {
			return l.guard(g)
		}
	}
	l.Grants = append(l.Grants, runner.Grant{FD: l.add(l.b.Pins.File(m.Pin)), Right: a.Right})
	return nil
}

// etcFiles are files of the machine that programs take for broken where they are
// there and cannot be read. A sandbox with mounts has them synthesised, or not at
// all. Everybody may read them; they hold no secret, and do tell the names of the
// machine's accounts.
func etcFiles() []struct{ path, why string } {
	return []struct{ path, why string }{
		{"/etc/passwd", "id, git and many runtimes look up who they are"},
		{"/etc/group", "the same of groups"},
		{"/etc/nsswitch.conf", "where to look these up"},
		{"/etc/ssl/openssl.cnf", "node does not start when it is there and cannot be read"},
		{"/etc/gitconfig", "git ends when it is there and cannot be read"},
		{"/etc/localtime", "the machine's zone, where a program does not heed TZ"},
	}
}

// allowEtc grants the fixed list of what a sandbox shows of /etc, and those.
func (l *local) allowEtc() error {
	for _, m := range l.b.Mounts {
		if m.Kind == runner.HostRO && strings.HasPrefix(m.Dst, "/etc/") {
			l.grantEither(m.Src)
		}
	}
	for _, f := range etcFiles() {
		l.grantEither(f.path)
	}
	return nil
}

// grantEither grants reading of a file or a folder, whichever it is. What went
// since the list was read is left out.
func (l *local) grantEither(path string) {
	var st unix.Stat_t
	switch err := unix.Stat(path, &st); {
	case err != nil:
	case st.Mode&unix.S_IFMT == unix.S_IFDIR:
		l.grantPath(path, runner.Read)
	default:
		l.grantPath(path, runner.ReadFile)
	}
}

// grantPath adds a rule for a path that only root can change, if it is there.
func (l *local) grantPath(path string, right runner.Right) {
	if _, err := os.Stat(path); err == nil {
		l.Grants = append(l.Grants, runner.Grant{Path: path, Right: right})
	}
}

func base(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }
