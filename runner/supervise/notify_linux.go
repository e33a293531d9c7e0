package supervise

import (
	"errors"
	"runtime"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/sbxcron/sbxcron/runner/internal/ready"
)

// notification is struct seccomp_notif: a call that waits.
type notification struct {
	id    uint64
	pid   uint32 // of the thread, as our pid namespace counts
	flags uint32
	nr    int32
	arch  uint32
	ip    uint64
	args  [6]uint64
}

// response is struct seccomp_notif_resp.
type response struct {
	id    uint64
	val   int64
	err   int32
	flags uint32
}

// injection is struct seccomp_notif_addfd.
type injection struct {
	id         uint64
	flags      uint32
	src        uint32
	new        uint32
	newFDFlags uint32
}

// The requests, the same on amd64 and arm64 (linux/seccomp.h).
const (
	requestRecv     = 0xc0502100
	requestSend     = 0xc0182101
	requestValid    = 0x40082102
	requestAddFD    = 0x40182103
	requestSetFlags = 0x40082104
)

// ioctl makes a request until no signal interrupts it: the runtime sends some to
// its own threads, and each of these requests takes a lock that gives way to them.
// To wait for a call see receive.
func ioctl(fd int, request uintptr, arg unsafe.Pointer) (uintptr, unix.Errno) {
	for {
		r, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), request, uintptr(arg))
		if errno != unix.EINTR {
			return r, errno
		}
	}
}

// syncWakeUp asks the kernel to wake caller and answerer on one CPU, which saves
// most of the cost where it knows the request (Linux 6.6). Without it everything
// is the same, only slower.
func syncWakeUp(listener int) {
	unix.Syscall(unix.SYS_IOCTL, uintptr(listener), requestSetFlags, unix.SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP)
}

// work answers calls until the listener fails or nobody is left who could call.
// It keeps its thread: the kernel wakes it there.
func (s *server) work(i int) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	s.threads[i].Store(int32(unix.Gettid()))
	defer s.threads[i].Store(0)
	for !s.stopping.Load() {
		var n notification
		switch errno := s.receive(&n); errno {
		case 0:
			s.answer(&n)
		case unix.EINTR:
		case unix.ENOENT: // the caller died or was interrupted before anybody saw the call, or all have
			if s.deserted() {
				return nil
			}
		default:
			return errno
		}
	}
	return nil
}

// receive waits for a call.
func (s *server) receive(n *notification) unix.Errno {
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(s.listener), requestRecv, uintptr(unsafe.Pointer(n)))
	return errno
}

// deserted reports whether no process with the filter is left.
func (s *server) deserted() bool {
	said, err := ready.Now(s.listener, 0)
	return err == nil && said&unix.POLLHUP != 0
}

// answer lets a call go on, refuses it or gives it a file. A caller that is gone
// needs no answer.
func (s *server) answer(n *notification) {
	v := s.judge(n)
	switch {
	case v.later:
	case v.give:
		fd, errno := s.give(n.id, s.held[v.name].file, v.flags)
		s.send(response{id: n.id, val: fd, err: -int32(errno)})
	case v.errno != 0:
		s.send(response{id: n.id, err: -int32(v.errno)})
	default:
		s.send(response{id: n.id, flags: unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE})
	}
}

func (s *server) send(r response) { ioctl(s.listener, requestSend, unsafe.Pointer(&r)) }

// valid reports whether the call still waits: then its thread is alive, and what
// was read from its memory was read from its memory.
func (s *server) valid(id uint64) bool {
	_, errno := ioctl(s.listener, requestValid, unsafe.Pointer(&id))
	return errno == 0
}

// give puts a descriptor of the file, opened anew, into the caller: what two
// processes read has two offsets. The answer is sent on its own. The kernel can do
// both at once (SECCOMP_ADDFD_FLAG_SEND), but when a signal interrupts that, the
// caller hears 0 and has no file; the storms of signals in the tests showed it.
func (s *server) give(id uint64, file int, flags uint64) (int64, unix.Errno) {
	fresh, err := unix.Open(self(file), unix.O_RDONLY|unix.O_CLOEXEC|int(flags&unix.O_NONBLOCK), 0)
	if err != nil {
		return 0, errnoOf(err)
	}
	defer unix.Close(fresh)
	in := injection{id: id, src: uint32(fresh), newFDFlags: uint32(flags & unix.O_CLOEXEC)}
	fd, errno := ioctl(s.listener, requestAddFD, unsafe.Pointer(&in))
	if errno != 0 {
		return 0, errno // EMFILE, for one: the limit is the caller's
	}
	return int64(fd), 0
}

func errnoOf(err error) unix.Errno {
	var errno unix.Errno
	if errors.As(err, &errno) {
		return errno
	}
	return unix.EACCES
}

// readString reads a path from the caller's memory, page by page, since the page
// behind its end may not be there. It is complete or an errno: EFAULT where the
// kernel would say so too, EACCES where it may not be read.
func readString(pid int, address uint64) (string, unix.Errno) {
	var buf [unix.PathMax]byte
	for n := 0; n < len(buf); {
		at := address + uint64(n)
		size := min(pageSize-int(at%pageSize), len(buf)-n)
		local := []unix.Iovec{{Base: &buf[n], Len: uint64(size)}}
		got, err := unix.ProcessVMReadv(pid, local, []unix.RemoteIovec{{Base: uintptr(at), Len: size}}, 0)
		if errors.Is(err, unix.EFAULT) {
			return "", unix.EFAULT
		}
		if err != nil || got <= 0 {
			return "", unix.EACCES
		}
		for i := n; i < n+got; i++ {
			if buf[i] == 0 {
				return string(buf[:i]), 0
			}
		}
		n += got
	}
	return "", unix.ENAMETOOLONG
}

// pageSize is the smallest page of both architectures.
const pageSize = 4096

func procPath(pid int, what string) string { return "/proc/" + strconv.Itoa(pid) + "/" + what }
