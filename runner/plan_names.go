package runner

import (
	"slices"
	"strings"

	"github.com/sbxcron/sbxcron/jobspec"
)

// drawNames draws the bound files that are opened by names which the host can
// take away: a mount over a name goes away with the name (rename(2), since
// Linux 3.18). A copy in a directory that only the sandbox has keeps its name,
// and a program that is started by its descriptor is not opened by it: where
// nothing else is bound, no supervisor is needed.
func (o Order) drawNames(b *Blueprint) error {
	var names []Name
	needed := false
	for _, want := range o.Spec.Bound {
		if want.Role == jobspec.RoleBind {
			continue // at a place that only the sandbox has
		}
		i, ob, err := o.bound(want)
		if err != nil {
			return err
		}
		n := Name{Path: ob.Real, Aliases: o.aliases(b, want), Sealed: o.Pins.Sealed(i), Size: ob.Size, What: ob.SHA256, ID: ob.Places.Self}
		own := n.Sealed && b.ofHost(n.Path)
		if !own && len(n.Aliases) == 0 || b.hidden(n.Path) {
			continue
		}
		needed = needed || len(n.Aliases) > 0 && want.Role != jobspec.RoleInterpreter || n.Path != b.Exec.Path
		at := slices.IndexFunc(names, func(x Name) bool { return x.Path == n.Path })
		if at < 0 {
			names = append(names, n)
			continue
		}
		names[at].Aliases = append(names[at].Aliases, n.Aliases...)
	}
	if needed {
		b.Names = names
	}
	return nil
}

// aliases are the paths through links by which the command calls a file that
// is read: its program looks for it there, and the link may lead elsewhere by
// then. So may the link by which a script names its interpreter, if it lies
// where the job works (as in a venv): the kernel follows it when the script is
// executed again, and programs start themselves anew by it. An executable is
// not looked for.
func (o Order) aliases(b *Blueprint, want jobspec.Bound) []string {
	path := want.Typed
	switch want.Role {
	case jobspec.RoleScript, jobspec.RoleFile:
	case jobspec.RoleInterpreter:
		if !strings.HasPrefix(path, "/") || !b.pinned(path) {
			return nil
		}
	default:
		return nil
	}
	if !strings.HasPrefix(path, "/") {
		path = b.Cwd.Path + "/" + path
	}
	path = PlainPath(path)
	if path == want.Real || !b.ofHost(path) {
		return nil
	}
	return []string{path}
}

// PlainPath removes empty and "." parts from an absolute path. It keeps "..",
// which means something else behind a link.
func PlainPath(path string) string {
	var b strings.Builder
	for part := range strings.SplitSeq(path, "/") {
		if part != "" && part != "." {
			b.WriteByte('/')
			b.WriteString(part)
		}
	}
	return b.String()
}

// ofHost reports whether a name lies in a directory of the host.
func (b *Blueprint) ofHost(path string) bool {
	kind := b.above(path)
	return kind == HostRO || kind == PinnedRO || kind == PinnedRW
}

// pinned reports whether a name lies in a directory of the host that the spec
// names, which others than root may change.
func (b *Blueprint) pinned(path string) bool {
	kind := b.above(path)
	return kind == PinnedRO || kind == PinnedRW
}

// above is the kind of the last mount above a name.
func (b *Blueprint) above(path string) MountKind {
	var kind MountKind
	longest := 0
	for _, m := range b.Mounts {
		if strings.HasPrefix(path, m.Dst+"/") && len(m.Dst) >= longest {
			longest = len(m.Dst)
			kind = m.Kind
		}
	}
	return kind
}

// hidden reports whether fs.deny covers the very name.
func (b *Blueprint) hidden(path string) bool {
	return slices.ContainsFunc(b.Mounts, func(m Mount) bool { return m.Kind == HideFile && m.Dst == path })
}
