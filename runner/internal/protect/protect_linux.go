package protect

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/runner"
)

// Open opens a protected name below dir without following links: the path of one
// is something that an earlier run could have prepared. It returns nil where the name does not exist. A link is an error
// (ELOOP); with O_NOFOLLOW the kernel would open the link itself (openat2(2)).
func Open(dir *os.File, name, path string) (*os.File, error) {
	fd, err := unix.Openat2(int(dir.Fd()), name, &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS})
	if errors.Is(err, unix.ENOENT) {
		return nil, nil
	}
	if err != nil {
		return nil, refusal(jobspec.CodeFsDeniedProtected, path, "protected name %q cannot be held: %v; a link cannot be bound read-only, replace it by what it points to", path, err)
	}
	f := os.NewFile(uintptr(fd), path)
	if err := onlyName(f, path); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// onlyName refuses a protected file that has a second name: bound read-only
// under this one, it could be changed through the other.
func onlyName(f *os.File, path string) error {
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return fmt.Errorf("look at %s: %w", path, err)
	}
	if st.Mode&unix.S_IFMT == unix.S_IFREG && st.Nlink > 1 {
		return refusal(jobspec.CodeFsDeniedProtected, path, "protected name %q has %d hard links and could be changed through another; replace it by a copy", path, st.Nlink)
	}
	return nil
}

// Exists reports whether a name below dir is there, whatever it is. Of a name
// with a folder before it the folder must be one: a link in its place leads to
// what is not below dir, and counts as made.
func Exists(dir int, name string) bool {
	if parent, base, nested := strings.Cut(name, "/"); nested {
		fd, err := unix.Openat2(dir, parent, &unix.OpenHow{Flags: unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC,
			Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS})
		if errors.Is(err, unix.ENOENT) {
			return false
		}
		if err != nil {
			return true
		}
		defer unix.Close(fd)
		dir, name = fd, base
	}
	var st unix.Stat_t
	return unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW) == nil
}

func refusal(code jobspec.Code, target, format string, args ...any) *runner.Refusal {
	return &runner.Refusal{Reason: code, Target: target, Detail: fmt.Sprintf(format, args...)}
}
