package pin

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/sbxcron/sbxcron/jobspec"
)

// maxInterpreters bounds a script whose interpreter is a script; the kernel
// stops at about as many.
const maxInterpreters = 5

// Program finds the file that argv[0] stands for and every interpreter that its
// "#!" line leads to: for "#!/usr/bin/env X" both env and X, the latter in dirs.
// The error is a *Failure for everything that the owner can put right.
func Program(ctx context.Context, acct Account, typed, cwd string, dirs []string) (all []Found, err error) {
	table, err := readMounts()
	if err != nil {
		return nil, err
	}
	who, err := newOpener(ctx, acct, table, Options{})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, who.close()) }()
	p := program{who: who, table: table, dirs: dirs}
	return p.follow(ctx, typed, cwd)
}

type program struct {
	who   opener
	table mounts
	dirs  []string
}

func (p program) follow(ctx context.Context, typed, cwd string) ([]Found, error) {
	real, err := resolve(ctx, p.who, search{Name: typed, Cwd: cwd, Dirs: p.dirs})
	if err != nil {
		return nil, err
	}
	all := []Found{{Role: jobspec.RoleExecutable, Typed: typed, Real: real}}
	for range maxInterpreters {
		more, err := p.interpreters(ctx, all[len(all)-1].Real)
		if err != nil || len(more) == 0 {
			return all, err
		}
		all = append(all, more...)
	}
	return nil, ambiguous(typed, "its interpreters are scripts, one after the other")
}

// interpreters are what the kernel starts for the file at path: none, one, or
// env and the program that env starts.
func (p program) interpreters(ctx context.Context, path string) ([]Found, error) {
	name, arg, ok, err := p.shebang(ctx, path)
	if err != nil || !ok {
		return nil, err
	}
	if !filepath.IsAbs(name) {
		return nil, ambiguous(path, fmt.Sprintf("its interpreter %q is not an absolute path", name))
	}
	first, err := p.interpreter(ctx, name)
	if err != nil || filepath.Base(name) != "env" {
		return []Found{first}, err
	}
	name, ok = envProgram(arg)
	if !ok {
		return nil, ambiguous(path, fmt.Sprintf("what env starts for %q cannot be told", arg))
	}
	second, err := p.interpreter(ctx, name)
	return []Found{first, second}, err
}

func (p program) interpreter(ctx context.Context, name string) (Found, error) {
	real, err := resolve(ctx, p.who, search{Name: name, Dirs: p.dirs})
	if err != nil {
		return Found{}, fmt.Errorf("interpreter: %w", err)
	}
	return Found{Role: jobspec.RoleInterpreter, Typed: name, Real: real}, nil
}

func (p program) shebang(ctx context.Context, path string) (name, arg string, ok bool, err error) {
	r := Request{Use: jobspec.UseBound, Role: jobspec.RoleExecutable, Path: path}
	s, err := openAll(ctx, p.who, []Request{r}, p.table, Options{})
	defer s.Close()
	if err != nil {
		return "", "", false, err
	}
	if seen := s.Observation(0); seen.Problem != "" {
		return "", "", false, &Failure{Reason: seen.Problem, Path: path, Detail: seen.Detail}
	}
	name, arg, ok = Shebang(s.File(0))
	return name, arg, ok, nil
}

func ambiguous(path, why string) *Failure {
	return &Failure{Reason: jobspec.CodeBindAmbiguous, Path: path, Detail: why}
}
