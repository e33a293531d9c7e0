package bwrap

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/runner/cause"
	"golang.org/x/sys/unix"
)

// Program is the only sandbox program that this backend runs.
const Program = "/usr/bin/bwrap"

// program is the opened bwrap.
type program struct {
	file   *os.File
	digest jobspec.Digest
}

// openProgram opens and checks the program. Its error is a *problem.
func openProgram(path string) (*program, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if errors.Is(err, unix.ENOENT) {
		return nil, missing(cause.BadProgram(cause.Program{Path: path, Missing: true}))
	}
	if err != nil {
		return nil, &problem{jobspec.CodeSbxBackendMissing, fmt.Sprintf("open %s: %v", path, err), "install bubblewrap anew", true}
	}
	f := os.NewFile(uintptr(fd), path)
	if err := checkProgram(fd, path); err != nil {
		f.Close()
		return nil, err
	}
	h := sha256.New()
	if _, err := io.Copy(h, io.NewSectionReader(f, 0, 1<<30)); err != nil {
		f.Close()
		return nil, &problem{jobspec.CodeSbxBackendMissing, fmt.Sprintf("read %s: %v", path, err), "install bubblewrap anew", false}
	}
	return &program{file: f, digest: jobspec.Digest(h.Sum(nil))}, nil
}

// checkProgram refuses a bwrap that somebody other than root could change, and
// one that gains rights when it starts: no_new_privs would break it, and
// without that it is a door for everything that runs it.
func checkProgram(fd int, path string) error {
	seen, err := cause.LookAt(fd, path)
	if err != nil {
		return &problem{jobspec.CodeSbxBackendMissing, err.Error(), "install bubblewrap anew", false}
	}
	if c := cause.BadProgram(seen); c != (cause.Cause{}) {
		return missing(c)
	}
	return nil
}

// problem is why the backend does not work here, and what to do about it.
type problem struct {
	code    jobspec.Code
	detail  string
	remedy  string
	lasting bool // until somebody mends the machine
}

func (p *problem) Error() string { return p.detail }

// missing is a cause as a problem: of the program itself, or of what it needs.
func missing(c cause.Cause) *problem {
	code := jobspec.CodeSbxFeatureMissing
	switch c.Word {
	case cause.NoProgram, cause.NotRootOwned:
		code = jobspec.CodeSbxBackendMissing
	case cause.OldProgram:
		code = jobspec.CodeSbxBackendVersion
	}
	return &problem{code, c.Detail, c.Remedy, c.Lasting}
}
