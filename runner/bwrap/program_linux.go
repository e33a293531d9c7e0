package bwrap

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/sbxcron/sbxcron/jobspec"
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
		return nil, &problem{jobspec.CodeSbxBackendMissing, path + " is not there", "install bubblewrap (Debian, Ubuntu: apt install bubblewrap)"}
	}
	if err != nil {
		return nil, &problem{jobspec.CodeSbxBackendMissing, fmt.Sprintf("open %s: %v", path, err), "install bubblewrap anew"}
	}
	f := os.NewFile(uintptr(fd), path)
	if err := checkProgram(fd, path); err != nil {
		f.Close()
		return nil, err
	}
	h := sha256.New()
	if _, err := io.Copy(h, io.NewSectionReader(f, 0, 1<<30)); err != nil {
		f.Close()
		return nil, &problem{jobspec.CodeSbxBackendMissing, fmt.Sprintf("read %s: %v", path, err), "install bubblewrap anew"}
	}
	return &program{file: f, digest: jobspec.Digest(h.Sum(nil))}, nil
}

// checkProgram refuses a bwrap that somebody other than root could change, and
// one that gains rights when it starts: no_new_privs would break it, and
// without that it is a door for everything that runs it.
func checkProgram(fd int, path string) error {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return &problem{jobspec.CodeSbxBackendMissing, fmt.Sprintf("look at %s: %v", path, err), "install bubblewrap anew"}
	}
	_, capErr := unix.Fgetxattr(fd, "security.capability", nil)
	switch {
	case st.Mode&unix.S_IFMT != unix.S_IFREG || st.Uid != 0 || st.Mode&0o022 != 0:
		return &problem{jobspec.CodeSbxBackendMissing, path + " is not a file that only root can change", "install bubblewrap from the distribution's package"}
	case st.Mode&(unix.S_ISUID|unix.S_ISGID) != 0 || capErr == nil:
		return &problem{jobspec.CodeSbxFeatureMissing, path + " is set-id or has file capabilities",
			"allow user namespaces to ordinary users and remove the bit: chmod u-s,g-s " + path}
	}
	return nil
}

// problem is why the backend does not work here, and what to do about it.
type problem struct {
	code   jobspec.Code
	detail string
	remedy string
}

func (p *problem) Error() string { return p.detail }
