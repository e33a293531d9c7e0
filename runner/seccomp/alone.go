package seccomp

// Alone makes the further program of a job that has neither mounts nor
// namespaces of its own, only landlock: it shares the machine's processes, IPC
// and file system with everything else of its account. Landlock has no say in
// what is refused here (landlock(7), LIMITATIONS; landlock_task hooks of the
// kernel): metadata of files by name, System V and POSIX IPC, notes about any
// directory, limits and priorities of other processes. Nobody holds a listener for
// such a job: what the first program leaves to one is refused here. The kernel
// takes the stricter answer of this program and of Filter's.
func Alone(a Arch) (Program, error) {
	return a.make(aloneRules(), newestReviewed+1, Allow)
}

// metadataCalls change a file that is only named, wherever it lies. By a
// descriptor (fchmod, futimens) a job can change what landlock let it open.
// Owner and attributes are refused by descriptor too: no program needs them, and
// a group of the account's could be given a file that was opened for reading.
func metadataCalls() []string {
	return []string{"chmod", "fchmodat", "fchmodat2", "chown", "lchown", "fchown", "fchownat", "utime", "utimes", "futimesat",
		"setxattr", "lsetxattr", "fsetxattr", "setxattrat", "removexattr", "lremovexattr", "fremovexattr", "removexattrat", "file_setattr"}
}

// ipcCalls reach objects of the account outside of the file system, which an IPC
// namespace would hide.
func ipcCalls() []string {
	return []string{"shmget", "shmat", "shmctl", "semget", "semop", "semtimedop", "semctl", "msgget", "msgsnd", "msgrcv", "msgctl",
		"mq_open", "mq_unlink", "mq_timedsend", "mq_timedreceive", "mq_notify", "mq_getsetattr"}
}

// watchCalls tell of changes in directories that cannot be listed.
func watchCalls() []string { return []string{"inotify_add_watch"} }

// Values of the kernel's headers for the rules below.
const (
	setFlags    = 0x40086602 // FS_IOC_SETFLAGS: attributes of a file that is open for reading
	setProject  = 0x401c5820 // FS_IOC_FSSETXATTR
	prioUser    = 2          // PRIO_USER: all processes of the account
	ioprioUser  = 3          // IOPRIO_WHO_USER
	nothingElse = 0          // "this process", where a call takes a process
)

func aloneRules() []rule {
	var all []rule
	for _, r := range toldRules(Opens{}) {
		all = append(all, rule{r.call, EPERM, r.tests})
	}
	for _, family := range [][]string{metadataCalls(), ipcCalls(), watchCalls()} {
		all = append(all, always(EPERM, family...)...)
	}
	other := func(arg uint32) []test { return []test{{arg, whole, notEqual, nothingElse}} }
	return append(all,
		rule{"utimensat", EPERM, []test{{1, whole, notEqual, 0}}}, // a path; without one the descriptor is meant
		rule{"utimensat", EPERM, []test{{1, whole, highNotEqual, 0}}},
		rule{"prlimit64", EPERM, other(0)},
		rule{"setpriority", EPERM, []test{{0, whole, equal, prioUser}}},
		rule{"setpriority", EPERM, other(1)},
		rule{"ioprio_set", EPERM, []test{{0, whole, equal, ioprioUser}}},
		rule{"ioprio_set", EPERM, other(1)},
		rule{"sched_setaffinity", EPERM, other(0)},
		rule{"sched_setattr", EPERM, other(0)},
		rule{"sched_setparam", EPERM, other(0)},
		rule{"sched_setscheduler", EPERM, other(0)},
		rule{"ioctl", EPERM, []test{{1, whole, equal, setFlags}}},
		rule{"ioctl", EPERM, []test{{1, whole, equal, setProject}}},
	)
}
