package pin

import (
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"unicode/utf8"

	"github.com/sbxcron/sbxcron/jobspec"
)

// why is the kind of thing that went wrong with a path. It is a closed list
// because it crosses from the child, whose words are not repeated in records.
type why string

const (
	whyNone        why = ""
	whyMissing     why = "missing"
	whyUnreachable why = "unreachable"
	whySymlink     why = "symlink"
	whyKind        why = "kind"
	whyTooLarge    why = "too_large"
	whyChanged     why = "changed"
	whyMalformed   why = "malformed"
)

// trouble is one failed path: what went wrong, the errno behind it (0 for none)
// and, for symbolic links, the path that they lead to.
type trouble struct {
	Why   why           `json:"why,omitempty"`
	Errno syscall.Errno `json:"errno,omitempty"`
	Real  string        `json:"real,omitempty"`
}

// troubleOf sorts an errno.
func troubleOf(err error) trouble {
	errno, _ := errnoOf(err)
	switch errno {
	case syscall.ENOENT, syscall.ENOTDIR:
		return trouble{Why: whyMissing, Errno: errno}
	case syscall.ELOOP:
		return trouble{Why: whySymlink, Errno: errno}
	default:
		return trouble{Why: whyUnreachable, Errno: errno}
	}
}

// pathMax is PATH_MAX of Linux, in bytes with the final NUL (limits.h).
const pathMax = 4096

// checkPath refuses every path that is not written in the one form that a spec
// may hold. A path with ".." or a trailing slash could name another file than
// the one shown.
func checkPath(path string) trouble {
	clean := filepath.IsAbs(path) && filepath.Clean(path) == path && len(path) < pathMax
	if !clean || strings.IndexByte(path, 0) >= 0 || !utf8.ValidString(path) {
		return trouble{Why: whyMalformed}
	}
	return trouble{}
}

// observation turns a trouble into what Decide judges.
func (t trouble) observation(r Request, kind jobspec.FileKind) jobspec.Observation {
	seen := jobspec.Observation{
		Use: r.Use, Role: r.Role, Typed: r.Path, Kind: kind,
		Problem: t.code(r), Detail: t.words(r, kind),
	}
	if t.Why == whySymlink || t.Real != "" {
		seen.Symlink = true
		seen.Real = readable(t.Real)
	}
	return seen
}

func (t trouble) code(r Request) jobspec.Code {
	switch t.Why {
	case whyMissing:
		return missingCode(r)
	case whySymlink:
		return symlinkCode(r)
	case whyKind:
		return kindCode(r)
	case whyTooLarge:
		return jobspec.CodeDriftTooLarge
	case whyChanged:
		return changedCode(r)
	default:
		return jobspec.CodePathUnreachable
	}
}

func missingCode(r Request) jobspec.Code {
	if r.Use == jobspec.UseBound && r.Role == jobspec.RoleExecutable {
		return jobspec.CodeDriftExecMissing
	}
	return changedCode(r)
}

func symlinkCode(r Request) jobspec.Code {
	switch {
	case r.Use == jobspec.UseBound && r.Role == jobspec.RoleExecutable:
		return jobspec.CodeDriftExecPath
	case r.Use == jobspec.UseCwd:
		return jobspec.CodeDriftCwdSymlink
	default:
		return changedCode(r)
	}
}

// kindCode is for sockets, devices and FIFOs, and for a cwd that is no
// directory or a bound file that is one.
func kindCode(r Request) jobspec.Code {
	switch {
	case r.Use == jobspec.UseBound && r.Role == jobspec.RoleExecutable:
		return jobspec.CodeDriftExecPath
	case r.Use == jobspec.UseBound, r.Use == jobspec.UseCwd, r.Use == jobspec.UseSocket:
		return changedCode(r)
	default:
		return jobspec.CodePathSensitive
	}
}

func changedCode(r Request) jobspec.Code {
	switch r.Use {
	case jobspec.UseCwd:
		return jobspec.CodeDriftCwd
	case jobspec.UseBindRO, jobspec.UseBindRW:
		return jobspec.CodeDriftBindSrc
	}
	if r.Use != jobspec.UseBound {
		return jobspec.CodePathUnreachable
	}
	return jobspec.DriftCode(r.Role)
}

// words says what happened to the path, in this process's own words.
func (t trouble) words(r Request, kind jobspec.FileKind) string {
	switch t.Why {
	case whyMissing:
		return fmt.Sprintf("%q does not exist", r.Path)
	case whySymlink:
		return fmt.Sprintf("%q leads through a symbolic link to %q; name that path itself", r.Path, readable(t.Real))
	case whyKind:
		return fmt.Sprintf("%q is %s, which cannot be used as %s", r.Path, kindWords(kind), purpose(r))
	case whyTooLarge:
		return fmt.Sprintf("%q is larger than a bound file may be", r.Path)
	case whyChanged:
		return fmt.Sprintf("%q changed while it was being opened", r.Path)
	case whyMalformed:
		return fmt.Sprintf("%q is not an absolute, clean path in UTF-8", r.Path)
	default:
		return fmt.Sprintf("%q cannot be reached by the account of the job: %s", r.Path, t.cause())
	}
}

func kindWords(k jobspec.FileKind) string {
	switch k {
	case jobspec.KindRegular:
		return "a regular file"
	case jobspec.KindOther:
		return "something else than a file or folder"
	default:
		return "a " + string(k)
	}
}

func (t trouble) cause() string {
	if t.Errno == 0 {
		return "it lies outside this service's view of the file system"
	}
	return t.Errno.Error()
}

func purpose(r Request) string {
	if r.Use == jobspec.UseBound {
		return string(r.Role)
	}
	if r.Use == jobspec.UseBindRO || r.Use == jobspec.UseBindRW {
		return "the source of a bind"
	}
	return string(r.Use)
}

// readable drops a path that no record could hold.
func readable(path string) string {
	if checkPath(path).Why != whyNone {
		return ""
	}
	return path
}
