package seccomp

import (
	"fmt"
	"sync"
)

// Arch is an architecture as Go names it. The zero value has no numbers.
type Arch string

// The architectures whose numbers are known here.
const (
	AMD64 Arch = "amd64"
	ARM64 Arch = "arm64"
)

// absent marks a call that an architecture does not have.
const absent = -1

type number struct {
	name         string
	amd64, arm64 int
}

// newestReviewed is the youngest call that somebody looked at for this filter.
// Numbers are the same on all architectures since 424; what is younger does not
// exist for a job.
const newestReviewed = 471

// Number is the number of a system call. It is an error to ask for a call that
// the architecture does not have or that this package does not list.
func (a Arch) Number(name string) (uint32, error) {
	n, listed := named()[name]
	if !listed {
		return 0, fmt.Errorf("system call %s is not listed", name)
	}
	nr := absent
	switch a {
	case AMD64:
		nr = n.amd64
	case ARM64:
		nr = n.arm64
	}
	if nr == absent {
		return 0, fmt.Errorf("system call %s does not exist on %q", name, string(a))
	}
	return uint32(nr), nil
}

// named are the numbers by name: each run asks for hundreds of them.
var named = sync.OnceValue(func() map[string]number {
	all := make(map[string]number, len(numbers))
	for _, n := range numbers {
		if _, twice := all[n.name]; !twice {
			all[n.name] = n
		}
	}
	return all
})

// has reports whether the architecture has the call.
func (a Arch) has(name string) bool {
	_, err := a.Number(name)
	return err == nil
}

// numbers lists the calls that the filter or the stub names, and is written by
// nobody. A test compares it with the tables of golang.org/x/sys, which come from
// the kernel's headers.
var numbers = [...]number{
	{"acct", 163, 89},
	{"add_key", 248, 217},
	{"adjtimex", 159, 171},
	{"bind", 49, 200},
	{"bpf", 321, 280},
	{"capget", 125, 90},
	{"chmod", 90, absent},
	{"chown", 92, absent},
	{"chroot", 161, 51},
	{"clock_adjtime", 305, 266},
	{"clock_settime", 227, 112},
	{"clone", 56, 220},
	{"clone3", 435, 435},
	{"close", 3, 57},
	{"close_range", 436, 436},
	{"connect", 42, 203},
	{"creat", 85, absent},
	{"create_module", 174, absent},
	{"delete_module", 176, 106},
	{"execve", 59, 221},
	{"execveat", 322, 281},
	{"exit_group", 231, 94},
	{"fanotify_init", 300, 262},
	{"fchdir", 81, 50},
	{"fchmod", 91, 52},
	{"fchmodat", 268, 53},
	{"fchmodat2", 452, 452},
	{"fchown", 93, 55},
	{"fchownat", 260, 54},
	{"fcntl", 72, 25},
	{"file_setattr", 469, 469},
	{"finit_module", 313, 273},
	{"fremovexattr", 199, 16},
	{"fsconfig", 431, 431},
	{"fsetxattr", 190, 7},
	{"fsmount", 432, 432},
	{"fsopen", 430, 430},
	{"fspick", 433, 433},
	{"fstat", 5, 80},
	{"futimesat", 261, absent},
	{"getdents64", 217, 61},
	{"getegid", 108, 177},
	{"geteuid", 107, 175},
	{"getgid", 104, 176},
	{"getgroups", 115, 158},
	{"getpid", 39, 172},
	{"getppid", 110, 173},
	{"getuid", 102, 174},
	{"get_kernel_syms", 177, absent},
	{"get_mempolicy", 239, 236},
	{"init_module", 175, 105},
	{"inotify_add_watch", 254, 27},
	{"ioctl", 16, 29},
	{"ioperm", 173, absent},
	{"iopl", 172, absent},
	{"ioprio_set", 251, 30},
	{"io_uring_enter", 426, 426},
	{"io_uring_register", 427, 427},
	{"io_uring_setup", 425, 425},
	{"kcmp", 312, 272},
	{"kexec_file_load", 320, 294},
	{"kexec_load", 246, 104},
	{"keyctl", 250, 219},
	{"kill", 62, 129},
	{"landlock_add_rule", 445, 445},
	{"landlock_create_ruleset", 444, 444},
	{"landlock_restrict_self", 446, 446},
	{"lchown", 94, absent},
	{"listen", 50, 201},
	{"listns", 470, 470},
	{"lookup_dcookie", 212, 18},
	{"lremovexattr", 198, 15},
	{"lsetxattr", 189, 6},
	{"mbind", 237, 235},
	{"memfd_secret", 447, 447},
	{"migrate_pages", 256, 238},
	{"mkdir", 83, absent},
	{"mkdirat", 258, 34},
	{"mknod", 133, absent},
	{"mknodat", 259, 33},
	{"modify_ldt", 154, absent},
	{"mount", 165, 40},
	{"mount_setattr", 442, 442},
	{"move_mount", 429, 429},
	{"move_pages", 279, 239},
	{"mq_getsetattr", 245, 185},
	{"mq_notify", 244, 184},
	{"mq_open", 240, 180},
	{"mq_timedreceive", 243, 183},
	{"mq_timedsend", 242, 182},
	{"mq_unlink", 241, 181},
	{"msgctl", 71, 187},
	{"msgget", 68, 186},
	{"msgrcv", 70, 188},
	{"msgsnd", 69, 189},
	{"name_to_handle_at", 303, 264},
	{"newfstatat", 262, 79},
	{"nfsservctl", 180, 42},
	{"open", 2, absent},
	{"openat", 257, 56},
	{"openat2", 437, 437},
	{"open_by_handle_at", 304, 265},
	{"open_tree", 428, 428},
	{"open_tree_attr", 467, 467},
	{"perf_event_open", 298, 241},
	{"personality", 135, 92},
	{"pidfd_getfd", 438, 438},
	{"pivot_root", 155, 41},
	{"prctl", 157, 167},
	{"pread64", 17, 67},
	{"prlimit64", 302, 261},
	{"process_madvise", 440, 440},
	{"process_vm_readv", 310, 270},
	{"process_vm_writev", 311, 271},
	{"ptrace", 101, 117},
	{"query_module", 178, absent},
	{"quotactl", 179, 60},
	{"quotactl_fd", 443, 443},
	{"read", 0, 63},
	{"reboot", 169, 142},
	{"removexattr", 197, 14},
	{"removexattrat", 466, 466},
	{"request_key", 249, 218},
	{"sched_setaffinity", 203, 122},
	{"sched_setattr", 314, 274},
	{"sched_setparam", 142, 118},
	{"sched_setscheduler", 144, 119},
	{"seccomp", 317, 277},
	{"semctl", 66, 191},
	{"semget", 64, 190},
	{"semop", 65, 193},
	{"semtimedop", 220, 192},
	{"setdomainname", 171, 162},
	{"sethostname", 170, 161},
	{"setns", 308, 268},
	{"setpriority", 141, 140},
	{"settimeofday", 164, 170},
	{"setxattr", 188, 5},
	{"setxattrat", 463, 463},
	{"set_mempolicy", 238, 237},
	{"set_mempolicy_home_node", 450, 450},
	{"shmat", 30, 196},
	{"shmctl", 31, 195},
	{"shmget", 29, 194},
	{"socket", 41, 198},
	{"socketpair", 53, 199},
	{"swapoff", 168, 225},
	{"swapon", 167, 224},
	{"sysfs", 139, absent},
	{"syslog", 103, 116},
	{"truncate", 76, 45},
	{"umask", 95, 166},
	{"umount2", 166, 39},
	{"unshare", 272, 97},
	{"uselib", 134, absent},
	{"userfaultfd", 323, 282},
	{"ustat", 136, absent},
	{"utime", 132, absent},
	{"utimensat", 280, 88},
	{"utimes", 235, absent},
	{"vhangup", 153, 58},
	{"write", 1, 64},
	{"_sysctl", 156, absent},
}
