package examine

import (
	"fmt"
	"io"

	"github.com/sbxcron/sbxcron/cmd/internal/distro"
	"github.com/sbxcron/sbxcron/jobspec"
)

// lists are those of the machine's package manager, unless others were given.
func (x *Examiner) lists() distro.Lists {
	if x.Packages != nil {
		return *x.Packages
	}
	return distro.Dpkg()
}

// isProgram reports whether a bound file is what is executed: only such a file may
// be what its package holds now in place of what was bound.
func isProgram(r jobspec.Role) bool {
	return r == jobspec.RoleExecutable || r == jobspec.RoleInterpreter
}

// lookUpPackages asks the package of each changed program of a spec that accepts
// this. Only a file that nobody but root can change is looked up: of another one
// the bytes that would run are a copy, and were nobody's package's.
func (x *Examiner) lookUpPackages(e *Examination) error {
	if !e.Op.Spec.Accepts(jobspec.WeakerExecPackage) {
		return nil
	}
	for i, b := range e.Op.Spec.Bound { // the first requests, in this order
		o := e.Pins.Observation(i)
		if b.Package == "" || !isProgram(b.Role) || o.Problem != "" || o.SHA256 == b.SHA256 || e.Pins.Sealed(i) {
			continue
		}
		holds, err := x.lists().Holds(b.Package, o.Real, io.NewSectionReader(e.Pins.File(i), 0, o.Size))
		if err != nil {
			return fmt.Errorf("look up the package of job %q: %w", e.Op.Job, err)
		}
		if holds {
			e.Pins.Belongs(i, b.Package)
		}
	}
	return nil
}
