package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// escape tries known ways out of sandboxes. shown is a folder that the job may
// only read and that holds a file "f" and a pipe "fifo"; the work directory is
// the job's. Each line begins with the row of the escape cases.
func escape(shown string) {
	cwd, err := os.Getwd()
	if err != nil {
		say("cwd", err)
		return
	}
	f := shown + "/f"
	say("F01", write(shown+"/new"))
	say("F02", write(f))
	say("F04_link", unix.Link(f, "linked"))
	say("F04_linkat", linkByFD(f))
	say("F05_root", write("/proc/self/root"+f))
	say("F05_init", write("/proc/1/root"+f))
	say("F13", reopenForWriting(f))
	say("F16", writeAtOnce(shown+"/fifo"))
	say("F34_cwd", unix.Rename(cwd, cwd+"x"))
	say("F34_rmdir", unix.Rmdir(cwd))
	say("F34_parent", unix.Rename(filepath.Dir(cwd), filepath.Dir(cwd)+"x"))
	say("F35_cgroup", write("/sys/fs/cgroup/release_agent"))
	say("F35_ksm", write("/sys/kernel/mm/ksm/run"))
	say("P11", read("/dev/kmsg"))
	call("P22", 0x40000000|unix.SYS_GETPID)
	if runtime.GOARCH == "amd64" {
		const modifyLDT = 154
		call("P19", modifyLDT, 0, 0, 0)
	}
	say("P25_nice", unix.Setpriority(unix.PRIO_PROCESS, 0, -5))
	priority := int32(1)
	call("P25_fifo", unix.SYS_SCHED_SETSCHEDULER, 0, unix.SCHED_FIFO, uintptr(unsafe.Pointer(&priority)))
	say("P25_limit", unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 1 << 20, Max: 1 << 20}))
	say("N27", read("/dev/net/tun"))
}

func linkByFD(path string) error {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return unix.Linkat(unix.AT_FDCWD, fmt.Sprintf("/proc/self/fd/%d", fd), unix.AT_FDCWD, "linked", unix.AT_SYMLINK_FOLLOW)
}

func reopenForWriting(path string) error {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	again, err := unix.Open(fmt.Sprintf("/proc/self/fd/%d", fd), unix.O_WRONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	return unix.Close(again)
}

func writeAtOnce(path string) error {
	fd, err := unix.Open(path, unix.O_WRONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	_, err = unix.Write(fd, []byte("x"))
	return err
}
