package runner

import (
	"io"
	"slices"

	"github.com/sbxcron/sbxcron/jobspec"
)

// drawCommand draws the bound file that is executed and its arguments. Of a
// script, the interpreter is executed, with the arguments that the kernel would
// make of the script's first line: execve of a script reads that line by the
// script's name, which can mean other bytes by then. Here the line comes from
// the bytes that were hashed. What still differs from the kernel's own way: the
// process is called after its interpreter (comm), and AT_EXECFN is the
// interpreter's path or descriptor.
func (o Order) drawCommand(b *Blueprint) error {
	role, typed := jobspec.RoleExecutable, "" // of an embedded script too: its interpreter is what is executed
	switch {
	case o.Spec.Script.Body != "":
		typed = o.Spec.Script.Interpreter
		b.Argv = append([]string{typed, ScriptPath}, o.Spec.Argv...)
	case len(o.Spec.Argv) > 0:
		typed = o.Spec.Argv[0]
		b.Argv = slices.Clone(o.Spec.Argv)
	}
	if typed == "" {
		return refuse(jobspec.CodeSpecMalformed, "argv", "the spec has no command")
	}
	i, ob, err := o.command(role, typed)
	if err != nil {
		return err
	}
	path := ob.Real // as the kernel would name it to the interpreter
	for range ShebangDepth + 1 {
		line, isScript := parseShebang(head(o.Pins.File(i)))
		if !isScript {
			b.Exec.Path, b.Exec.Sealed, b.Exec.Size, b.Exec.ID = ob.Real, o.Pins.Sealed(i), ob.Size, ob.Places.Self
			return nil
		}
		if b.Exec.Script == "" {
			b.Exec.Script = ob.Real
		}
		b.Argv, path = line.argv(path, b.Argv), line.interp
		if i, ob, err = o.command(jobspec.RoleInterpreter, line.interp); err != nil {
			return err
		}
	}
	return refuse(jobspec.CodeBindAmbiguous, b.Exec.Script, "script %q has more than %d interpreters that are scripts themselves", b.Exec.Script, ShebangDepth)
}

// command finds the bound file that stands for a word of the command.
func (o Order) command(role jobspec.Role, typed string) (int, jobspec.Observation, error) {
	for _, want := range o.Spec.Bound {
		if want.Role == role && want.Typed == typed {
			return o.bound(want)
		}
	}
	return 0, jobspec.Observation{}, refuse(jobspec.CodeBindAmbiguous, typed, "no bound file stands for the %s %q", role, typed)
}

// head reads what execve looks at, without moving the file's offset.
func head(f io.ReaderAt) []byte {
	buf := make([]byte, shebangBytes)
	n, _ := f.ReadAt(buf, 0) // shorter at the end of the file
	return buf[:n]
}
