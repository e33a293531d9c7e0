package supervise

import (
	"golang.org/x/sys/unix"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/runner/witness"
)

// lookAtBits tells of a file that is executed with rights of its own: set-id bits
// or capabilities. They are inert inside (no_new_privs, nosuid), and so the call
// goes on: many such programs work without them.
func (s *server) lookAtBits(c call) {
	if !s.counting.Load() {
		return
	}
	fd := s.executable(c)
	if fd < 0 {
		return // the kernel will say why
	}
	defer unix.Close(fd)
	if hasRights(fd) {
		s.tell(bitsOf(realPath(fd)))
	}
}

func bitsOf(path string) Event {
	e := Event{Code: jobspec.CodeEscSetuidInert, Target: witness.Words([]string{path}), Count: 1}
	for _, b := range builtinBits {
		if b.path == path {
			e.Rule, e.Expected = b.rule, true
		}
	}
	return e
}

// executable opens what an execve names, -1 where it cannot be.
func (s *server) executable(c call) int {
	start, errno := s.start(c)
	if errno != 0 {
		return -1
	}
	if c.path == "" {
		return start // a descriptor
	}
	defer closeUnless(start, s.root)
	path := c.path
	if start != s.root {
		path = realPath(start) + "/" + path // of the sandbox's root, which links lead to
	}
	fd, err := unix.Openat2(s.root, path, &unix.OpenHow{Flags: place, Resolve: inRoot})
	if err != nil {
		return -1
	}
	return fd
}

// hasRights reports whether a file has set-id bits, or capabilities, that an
// execve would give.
func hasRights(fd int) bool {
	var st unix.Stat_t
	if unix.Fstat(fd, &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFREG {
		return false
	}
	if st.Mode&unix.S_ISUID != 0 || st.Mode&(unix.S_ISGID|unix.S_IXGRP) == unix.S_ISGID|unix.S_IXGRP {
		return true
	}
	_, err := unix.Getxattr(self(fd), "security.capability", nil)
	return err == nil
}
