// Command attempt tries things that a sandboxed job must not be able to do and
// prints one line for each: a name and what the kernel answered, "ok" for
// success. It does nothing lasting: what it manages to make is closed again.
package main

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

func main() {
	runtime.LockOSThread()
	open := openFiles() // before anything of ours opens more
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: attempt fds | kernel | calls CALL... | write PATH... | read PATH... | setid DIR | escape DIR | flood COUNT | targets COUNT")
		os.Exit(2)
	}
	args := os.Args[2:]
	switch os.Args[1] {
	case "fds":
		fmt.Println(open)
	case "kernel":
		kernel()
	case "write":
		each(args, write)
	case "read":
		each(args, read)
	case "setid":
		setID(args[0])
	case "calls":
		calls(args)
	case "flood":
		flood(args[0])
	case "targets":
		targets(args[0])
	case "escape":
		escape(args[0])
	default:
		os.Exit(2)
	}
}

func say(name string, err error) {
	if err == nil {
		fmt.Println(name, "ok")
		return
	}
	if no, is := err.(syscall.Errno); is {
		fmt.Println(name, unix.ErrnoName(no))
		return
	}
	fmt.Println(name, err)
}

func each(paths []string, f func(string) error) {
	for _, p := range paths {
		say(p, f(p))
	}
}

// openFiles lists the descriptors that were inherited. The runtime's own (its
// poller) are not open yet or are close-on-exec.
func openFiles() []int {
	var list []int
	for fd := range 1024 {
		flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
		if err == nil && flags&unix.FD_CLOEXEC == 0 {
			list = append(list, fd)
		}
	}
	return list
}

func write(path string) error {
	fd, err := unix.Open(path, unix.O_WRONLY|unix.O_APPEND|unix.O_CREAT|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	_, err = unix.Write(fd, []byte("changed by a job\n"))
	return err
}

func read(path string) error {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	return unix.Close(fd)
}

// call makes a raw system call, so that no library decides anything.
func call(name string, nr uintptr, a ...uintptr) {
	var v [6]uintptr
	copy(v[:], a)
	_, _, errno := unix.RawSyscall6(nr, v[0], v[1], v[2], v[3], v[4], v[5])
	if errno == 0 {
		say(name, nil)
		return
	}
	say(name, errno)
}

// calls makes the calls that it is given, each a name, a number and six arguments
// with commas between them.
func calls(list []string) {
	for _, text := range list {
		name, numbers, _ := strings.Cut(text, ",")
		var nr uintptr
		var a [6]uintptr
		if _, err := fmt.Sscanf(numbers, "%d,%d,%d,%d,%d,%d,%d", &nr, &a[0], &a[1], &a[2], &a[3], &a[4], &a[5]); err != nil {
			say(name, err)
			continue
		}
		call(name, nr, a[:]...)
	}
}

func cstr(s string) uintptr {
	b := append([]byte(s), 0)
	return uintptr(unsafe.Pointer(&b[0]))
}

func kernel() {
	for _, f := range []struct {
		name   string
		family uintptr
	}{{"inet", unix.AF_INET}, {"inet6", unix.AF_INET6}, {"unix", unix.AF_UNIX}, {"netlink", unix.AF_NETLINK}, {"packet", unix.AF_PACKET}, {"vsock", unix.AF_VSOCK}, {"alg", unix.AF_ALG}} {
		call("socket_"+f.name, unix.SYS_SOCKET, f.family, unix.SOCK_DGRAM)
		call("socket_high_bits_"+f.name, unix.SYS_SOCKET, 1<<40|f.family, unix.SOCK_STREAM)
	}
	var pair [2]int32
	call("socketpair_stream", unix.SYS_SOCKETPAIR, unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0, uintptr(unsafe.Pointer(&pair)))
	call("socketpair_dgram", unix.SYS_SOCKETPAIR, unix.AF_UNIX, unix.SOCK_DGRAM, 0, uintptr(unsafe.Pointer(&pair)))
	call("userns", unix.SYS_UNSHARE, unix.CLONE_NEWUSER)
	call("userns_clone", unix.SYS_CLONE, unix.CLONE_NEWUSER|uintptr(unix.SIGCHLD))
	call("clone3", unix.SYS_CLONE3, 0, 0)
	call("setns", unix.SYS_SETNS, 0, 0)
	call("mount", unix.SYS_MOUNT, cstr("/"), cstr("/tmp"), 0, unix.MS_BIND, 0)
	call("remount_root", unix.SYS_MOUNT, 0, cstr("/"), 0, unix.MS_REMOUNT|unix.MS_BIND, 0)
	call("umount", unix.SYS_UMOUNT2, cstr("/proc/sys"), unix.MNT_DETACH)
	call("open_tree", unix.SYS_OPEN_TREE, 0, cstr("/"), 1)
	call("pivot_root", unix.SYS_PIVOT_ROOT, cstr("/tmp"), cstr("/tmp"))
	call("chroot", unix.SYS_CHROOT, cstr("/tmp"))
	call("ptrace_init", unix.SYS_PTRACE, unix.PTRACE_ATTACH, 1)
	var buf [8]byte
	call("process_vm_readv", unix.SYS_PROCESS_VM_READV, 1, uintptr(unsafe.Pointer(&buf)), 0, 0, 0, 0)
	call("pidfd_getfd", unix.SYS_PIDFD_GETFD, 0, 0, 0)
	call("keyctl", unix.SYS_KEYCTL, unix.KEYCTL_GET_KEYRING_ID, ^uintptr(2), 0)
	call("add_key", unix.SYS_ADD_KEY, cstr("user"), cstr("x"), uintptr(unsafe.Pointer(&buf)), 1, ^uintptr(3))
	call("request_key", unix.SYS_REQUEST_KEY, cstr("user"), cstr("x"), 0, 0)
	call("bpf", unix.SYS_BPF, 0, 0, 0)
	call("perf_event_open", unix.SYS_PERF_EVENT_OPEN, 0, 0, 0, 0, 0)
	call("userfaultfd", unix.SYS_USERFAULTFD, 1)
	call("memfd_secret", unix.SYS_MEMFD_SECRET, 0)
	call("io_uring", unix.SYS_IO_URING_SETUP, 1, uintptr(unsafe.Pointer(&bytes.Buffer{})))
	call("open_by_handle", unix.SYS_OPEN_BY_HANDLE_AT, 0, 0, 0)
	call("name_to_handle", unix.SYS_NAME_TO_HANDLE_AT, 0, cstr("/"), 0, 0, 0)
	call("personality_set", unix.SYS_PERSONALITY, 0x0040000)
	call("personality_ask", unix.SYS_PERSONALITY, 0xffffffff)
	call("settimeofday", unix.SYS_SETTIMEOFDAY, 0, 0)
	call("sethostname", unix.SYS_SETHOSTNAME, cstr("x"), 1)
	call("syslog", unix.SYS_SYSLOG, 3, 0, 0)
	call("swapon", unix.SYS_SWAPON, cstr("/tmp"), 0)
	call("kexec", unix.SYS_KEXEC_LOAD, 0, 0, 0, 0)
	call("quotactl", unix.SYS_QUOTACTL, 0, 0, 0, 0)
	call("tiocsti", unix.SYS_IOCTL, 0, unix.TIOCSTI, uintptr(unsafe.Pointer(&buf)))
	call("tiocsti_high_bits", unix.SYS_IOCTL, 0, 1<<32|unix.TIOCSTI, uintptr(unsafe.Pointer(&buf)))
	call("unknown", 5000)
	say("tty", read("/dev/tty"))
}

// setID tries to leave a set-id file or directory behind.
func setID(dir string) {
	file := dir + "/plain"
	if err := os.WriteFile(file, []byte("#!/bin/sh\n"), 0o755); err != nil {
		say("plain", err)
		return
	}
	say("plain", nil)
	say("chmod", unix.Chmod(file, 0o4755))
	say("fchmodat", unix.Fchmodat(unix.AT_FDCWD, file, 0o2755, 0))
	call("fchmodat2", unix.SYS_FCHMODAT2, ^uintptr(99), cstr(file), 0o4755, 0)
	fd, err := unix.Open(file, unix.O_RDONLY, 0)
	if err == nil {
		err = unix.Fchmod(fd, 0o6755)
	}
	say("fchmod", err)
	_, err = unix.Openat(unix.AT_FDCWD, dir+"/made", unix.O_CREAT|unix.O_WRONLY, 0o4755)
	say("openat", err)
	_, err = unix.Openat2(unix.AT_FDCWD, dir+"/made2", &unix.OpenHow{Flags: unix.O_CREAT | unix.O_WRONLY, Mode: 0o4755})
	say("openat2", err)
	say("mkdirat", unix.Mkdirat(unix.AT_FDCWD, dir+"/dir", 0o2755))
	say("mknodat", unix.Mknodat(unix.AT_FDCWD, dir+"/node", unix.S_IFREG|0o4755, 0))
	say("device", unix.Mknodat(unix.AT_FDCWD, dir+"/null", unix.S_IFCHR|0o666, int(unix.Mkdev(1, 3))))
	say("rename", os.Rename(file, dir+"/renamed"))
}
