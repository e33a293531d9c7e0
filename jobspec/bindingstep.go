package jobspec

import (
	"fmt"
	"slices"
)

// binding: what lies at the paths is what was approved, and none of it is a
// place that no job gets. At PhaseApply only the spec itself is looked at.
func (j *judge) binding() {
	j.complete()
	if j.phase == PhaseApply {
		return
	}
	if len(j.in.Sensitive) == 0 {
		j.no(CodeInternal, "paths", "the list of sensitive places is missing")
	}
	for _, b := range j.spec.Bound {
		j.boundFile(b)
	}
	if j.spec.Cwd.Path != "" {
		j.cwd()
	}
	for _, list := range []struct {
		use   Use
		paths []string
	}{{UseRead, j.spec.Read}, {UseWrite, j.spec.Write}, {UseDeny, j.spec.Deny}} {
		for _, p := range list.paths {
			j.opened(list.use, p)
		}
	}
	for _, b := range j.spec.Bind {
		j.bindSource(b)
	}
	for _, s := range j.spec.Sockets {
		j.socket(s)
	}
	j.state()
	j.credentialValues()
}

// complete: everything that the command names is bound, and the program is
// bound once.
func (j *judge) complete() {
	if j.read.ambiguous != "" && !slices.ContainsFunc(j.spec.Bound, func(b Bound) bool { return b.Role == RoleFile }) {
		j.finding(Check{Code: CodeBindAmbiguous, Target: "command", Detail: j.read.ambiguous, Remedy: bindHint(j.commandWords())})
	}
	for _, t := range j.read.targets {
		if !slices.ContainsFunc(j.spec.Bound, func(b Bound) bool { return b.Role == t.Role && b.Typed == t.Typed }) {
			j.no(CodeBindAmbiguous, t.Typed, "the %s is not bound", t.Role)
		}
	}
	n := 0
	for _, b := range j.spec.Bound {
		if b.Role == RoleExecutable {
			n++
		}
		if !slices.Contains([]Role{RoleExecutable, RoleInterpreter, RoleScript, RoleFile, RoleBind}, b.Role) {
			j.no(CodeSpecMalformed, "bound", "role %s is not one of ours", Quote(string(b.Role)))
		}
	}
	if n != 1 {
		j.no(CodeSpecMalformed, "bound", "%d executables are bound, exactly one starts", n)
	}
}

// observation finds what was seen of one path of the spec. The opener may have
// been given the typed name or the real path.
func (j *judge) observation(use Use, role Role, paths ...string) (Observation, bool) {
	for _, o := range j.in.Paths {
		if o.Use == use && o.Role == role && (slices.Contains(paths, o.Typed) || slices.Contains(paths, o.Real)) {
			return o, true
		}
	}
	return Observation{}, false
}

// DriftCode is the code for a bound file whose bytes changed.
func DriftCode(r Role) Code {
	switch r {
	case RoleInterpreter:
		return CodeDriftInterpreter
	case RoleScript:
		return CodeDriftScript
	case RoleFile:
		return CodeDriftFile
	case RoleBind:
		return CodeDriftBindSrc
	default:
		return CodeDriftExecHash
	}
}

// ofExecutable picks the finer code that executables have.
func ofExecutable(r Role, fine Code) Code {
	if r == RoleExecutable {
		return fine
	}
	return DriftCode(r)
}

func (j *judge) boundFile(b Bound) {
	o, seen := j.observation(UseBound, b.Role, b.Real, b.Typed)
	if !seen {
		j.no(ofExecutable(b.Role, CodeDriftExecMissing), b.Real, "it was not opened")
		return
	}
	if o.Problem != "" {
		j.no(o.Problem, b.Real, "%s", o.Detail)
		return
	}
	if o.Symlink || o.Real != b.Real {
		j.no(ofExecutable(b.Role, CodeDriftExecPath), b.Real, "the path leads to %s now", Quote(o.Real))
	}
	if o.Kind != KindRegular {
		j.no(ofExecutable(b.Role, CodeDriftExecPath), b.Real, "it is a %s and no regular file", o.Kind)
		return
	}
	switch changed := o.Size != b.Size || o.SHA256 != b.SHA256 || o.SHA256.IsZero(); {
	case changed && SamePackage(j.spec, b, o):
		j.notes = append(j.notes, fmt.Sprintf("%s %s of package %s: %s was bound, %s ran", b.Role, Quote(b.Real), Quote(b.Package), b.SHA256, o.SHA256))
	case changed:
		j.no(DriftCode(b.Role), b.Real, "%s was bound, %s lies there now", b.SHA256.Short(), o.SHA256.Short())
	}
	if mode := fmt.Sprintf("%04o", o.Mode&0o7777); o.UID != b.UID || mode != b.Mode {
		j.no(ofExecutable(b.Role, CodeDriftExecOwner), b.Real, "uid %d, mode %s was bound, it is %d, %s now", b.UID, b.Mode, o.UID, mode)
	}
	j.place(o, false)
}

func (j *judge) cwd() {
	c := j.spec.Cwd
	o, seen := j.observation(UseCwd, "", c.Path)
	switch {
	case !seen:
		j.no(CodeDriftCwd, c.Path, "it was not opened")
		return
	case o.Symlink:
		j.no(CodeDriftCwdSymlink, c.Path, "a part of the path is a symbolic link")
		return
	case o.Problem != "":
		j.no(o.Problem, c.Path, "%s", o.Detail)
		return
	}
	if o.Real != c.Path || o.Kind != KindDir || o.UID != c.UID {
		j.no(CodeDriftCwd, c.Path, "a directory of uid %d was bound, %s is a %s of uid %d now", c.UID, Quote(o.Real), o.Kind, o.UID)
	}
	j.place(o, j.op.Tier == Workspace)
}

// opened judges a further path. A hole (UseDeny) may lie anywhere: it takes away.
func (j *judge) opened(use Use, p string) {
	o, seen := j.observation(use, "", p)
	switch {
	case !seen:
		j.no(CodePathUnreachable, p, "it was not opened")
	case o.Problem != "":
		j.no(o.Problem, p, "%s", o.Detail)
	case o.Symlink || o.Real != p:
		j.no(CodePathUnreachable, p, "the path leads to %s now", Quote(o.Real))
	case use == UseDeny:
	case o.Kind != KindDir && o.Kind != KindRegular:
		j.no(CodePathSensitive, p, "it is a %s", o.Kind)
	default:
		j.place(o, use == UseWrite)
	}
}

func (j *judge) place(o Observation, writing bool) {
	if s, relation, ok := CheckPlace(o, j.in.Sensitive, writing); !ok {
		j.finding(Check{Code: CodePathSensitive, Layer: LayerFloor, Target: o.Real, Detail: fmt.Sprintf("it %s %s", relation, s.What)})
	}
}
