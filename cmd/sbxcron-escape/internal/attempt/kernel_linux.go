package attempt

import (
	"encoding/binary"
	"fmt"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// kernelVerbs need more than one call, or a structure.
func kernelVerbs() map[string]verb {
	return map[string]verb{
		"call":      call,
		"ioctl":     func(w *worker, a []string) error { return call(w, append([]string{"ioctl"}, a...)) },
		"ownns":     ownNamespaces,
		"fork":      fork,
		"unshare":   func(_ *worker, a []string) error { return inChild(step{unix.SYS_UNSHARE, [5]uintptr{number(a[0])}}) },
		"clone3":    clone3,
		"enterns":   enter,
		"bpfmap":    bpfMap,
		"perf":      perf,
		"adjtime":   adjustTime,
		"setgroups": func(_ *worker, a []string) error { return withBytes("setgroups", words32(uint32(number(a[0]))), 1) },
		"capset":    capset,
		"byhandle":  byHandle,
		"ptytype":   typeIntoPty,
		"int80":     func(*worker, []string) error { int80(); return nil },
	}
}

func words32(w ...uint32) []byte {
	var b []byte
	for _, v := range w {
		b = binary.LittleEndian.AppendUint32(b, v)
	}
	return b
}

// withBytes makes a call whose last argument is the address of bytes.
func withBytes(name string, b []byte, before ...uintptr) error {
	_, err := named(name, append(before, addressOf(b))...)
	runtime.KeepAlive(b)
	return err
}

// step is a system call that a child makes.
type step struct {
	nr   uintptr
	args [5]uintptr
}

// inChild makes calls in a process of its own until one is refused. A process of
// this runtime has several threads, to which the kernel gives no namespaces. It
// must be raw calls: nothing of the runtime works in the child.
func inChild(steps ...step) error {
	pid, _, errno := syscall.RawSyscall6(unix.SYS_CLONE, uintptr(unix.SIGCHLD), 0, 0, 0, 0, 0)
	if errno != 0 {
		return errno
	}
	if pid == 0 {
		for _, s := range steps {
			if _, _, errno = syscall.RawSyscall6(s.nr, s.args[0], s.args[1], s.args[2], s.args[3], s.args[4], 0); errno != 0 {
				break
			}
		}
		for {
			_, _, _ = syscall.RawSyscall(unix.SYS_EXIT_GROUP, uintptr(errno), 0, 0)
		}
	}
	var status unix.WaitStatus
	if _, err := unix.Wait4(int(pid), &status, 0, nil); err != nil {
		return err
	}
	switch {
	case !status.Exited():
		return said("died")
	case status.ExitStatus() != 0:
		return syscall.Errno(status.ExitStatus())
	}
	return nil
}

// ownNamespaces makes a user and a mount namespace and does something in them
// that its capabilities there would allow.
func ownNamespaces(_ *worker, a []string) error {
	path, kind := append([]byte(a[1]), 0), []byte("tmpfs\x00")
	do := step{unix.SYS_MOUNT, [5]uintptr{addressOf(kind), addressOf(path), addressOf(kind)}}
	if a[0] == "umount" {
		do = step{unix.SYS_UMOUNT2, [5]uintptr{addressOf(path), unix.MNT_DETACH}}
	}
	err := inChild(step{unix.SYS_UNSHARE, [5]uintptr{unix.CLONE_NEWUSER | unix.CLONE_NEWNS}}, do)
	runtime.KeepAlive(path)
	runtime.KeepAlive(kind)
	return err
}

// fork makes a process in new namespaces, which ends at once. It must be the raw
// call: nothing of the runtime works in the child.
func fork(_ *worker, a []string) error {
	pid, _, errno := syscall.RawSyscall6(unix.SYS_CLONE, number(a[0])|uintptr(unix.SIGCHLD), 0, 0, 0, 0, 0)
	return child(pid, errno)
}

func clone3(_ *worker, a []string) error {
	args := make([]uint64, 11) // struct clone_args
	args[0], args[4] = uint64(number(a[0])), uint64(unix.SIGCHLD)
	b := make([]byte, 0, 88)
	for _, v := range args {
		b = binary.LittleEndian.AppendUint64(b, v)
	}
	pid, _, errno := syscall.RawSyscall6(unix.SYS_CLONE3, addressOf(b), uintptr(len(b)), 0, 0, 0, 0)
	return child(pid, errno)
}

// child ends the new process and waits for it in the old one.
func child(pid uintptr, errno syscall.Errno) error {
	if errno != 0 {
		return errno
	}
	if pid == 0 {
		for {
			_, _, _ = syscall.RawSyscall(unix.SYS_EXIT_GROUP, 0, 0, 0)
		}
	}
	_, err := unix.Wait4(int(pid), nil, 0, nil)
	return err
}

func enter(_ *worker, a []string) error {
	fd, err := unix.Open(a[0], unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return unix.Setns(fd, 0)
}

// bpfMap makes an array of one element (union bpf_attr).
func bpfMap(*worker, []string) error {
	attr := append(words32(2, 4, 4, 1), make([]byte, 112)...)
	fd, err := named("bpf", 0, addressOf(attr), 128)
	runtime.KeepAlive(attr)
	if err != nil {
		return err
	}
	return unix.Close(fd)
}

// perf counts the clock of processor 0 for all processes.
func perf(*worker, []string) error {
	attr := append(words32(1, 112), make([]byte, 104)...)
	fd, err := named("perf_event_open", addressOf(attr), ^uintptr(0), 0, ^uintptr(0), 0)
	runtime.KeepAlive(attr)
	if err != nil {
		return err
	}
	return unix.Close(fd)
}

func adjustTime(*worker, []string) error {
	const frequency = 2
	return withBytes("adjtimex", append(words32(frequency), make([]byte, 204)...))
}

func capset(*worker, []string) error {
	head := words32(unix.LINUX_CAPABILITY_VERSION_3, 0)
	data := words32(^uint32(0), ^uint32(0), 0, 0x1ff, 0x1ff, 0)
	_, err := raw(unix.SYS_CAPSET, addressOf(head), addressOf(data))
	runtime.KeepAlive(head)
	runtime.KeepAlive(data)
	return err
}

func byHandle(_ *worker, a []string) error {
	handle, _, err := unix.NameToHandleAt(unix.AT_FDCWD, a[0], 0)
	if err != nil {
		return err
	}
	dir, err := unix.Open(a[0], unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(dir)
	fd, err := unix.OpenByHandleAt(dir, handle, unix.O_RDWR|unix.O_CLOEXEC)
	if err != nil {
		return err
	}
	return unix.Close(fd)
}

// typeIntoPty types into a terminal that it made for itself.
func typeIntoPty(*worker, []string) error {
	main, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(main)
	if err := unix.IoctlSetPointerInt(main, unix.TIOCSPTLCK, 0); err != nil {
		return err
	}
	n, err := unix.IoctlGetInt(main, unix.TIOCGPTN)
	if err != nil {
		return err
	}
	own, err := unix.Open(fmt.Sprintf("/dev/pts/%d", n), unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(own)
	letter := []byte{'x'}
	return withBytes("ioctl", letter, uintptr(own), unix.TIOCSTI)
}
