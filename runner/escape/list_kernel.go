package escape

import "github.com/sbxcron/sbxcron/jobspec"

// mounts change what paths mean.
func mounts() []Attempt {
	return []Attempt{
		try("F07a", "take away what covers /proc/sys", "call umount2 /proc/sys 2", "seccomp outer_userns", noWay).tells(jobspec.CodeEscMount, "umount2 /proc/sys"),
		try("F07b", "take away what is shown", "call umount2 {shown} 2", "seccomp outer_userns", noWay).tells(jobspec.CodeEscMount, "umount2 {shown}"),
		try("F07c", "take it away from namespaces of its own", "ownns umount /proc/sys", "seccomp userns kernel", noWay+" ENOSPC").tells(jobspec.CodeEscUserns, "unshare user mount"),
		try("F07d", "mount from namespaces of its own", "ownns mount /tmp", "seccomp userns landlock", noWay+" ENOSPC").tells(jobspec.CodeEscUserns, "unshare user mount"),
		try("F08a", "bind the root elsewhere", "call mount / /tmp 0 0x1000 0", "seccomp landlock outer_userns", noWay).tells(jobspec.CodeEscMount, "mount /tmp"),
		try("F08b", "make the root writable", "call mount 0 / 0 0x1020 0", "seccomp landlock outer_userns", noWay).tells(jobspec.CodeEscMount, "mount /"),
		try("F08c", "make what is shown writable", "call mount 0 {shown} 0 0x1020 0", "seccomp landlock outer_userns", noWay).tells(jobspec.CodeEscMount, "mount {shown}"),
		try("F08d", "mount a tmpfs", "call mount none /tmp tmpfs 0 0", "seccomp landlock outer_userns", noWay).tells(jobspec.CodeEscMount, "mount /tmp"),
		try("F08e", "mount a new procfs", "call mount proc /tmp proc 0 0", "seccomp landlock outer_userns", noWay).tells(jobspec.CodeEscMount, "mount /tmp"),
		try("F08f", "mount a version 1 cgroup", "call mount none /tmp cgroup 0 memory", "seccomp landlock outer_userns", noWay).tells(jobspec.CodeEscMount, "mount /tmp"),
		try("F08g", "take a copy of the tree", "call open_tree -100 / 1", "seccomp outer_userns", noWay).tells(jobspec.CodeEscMount, "open_tree /"),
		try("F08h", "move a mount", "call move_mount -100 {shown} -100 /tmp 0", "seccomp landlock outer_userns", noWay).tells(jobspec.CodeEscMount, "move_mount"),
		try("F08i", "make mounts writable by attribute", "call mount_setattr -100 / 0 buf 32", "seccomp outer_userns", noWay).tells(jobspec.CodeEscMount, "mount_setattr"),
		try("F08j", "open a file system", "call fsopen tmpfs 0", "seccomp outer_userns", noWay).tells(jobspec.CodeEscMount, "fsopen tmpfs"),
		try("F08k", "pick a file system", "call fspick -100 / 0", "seccomp outer_userns", noWay).tells(jobspec.CodeEscMount, "fspick /"),
		try("F08l", "mount with bits above the low half", "call mount / /tmp 0 0x100001000 0", "seccomp landlock outer_userns", noWay).tells(jobspec.CodeEscMount, "mount /tmp"),
		try("F10a", "pivot the root", "call pivot_root /tmp /tmp", "seccomp landlock outer_userns", noWay).tells(jobspec.CodeEscMount, "pivot_root /tmp"),
		try("F10b", "change the root", "call chroot /tmp", "seccomp capabilities", noWay).tells(jobspec.CodeEscMount, "chroot /tmp"),
		try("F36a", "swap to a file", "call swapon /tmp 0", "seccomp kernel", noWay).tells(jobspec.CodeSysDenied, "swapon /tmp"),
		try("F36b", "change quotas", "call quotactl 0x800001 / 0 0", "seccomp capabilities kernel", noWay),
		try("F36c", "watch a whole file system", "call fanotify_init 0x4 0", "seccomp kernel", noWay),
	}
}

// kernelFiles are doors to the kernel that have a path.
func kernelFiles() []Attempt {
	return []Attempt{
		try("F35a", "open the release agent of cgroups", "openwrite /sys/fs/cgroup/release_agent", "view landlock uid", absent),
		try("F35b", "tune kernel memory", "openwrite /sys/kernel/mm/ksm/run", "view landlock uid", absent),
		try("F35c", "move itself to another cgroup", "openwrite /sys/fs/cgroup/cgroup.procs", "view landlock uid", absent),
		try("P20a", "name a handler of crashes", "openwrite /proc/sys/kernel/core_pattern", "masks landlock uid", ro),
		try("P20b", "use the key for emergencies", "openwrite /proc/sysrq-trigger", "masks landlock uid", ro+" ENOENT"),
		try("P20c", "drop caches", "openwrite /proc/sys/vm/drop_caches", "masks landlock uid", ro),
		try("P20d", "name a loader of modules", "openwrite /proc/sys/kernel/modprobe", "masks landlock uid", ro+" ENOENT"),
		try("P20e", "allow itself namespaces", "openwrite /proc/sys/user/max_user_namespaces", "masks landlock capabilities", ro),
		try("P20f", "register an interpreter", "openwrite /proc/sys/fs/binfmt_misc/register", "masks landlock uid", ro+" ENOENT"),
		try("P20g", "save the first process from the memory killer", "openwrite /proc/1/oom_score_adj", "landlock", "EACCES"),
		try("P20h", "map other ids", "openwrite /proc/self/uid_map", "landlock", "EACCES"),
		try("P11a", "write to the kernel's log", "openwrite /dev/kmsg", "view uid", absent).tells(jobspec.CodeFsDeniedDevice, "/dev/kmsg"),
		try("P11b", "read the kernel's log", "call syslog 3 buf 4096", "seccomp kernel", noWay).tells(jobspec.CodeSysDenied, "syslog"),
		try("P12a", "read memory by /dev/mem", "read /dev/mem", "view uid", absent),
		try("P12b", "read the first disk", "read /dev/vda", "view uid", absent),
		try("P12c", "use FUSE", "openwrite /dev/fuse", "view", absent).tells(jobspec.CodeFsDeniedDevice, "/dev/fuse"),
		try("P12d", "use KVM", "openwrite /dev/kvm", "view uid", absent).tells(jobspec.CodeFsDeniedDevice, "/dev/kvm"),
		try("P12e", "make input devices", "openwrite /dev/uinput", "view uid", absent).tells(jobspec.CodeFsDeniedDevice, "/dev/uinput"),
		try("P12f", "make loop devices", "openwrite /dev/loop-control", "view uid", absent).tells(jobspec.CodeFsDeniedDevice, "/dev/loop-control"),
		try("P12g", "use userfaultfd by its device", "openwrite /dev/userfaultfd", "view uid", absent),
		try("N27a", "make a network device", "openwrite /dev/net/tun", "view", absent).tells(jobspec.CodeFsDeniedDevice, "/dev/net/tun"),
		try("N27b", "speak to the host of a virtual machine", "openwrite /dev/vhost-vsock", "view uid", absent).tells(jobspec.CodeFsDeniedDevice, "/dev/vhost-vsock"),
	}
}

// namespaces would give a full set of capabilities.
func namespaces() []Attempt {
	return []Attempt{
		try("P04a", "make a user namespace", "unshare 0x10000000", "seccomp userns", noWay).tells(jobspec.CodeEscUserns, "unshare user"),
		try("P04b", "make a mount namespace", "unshare 0x20000", "seccomp capabilities", noWay).tells(jobspec.CodeEscUserns, "unshare mount"),
		try("P04c", "make a network namespace", "unshare 0x40000000", "seccomp capabilities", noWay).tells(jobspec.CodeEscUserns, "unshare net"),
		try("P04d", "make a pid namespace", "unshare 0x20000000", "seccomp capabilities", noWay).tells(jobspec.CodeEscUserns, "unshare pid"),
		try("P04e", "make a time namespace", "unshare 0x80", "seccomp capabilities", noWay).tells(jobspec.CodeEscUserns, "unshare time"),
		try("P04f", "make a user namespace, with bits above the low half", "unshare 0x110000000", "seccomp kernel", noWay).tells(jobspec.CodeEscUserns, "unshare user"),
		try("P05a", "make one with clone", "fork 0x10000000", "seccomp userns", noWay).tells(jobspec.CodeEscUserns, "clone user"),
		try("P05b", "make others with clone", "fork 0x6c020000", "seccomp capabilities", noWay).tells(jobspec.CodeEscUserns, "clone mount pid net ipc uts"),
		try("P05c", "make one with clone3, whose flags no filter sees", "clone3 0x10000000", "seccomp userns", "ENOSYS"),
		try("P06a", "enter the namespaces of the first process", "enterns /proc/1/ns/mnt", "seccomp landlock outer_userns", noWay+" EACCES"),
		try("P06b", "enter a namespace by a process", "call setns -1 0x20000", "seccomp kernel", noWay).tells(jobspec.CodeEscUserns, "setns"),
		try("P06c", "enter its own user namespace anew", "enterns /proc/self/ns/user", "seccomp kernel", noWay).tells(jobspec.CodeEscUserns, "setns"),
	}
}

// kernelCalls are calls that no job needs.
func kernelCalls() []Attempt {
	return []Attempt{
		try("N09a", "go around the filter by io_uring", "call io_uring_setup 1 buf", "seccomp", "ENOSYS"),
		try("N09b", "enter a ring", "call io_uring_enter 0 0 0 0 0 0", "seccomp kernel", "ENOSYS"),
		try("N09c", "register with a ring", "call io_uring_register 0 0 0 0", "seccomp kernel", "ENOSYS"),
		try("P13a", "make a map of bpf", "bpfmap", "seccomp kernel", noWay).tells(jobspec.CodeEscBPF, "bpf"),
		try("P13b", "load a program of bpf", "call bpf 5 buf 64", "seccomp capabilities kernel", noWay).tells(jobspec.CodeEscBPF, "bpf"),
		try("P14", "count events of the machine", "perf", "seccomp kernel", noWay).tells(jobspec.CodeSysDenied, "perf_event_open"),
		try("P15", "answer its own page faults", "call userfaultfd 1", "seccomp", noWay).tells(jobspec.CodeSysDenied, "userfaultfd"),
		try("P16", "hide memory from the kernel", "call memfd_secret 0", "seccomp", noWay),
		try("P17a", "load a module", "call init_module buf 16 /", "seccomp kernel", noWay).tells(jobspec.CodeEscModule, "init_module"),
		try("P17b", "load a module from a file", "call finit_module 0 / 0", "seccomp kernel", noWay).tells(jobspec.CodeEscModule, "finit_module"),
		try("P17c", "remove a module", "call delete_module x 0", "seccomp kernel", noWay).tells(jobspec.CodeEscModule, "delete_module"),
		try("P18a", "load another kernel", "call kexec_load 0 0 0 0", "seccomp kernel", noWay).tells(jobspec.CodeEscModule, "kexec_load"),
		try("P18b", "load one from a file", "call kexec_file_load 0 0 0 0 0", "seccomp kernel", noWay).tells(jobspec.CodeEscModule, "kexec_file_load"),
		try("P18c", "restart the machine", "call reboot 0 0 0 0", "seccomp kernel", noWay).tells(jobspec.CodeSysDenied, "reboot"),
		try("P18d", "set the clock", "call settimeofday buf 0", "seccomp kernel", noWay).tells(jobspec.CodeSysDenied, "settimeofday"),
		try("P18e", "set the clock by its number", "call clock_settime 0 buf", "seccomp kernel", noWay).tells(jobspec.CodeSysDenied, "clock_settime"),
		try("P18f", "bend the clock", "adjtime", "seccomp kernel", noWay),
		try("P18g", "rename the machine", "call sethostname x 1", "seccomp outer_userns", noWay).tells(jobspec.CodeSysDenied, "sethostname"),
		try("P18h", "account for processes", "call acct /tmp/acct", "seccomp kernel", noWay).tells(jobspec.CodeSysDenied, "acct /tmp/acct"),
		try("P18i", "hang up the terminal", "call vhangup", "seccomp kernel", noWay),
		try("P18j", "reach ports of the machine", "call iopl 3", "seccomp kernel", noWay).tells(jobspec.CodeSysDenied, "iopl").on("amd64"),
		try("P18k", "reach one port of the machine", "call ioperm 0x80 1 1", "seccomp kernel", noWay).tells(jobspec.CodeSysDenied, "ioperm").on("amd64"),
		try("P18l", "move pages to another node", "call move_pages 0 0 0 0 0 0", "seccomp", noWay),
		try("P19a", "change the table of segments", "call modify_ldt 0 buf 16", "seccomp", noWay).on("amd64"),
		try("P19b", "turn off random addresses", "call personality 0x40000", "seccomp", noWay),
		try("P22a", "use the numbers of x32", "call #0x40000027", "seccomp kernel", "ENOSYS").on("amd64"),
		try("P22b", "use a call that is younger than the filter", "call #5000", "seccomp kernel", "ENOSYS"),
		try("P23", "use the door of 32-bit programs", "int80", "seccomp", "died").on("amd64").byItself(),
	}
}

// rights ask for more than the job has.
func rights() []Attempt {
	return []Attempt{
		try("P03a", "become root", "call setuid 0", "capabilities kernel", "EPERM EINVAL"),
		try("P03b", "become another group", "call setgid 0", "capabilities kernel", "EPERM EINVAL"),
		try("P03c", "take on groups", "setgroups 0", "capabilities kernel", "EPERM EINVAL"),
		try("P03d", "take on all ids", "call setresuid 0 0 0", "capabilities kernel", "EPERM EINVAL"),
		try("P03e", "raise capabilities", "capset", "capabilities", noWay),
		try("P03f", "keep a capability over exec", "call prctl 47 2 21 0 0", "capabilities", noWay),
		try("P03g", "unlock its secure bits", "call prctl 28 0x10 0 0 0", "capabilities", noWay),
		try("P03h", "take back no_new_privs", "call prctl 38 0 0 0 0", "kernel", "EINVAL"),
		try("P03i", "leave the mode of filters", "call prctl 22 0 0 0 0", "kernel", "EINVAL EPERM EACCES"),
		try("P03j", "move the limits of its memory", "call prctl 35 1 0 0 0", "capabilities kernel", noWay+" EINVAL"),
		try("P01", "run a set-uid program of root", "whoami {setuid}", "no_new_privs", "same").tells(jobspec.CodeEscSetuidInert, "{setuid}").asRoot(),
		try("P02", "run a program with file capabilities", "whoami {filecap}", "no_new_privs", "same").tells(jobspec.CodeEscSetuidInert, "{filecap}").asRoot(),
		try("P01b", "give a file to root", "chownto 0 /tmp/own", "capabilities kernel", "EPERM EINVAL"),
		try("P25a", "go ahead of others", "call setpriority 0 0 -5", "capabilities rlimits kernel", "EACCES EPERM"),
		try("P25b", "run in real time", "call sched_setscheduler 0 1 one", "capabilities rlimits kernel", noWay),
		try("P25c", "use disks in real time", "call ioprio_set 1 0 0x2000", "capabilities kernel", noWay),
		try("P25d", "raise the limit of open files", "raise 7", "rlimits kernel", noWay),
		try("P25e", "raise the limit of processes", "raise 6", "rlimits kernel", noWay),
		try("P25f", "raise the limit of file sizes", "raise 1", "rlimits", noWay),
		try("P25g", "raise the limit of core files", "raise 4", "rlimits", noWay),
		try("P25h", "lock much memory", "mlock 16777216", "rlimits kernel", "ENOMEM EPERM EAGAIN"),
	}
}
