package jobspec

import (
	"fmt"
	"slices"
	"strings"
)

// Places inside every sandbox that a spec can speak of.
const (
	JobHome    = "/home/job" // private, empty at each start; "~" of a bind's target
	StatePlace = "/state"    // the job's own folder that survives runs; $STATE_DIRECTORY
)

// The modes of a bind.
const (
	BindRO = "ro"
	BindRW = "rw"
)

// Live reports whether a bind shows the source as it is at each run. A file
// that is only read is bound by its digest instead, as files are.
func (b Bind) Live() bool { return b.Mode != BindRO || b.Kind != KindRegular }

// Use is what the source is opened for.
func (b Bind) Use() Use {
	if b.Mode == BindRW {
		return UseBindRW
	}
	return UseBindRO
}

// Inside is where the target lies in the sandbox, "" for a target that names no
// place.
func (b Bind) Inside() string {
	at := b.Target
	if below, ok := strings.CutPrefix(at, "~/"); ok {
		at = JobHome + "/" + below
	}
	if !isCleanPath(at) || at == "/" || strings.ContainsFunc(at, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return ""
	}
	return at
}

// ownPlaces are the places inside that every sandbox fills itself. What stands
// there decides which programs run, or is made anew for each run.
func ownPlaces() []string {
	return []string{"/.sbxcron", "/proc", "/sys", "/dev", "/boot", "/run", "/etc", "/usr", "/bin", "/sbin",
		"/lib", "/lib32", "/lib64", "/libx32", StatePlace, "/scratch"}
}

// bindsForm judges what the spec says of its binds, without looking at the host.
func (j *judge) bindsForm() {
	for i, b := range j.spec.Bind {
		if b.Mode != BindRO && b.Mode != BindRW {
			j.no(CodeBindModeMissing, b.Source, "mode %s is neither ro nor rw", Quote(b.Mode))
		}
		if b.Kind != KindRegular && b.Kind != KindDir {
			j.no(CodeSpecMalformed, b.Source, "a bind shows a file or a folder, not a %s", Quote(string(b.Kind)))
		}
		j.cleanPath("bind", b.Source)
		j.bindTarget(i, b)
		j.bindSourceForm(b)
		if b.Mode == BindRW && j.op.Tier != Workspace {
			j.finding(Check{Code: CodeBindOverCeiling, Layer: LayerFloor, Target: b.Source,
				Detail: "only tier workspace writes to the host", Remedy: "use mode ro, or tier workspace"})
		}
	}
}

// bindTarget: nothing is mounted over what the sandbox itself fills, nor over or
// into another place of the host. A name that is missing there would be made on
// the host.
func (j *judge) bindTarget(i int, b Bind) {
	no := func(detail string) {
		j.finding(Check{Code: CodeBindSensitive, Layer: LayerFloor, Target: b.Target, Detail: detail,
			Remedy: "use a target below ~/ or at a path of its own"})
	}
	at := b.Inside()
	if at == "" {
		no("it is neither an absolute path in its shortest form nor one below ~/")
		return
	}
	for _, own := range ownPlaces() {
		if overlap(at, own) {
			no("the sandbox itself fills " + own)
			return
		}
	}
	for _, own := range []string{JobHome, "/tmp"} {
		if pathWithin(own, at) {
			no("it would hide " + own)
			return
		}
	}
	for _, taken := range j.taken(i) {
		if overlap(at, taken) {
			no("the job sees " + Quote(taken) + " there")
			return
		}
	}
}

// taken are the paths inside at which the job sees something of the host, but
// bind i.
func (j *judge) taken(i int) []string {
	s := j.spec
	all := slices.Concat(s.Read, s.Write, s.Deny)
	if s.Cwd.Path != "" {
		all = append(all, s.Cwd.Path)
	}
	for _, b := range s.Bound {
		if b.Role != RoleBind {
			all = append(all, b.Real)
		}
	}
	for k, other := range s.Bind {
		if k < i {
			all = append(all, other.Inside())
		}
	}
	return all
}

// bindSourceForm: a second way to a place must not be wider than the first. A
// hole in one would be open in the other, and a protected name read-only in one
// writable in the other.
func (j *judge) bindSourceForm(b Bind) {
	no := func(detail, remedy string) {
		j.finding(Check{Code: CodeBindSensitive, Layer: LayerFloor, Target: b.Source, Detail: detail, Remedy: remedy})
	}
	for _, hole := range j.spec.Deny {
		if overlap(b.Source, hole) {
			no("fs.deny hides "+Quote(hole)+", and the bind would show it", "bind a folder without that hole")
		}
	}
	if b.Mode != BindRW {
		return
	}
	for _, part := range strings.Split(b.Source, "/") {
		if slices.Contains(ProtectedNames(), part) {
			no("it is, or lies below, a protected name", "use mode ro, or bind another folder")
		}
	}
	for _, seen := range slices.Concat(j.spec.Read, j.spec.Write, []string{j.spec.Cwd.Path}) {
		if overlap(b.Source, seen) {
			no("the job already has "+Quote(seen)+", and would get it a second time for writing", "leave the bind out, or bind a folder beside it")
		}
	}
}

// overlap reports whether one of two paths is the other or lies below it.
func overlap(a, b string) bool { return pathWithin(a, b) || pathWithin(b, a) }

// bindSource: what lies at the source is what was approved.
func (j *judge) bindSource(b Bind) {
	if !b.Live() {
		if !slices.ContainsFunc(j.spec.Bound, b.bound) {
			j.no(CodeSpecMalformed, b.Source, "the file is not bound by its digest")
		}
		return
	}
	o, seen := j.observation(b.Use(), "", b.Source)
	switch {
	case !seen:
		j.no(CodeDriftBindSrc, b.Source, "it was not opened")
	case o.Problem != "":
		j.no(o.Problem, b.Source, "%s", o.Detail)
	case o.Symlink || o.Real != b.Source:
		j.no(CodeDriftBindSrc, b.Source, "the path leads to %s now", Quote(o.Real))
	case o.Kind != b.Kind || o.UID != b.UID:
		j.no(CodeDriftBindSrc, b.Source, "a %s of uid %d was bound, it is a %s of uid %d now", b.Kind, b.UID, o.Kind, o.UID)
	default:
		j.place(o, b.Mode == BindRW)
	}
}

// bound reports whether a bound file is the source of b.
func (b Bind) bound(f Bound) bool { return f.Role == RoleBind && f.Real == b.Source }

// boundBinds: a file is bound for a bind only if there is one.
func (j *judge) boundBinds() {
	for _, f := range j.spec.Bound {
		shown := slices.ContainsFunc(j.spec.Bind, func(b Bind) bool { return !b.Live() && b.bound(f) })
		if f.Role == RoleBind && !shown {
			j.no(CodeSpecMalformed, f.Real, "it is bound for a bind that is not there")
		}
	}
}

// coverBinds adds to the coverage what the digests of binds and the state folder
// do and do not cover.
func coverBinds(c map[string]string, binds []Bind, state bool) {
	for _, b := range binds {
		if b.Live() {
			c["bind_live"] = "unbound"
		} else {
			c["bind_files"] = "hash"
		}
	}
	if state {
		c["state"] = "unbound"
	}
}

// words says how a bind is shown, for the summary.
func (b Bind) words() string {
	how := "exactly these bytes"
	if b.Live() {
		how = "as it is at each run"
	}
	kind := escape(string(b.Kind))
	if b.Kind == KindRegular {
		kind = "regular file"
	}
	return fmt.Sprintf("%s at %s, %s: a %s of uid %d, %s", Quote(b.Source), Quote(b.Target), Quote(b.Mode), kind, b.UID, how)
}
