package pin

import (
	"bytes"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sbxcron/sbxcron/jobspec"
)

// origin is where an open path came from, and how it looked then.
type origin struct {
	at   *os.File // O_PATH, of the file or folder itself
	path string
	meta meta
	live bool // its bytes and names may change without a change of the approval
}

// Unchanged reports whether opening everything once more would give the same:
// each path leads to the same inode, with the same owner and mode and, where the
// bytes count, the same times of change, and nothing was mounted or unmounted. It
// asks descriptors and this process's own mounts only, so it uses no right on any
// path. What it cannot be sure of is a change: a file on a network, and one whose
// last change is so recent that another could bear the same time.
func (s *Set) Unchanged() bool {
	now, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil || s.mounts == nil || !bytes.Equal(now, s.mounts) {
		return false
	}
	for i := range s.pins {
		if o := s.pins[i].origin; o == nil || !o.still(s.began, s.table) {
			return false
		}
	}
	return true
}

// still looks at one path.
func (o *origin) still(began time.Time, table mounts) bool {
	now, err := statFile(o.at)
	if err != nil || now.id != o.meta.id || now.uid != o.meta.uid || now.mode != o.meta.mode || now.kind != o.meta.kind {
		return false
	}
	// The kernel's name of the descriptor follows each rename of each folder above.
	name, err := os.Readlink("/proc/self/fd/" + strconv.Itoa(int(o.at.Fd())))
	if err != nil || name != o.path {
		return false
	}
	if o.live {
		return true
	}
	old := began.Sub(time.Unix(0, o.meta.ctime)) >= settled
	return now.stamp == o.meta.stamp && old && table[o.meta.mount].local()
}

// keepOrigin keeps what Unchanged asks. f is taken over.
func (h *held) keepOrigin(r Request, f *os.File, m meta) {
	h.origin = &origin{at: f, path: r.Path, meta: m, live: isLive(r.Use)}
}

// adoptOrigin keeps the same of a folder that the caller opened. Without it
// Unchanged says no.
func (h *held) adoptOrigin() {
	again, err := duplicate(h.file)
	if err != nil {
		return
	}
	m, err := statFile(again)
	if err == nil {
		var name string
		name, err = os.Readlink("/proc/self/fd/" + strconv.Itoa(int(again.Fd())))
		h.origin = &origin{at: again, path: name, meta: m, live: true}
	}
	if err != nil {
		again.Close()
		h.origin = nil
	}
}

// isLive tells paths that are opened as they are from those whose content was
// looked at: bound bytes, and the cwd, whose protected names are mounted one by
// one.
func isLive(u jobspec.Use) bool { return u != jobspec.UseBound && u != jobspec.UseCwd }

// duplicate is another descriptor of the same open file.
func duplicate(f *os.File) (*os.File, error) {
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), f.Name()), nil
}
