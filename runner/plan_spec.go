package runner

import (
	"strings"

	"github.com/sbxcron/sbxcron/jobspec"
)

// find returns the pin of a path that was opened for use.
func (o Order) find(use jobspec.Use, match func(jobspec.Observation) bool) (int, jobspec.Observation, bool) {
	for i := range o.Pins.Len() {
		if ob := o.Pins.Observation(i); ob.Use == use && match(ob) {
			return i, ob, true
		}
	}
	return 0, jobspec.Observation{}, false
}

// opened is like find, and refuses what could not be opened.
func (o Order) opened(use jobspec.Use, path string) (int, jobspec.Observation, error) {
	i, ob, ok := o.find(use, func(ob jobspec.Observation) bool { return ob.Typed == path })
	switch {
	case !ok:
		return 0, ob, refuse(jobspec.CodePathUnreachable, path, "%s path %q was not opened", use, path)
	case ob.Problem != "":
		return 0, ob, refuse(ob.Problem, path, "%s path %q: %s", use, path, ob.Detail)
	case o.Pins.File(i) == nil || !clean(ob.Real):
		return 0, ob, refuse(jobspec.CodePathUnreachable, path, "%s path %q has no open file", use, path)
	}
	return i, ob, nil
}

// clean reports whether a path can be a mount point: absolute, not the root,
// without empty, "." and ".." parts and without control characters.
func clean(path string) bool {
	if len(path) < 2 || path[0] != '/' || path == PrivateDir || strings.HasPrefix(path, PrivateDir+"/") {
		return false
	}
	for part := range strings.SplitSeq(path[1:], "/") {
		if part == "" || part == "." || part == ".." {
			return false
		}
	}
	return !strings.ContainsFunc(path, func(r rune) bool { return r < ' ' || r == 0x7f })
}

// drawCwd draws the directory that the job starts in.
func (o Order) drawCwd(b *Blueprint) error {
	path := o.Spec.Cwd.Path
	if o.Tier == jobspec.Scratch {
		if path != "" {
			return refuse(jobspec.CodeSpecMalformed, "cwd", "tier scratch has no cwd of the host")
		}
		b.addPrivate(ScratchDir, 0o700)
		b.Cwd = Cwd{Path: ScratchDir, Writable: true, Pin: -1}
		return nil
	}
	i, ob, err := o.opened(jobspec.UseCwd, path)
	if err != nil {
		return err
	}
	if ob.Kind != jobspec.KindDir || ob.Places.Self.Ino == 0 {
		return refuse(jobspec.CodeDriftCwd, path, "cwd %q is not a directory", path)
	}
	b.Cwd = Cwd{Path: ob.Real, Writable: o.Tier == jobspec.Workspace, Pin: i, ID: ob.Places.Self}
	b.open(i, ob, b.Cwd.Writable)
	if o.Spec.Git == jobspec.GitCommit && b.Cwd.Writable {
		b.Guard[len(b.Guard)-1].Git = true
	}
	return nil
}

// open draws a pinned path at its own place.
func (b *Blueprint) open(i int, ob jobspec.Observation, writable bool) {
	kind, inDir, ofFile := PinnedRO, Read, ReadFile
	if writable {
		kind, inDir, ofFile = PinnedRW, Write, WriteFile
	}
	b.mount(Mount{Kind: kind, Dst: ob.Real, Pin: i})
	if ob.Kind != jobspec.KindDir {
		b.grant(ob.Real, ofFile)
		return
	}
	b.grant(ob.Real, inDir)
	if writable {
		b.Guard = append(b.Guard, Guard{Path: ob.Real, Host: ob.Real, Pin: i})
	}
}

// drawPaths draws fs.read, fs.write and fs.deny.
func (o Order) drawPaths(b *Blueprint) error {
	if len(o.Spec.Write) > 0 && o.Tier != jobspec.Workspace {
		return refuse(jobspec.CodePathOverCeiling, o.Spec.Write[0], "only tier workspace writes to the host")
	}
	if err := o.drawOpen(b, jobspec.UseRead, o.Spec.Read); err != nil {
		return err
	}
	if err := o.drawOpen(b, jobspec.UseWrite, o.Spec.Write); err != nil {
		return err
	}
	return o.drawDeny(b)
}

func (o Order) drawOpen(b *Blueprint, use jobspec.Use, paths []string) error {
	for _, path := range paths {
		i, ob, err := o.opened(use, path)
		if err != nil {
			return err
		}
		if ob.Kind != jobspec.KindDir && ob.Kind != jobspec.KindRegular {
			return refuse(jobspec.CodePathSensitive, path, "%s path %q is neither a file nor a directory", use, path)
		}
		b.open(i, ob, use == jobspec.UseWrite)
	}
	return nil
}

// drawDeny hides what exists. What does not exist, or cannot be reached with
// the job's rights, needs no hiding, and nothing is mounted on a name that is
// not there.
func (o Order) drawDeny(b *Blueprint) error {
	for _, path := range o.Spec.Deny {
		_, ob, ok := o.find(jobspec.UseDeny, func(ob jobspec.Observation) bool { return ob.Typed == path })
		switch {
		case !ok:
			return refuse(jobspec.CodePathUnreachable, path, "deny path %q was not looked at", path)
		case ob.Problem != "" && ob.Real == "":
			continue
		case ob.Problem != "":
			return refuse(ob.Problem, path, "deny path %q: %s", path, ob.Detail)
		case !clean(ob.Real):
			return refuse(jobspec.CodePathUnreachable, path, "deny path %q cannot be hidden", path)
		case ob.Kind == jobspec.KindDir:
			b.mount(Mount{Kind: HideDir, Dst: ob.Real, Size: 4096})
		default:
			b.mount(Mount{Kind: HideFile, Dst: ob.Real})
		}
	}
	return nil
}

// drawBound draws the files whose bytes were approved, each at its own path.
// That they are the approved bytes is checked here again: a plan holds whatever
// its caller did before.
func (o Order) drawBound(b *Blueprint) error {
	for _, want := range o.Spec.Bound {
		if want.Role == jobspec.RoleBind {
			continue // mounted at its target
		}
		i, ob, err := o.bound(want)
		if err != nil {
			return err
		}
		if b.hasBytesAt(ob.Real) {
			continue // the same bytes in another role, such as a script that is also declared as a file
		}
		m := Mount{Kind: PinnedRO, Dst: ob.Real, Pin: i, Size: ob.Size, What: ob.SHA256}
		if o.Pins.Sealed(i) {
			m.Kind, m.Perm = Copy, 0o555
		}
		b.mount(m)
		b.grant(ob.Real, ReadFile)
	}
	if o.Spec.Script.Body == "" {
		return nil
	}
	b.data(ScriptPath, []byte(o.Spec.Script.Body), 0o444)
	b.grant(ScriptPath, ReadFile)
	return nil
}

// hasBytesAt reports whether a bound file is drawn at its own path already.
func (b *Blueprint) hasBytesAt(path string) bool {
	for _, m := range b.Mounts {
		if m.Dst == path && !m.What.IsZero() {
			return true
		}
	}
	return false
}

// bound returns the pin of a bound file.
func (o Order) bound(want jobspec.Bound) (int, jobspec.Observation, error) {
	i, ob, ok := o.find(jobspec.UseBound, func(ob jobspec.Observation) bool { return ob.Role == want.Role && ob.Real == want.Real })
	switch {
	case !ok || o.Pins.File(i) == nil:
		return 0, ob, refuse(jobspec.CodeDriftExecMissing, want.Real, "%s %q was not opened", want.Role, want.Real)
	case ob.Problem != "":
		return 0, ob, refuse(ob.Problem, want.Real, "%s %q: %s", want.Role, want.Real, ob.Detail)
	case !o.Pins.Sealed(i) && jobspec.SamePackage(o.Spec, want, ob):
	case ob.SHA256 != want.SHA256 || ob.Size != want.Size || want.SHA256.IsZero():
		return 0, ob, refuse(jobspec.DriftCode(want.Role), want.Real, "%s %q has other bytes than the approved ones", want.Role, want.Real)
	case ob.Kind != jobspec.KindRegular || !clean(ob.Real):
		return 0, ob, refuse(jobspec.DriftCode(want.Role), want.Real, "%s %q is not a regular file", want.Role, want.Real)
	}
	return i, ob, nil
}
