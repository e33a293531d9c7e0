package pin

import (
	"bytes"
	"os"

	"golang.org/x/sys/unix"

	"github.com/sbxcron/sbxcron/runner/internal/ready"
)

// mountList is /proc/self/mountinfo, which is read anew only when the kernel says
// that a mount came, went or changed since it was opened (proc_pid_mounts(5): poll
// tells of it as of an error). The zero value has read nothing. Its caller keeps
// others out.
type mountList struct {
	file *os.File
	raw  []byte
}

// now is the list as it is. Nobody changes what it returns.
func (l *mountList) now() ([]byte, error) {
	if l.file != nil && !l.changed() {
		return l.raw, nil
	}
	if l.file != nil {
		l.file.Close()
		l.file = nil
	}
	// Opened before it is read: what changes meanwhile is told later. Not by os.Open,
	// which gives it to the runtime's poller: each change is told once, to whoever
	// asks first.
	fd, err := unix.Open("/proc/self/mountinfo", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: "/proc/self/mountinfo", Err: err}
	}
	f := os.NewFile(uintptr(fd), "/proc/self/mountinfo")
	var all bytes.Buffer
	if _, err := all.ReadFrom(f); err != nil {
		f.Close()
		return nil, err
	}
	l.file, l.raw = f, all.Bytes()
	return l.raw, nil
}

// changed reports whether there may be another list by now.
func (l *mountList) changed() bool {
	said, err := ready.Now(int(l.file.Fd()), unix.POLLPRI)
	return err != nil || said != 0
}
