package pin

import (
	"context"
	"errors"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/sbxcron/sbxcron/jobspec"
)

// search is a file to find by the name that somebody typed.
type search struct {
	Name string   `json:"name"`
	Cwd  string   `json:"cwd,omitempty"`
	Dirs []string `json:"dirs,omitempty"`
}

// Resolve finds the file that a typed name stands for, with the rights of acct,
// and returns its path without symbolic links. A bare name is looked for in dirs
// alone (SearchPath gives the only ones that a job has), a relative name beside
// cwd. It is for the moment when an owner adds a job; what it returns is bound
// and never resolved again. The error is a *Failure where the name leads
// nowhere.
func Resolve(ctx context.Context, acct Account, typed, cwd string, dirs []string) (real string, err error) {
	who, err := newOpener(ctx, acct, nil, Options{})
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, who.close()) }()
	return resolve(ctx, who, search{Name: typed, Cwd: cwd, Dirs: dirs})
}

func resolve(ctx context.Context, who opener, s search) (string, error) {
	found, t, err := who.find(ctx, s)
	if err != nil {
		return "", err
	}
	if t.Why == whyNone && checkPath(found).Why != whyNone {
		t = trouble{Why: whyMalformed}
	}
	if t.Why != whyNone {
		return "", s.failure(t)
	}
	return found, nil
}

func (s search) failure(t trouble) *Failure {
	r := Request{Use: jobspec.UseBound, Role: jobspec.RoleExecutable, Path: s.Name}
	f := &Failure{Reason: t.code(r), Path: s.Name, Detail: t.words(r, jobspec.KindOther)}
	if t.Why == whyMissing && s.bare() {
		f.Detail = "no such program in " + strings.Join(s.Dirs, ":")
	}
	return f
}

// bare says whether the name is looked for in the search path.
func (s search) bare() bool { return !strings.Contains(s.Name, "/") }

// find runs with the rights of the account.
func (s search) find() (string, trouble) {
	if s.Name == "" || strings.IndexByte(s.Name, 0) >= 0 {
		return "", trouble{Why: whyMissing, Errno: unix.ENOENT}
	}
	if s.bare() {
		return s.findBare()
	}
	path := s.Name
	if !filepath.IsAbs(path) {
		if !filepath.IsAbs(s.Cwd) {
			return "", trouble{Why: whyMissing, Errno: unix.ENOENT}
		}
		path = s.Cwd + "/" + path
	}
	return usable(path)
}

// findBare takes the first executable regular file, as a shell does, and says
// why the first one met could not be used when there is none.
func (s search) findBare() (string, trouble) {
	first := trouble{Why: whyMissing, Errno: unix.ENOENT}
	for _, dir := range s.Dirs {
		found, t := usable(filepath.Join(dir, s.Name))
		if t.Why == whyNone && executable(found) {
			return found, t
		}
		if t.Why == whyUnreachable && first.Why == whyMissing {
			first = t
		}
	}
	return "", first
}

// usable follows symbolic links to a file that the account can read.
func usable(path string) (string, trouble) {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", troubleOf(err)
	}
	bound := Request{Use: jobspec.UseBound, Path: real}
	if err := reaches(bound, real); err != nil {
		return "", troubleOf(err)
	}
	return real, trouble{}
}

func executable(path string) bool {
	var st unix.Stat_t
	if unix.Stat(path, &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFREG {
		return false
	}
	return unix.Faccessat(unix.AT_FDCWD, path, unix.X_OK, unix.AT_EACCESS) == nil
}
