package escape

import "github.com/sbxcron/sbxcron/jobspec"

// secrets are what a job would like to read.
func secrets() []Attempt {
	return []Attempt{
		try("R02a", "read a secret of another folder", "read {outside}/secret", "view landlock", absent),
		try("R02b", "read it through /proc/self/root", "read /proc/self/root{outside}/secret", "view landlock", absent),
		try("R02c", "read it by way of the parent of the cwd", "read {work}/../outside/secret", "view landlock", absent).in(jobspec.ReadOnly, jobspec.Workspace),
		try("R02d", "list a folder that is not shown", "list {outside}", "view", absent),
		try("R02e", "learn whether it exists", "stat {outside}/secret", "view", "ENOENT"),
		try("R03a", "read the passwords", "read /etc/shadow", "view uid", absent),
		try("R03b", "read who may use sudo", "read /etc/sudoers", "view uid", absent),
		try("R03c", "list the host's keys", "list /etc/ssh", "view", absent),
		try("R03d", "list private keys of TLS", "list /etc/ssl/private", "view uid", absent),
		try("R03e", "learn who has an account", "contains /etc/passwd root:", "view", "none"),
		try("R05a", "find a variable of the service in its environment", "environment {variable}", "environment", "none"),
		try("R05b", "find it in that of the first process", "contains /proc/1/environ {variable}", "environment landlock pidns", "none EACCES EPERM"),
		try("R05c", "find it in that of any process", "anyenviron {variable}", "environment", "none"),
		try("R06", "learn paths of the host from the first process", "contains /proc/1/cmdline {stage}", "kernel", "none EACCES EPERM"),
		try("R07a", "list the root's home", "list /root", "view landlock uid", absent),
		try("R07b", "learn whether a home exists", "stat {home}", "view", "ENOENT"),
		try("R07c", "list the logs", "list /var/log", "view", absent),
		try("R07d", "list what boots", "list /boot", "view", absent),
		try("R07e", "list what runs", "list /run", "view", absent),
		try("R08a", "read a key of the service by its number", "call keyctl 11 {key} buf 64", "seccomp", noWay).tells(jobspec.CodeEscKeyctl, "keyctl").or("ENOKEY"),
		try("R08b", "ask for a key by its name", "call request_key user sbxcron-escape 0 -3", "seccomp", noWay).tells(jobspec.CodeEscKeyctl, "request_key").or("ENOKEY"),
		try("R08c", "link the user's keys into its own", "call keyctl 8 -4 -3", "seccomp", noWay).tells(jobspec.CodeEscKeyctl, "keyctl"),
		try("R08d", "keep a key of its own", "call add_key user x buf 1 -4", "seccomp", noWay).tells(jobspec.CodeEscKeyctl, "add_key"),
		try("R09a", "read the list of keys", "read /proc/keys", "masks", "EACCES ENOENT"),
		try("R09b", "read addresses of the kernel", "read /proc/kallsyms", "masks", "EACCES ENOENT"),
		try("R09c", "read the list of timers", "read /proc/timer_list", "masks uid", "EACCES ENOENT"),
		try("R09d", "read memory by /proc/kcore", "read /proc/kcore", "masks uid", "EACCES ENOENT EPERM"),
		try("R09e", "read how many keys others have", "read /proc/key-users", "masks", "EACCES ENOENT"),
		try("R09f", "list network devices of the host", "list /sys/class/net", "view", absent),
		try("R12", "leave a crash to a handler of the host", "limitis 4 1", "rlimits", "same"),
		try("R14", "read shared memory of the host", "read /dev/shm/{shmfile}", "view", "ENOENT"),
		try("R17a", "read from a terminal", "isatty 0", "no_tty", "ENOTTY"),
		try("R17b", "write to a terminal", "isatty 2", "no_tty", "ENOTTY"),
	}
}

// processes look into other processes.
func processes() []Attempt {
	return []Attempt{
		try("P07a", "trace a process of the host", "call ptrace 0x4206 {pid} 0 0", "seccomp pidns", noWay).tells(jobspec.CodeEscPtrace, "ptrace seize"),
		try("P07b", "read its memory", "readmemory {pid}", "seccomp pidns", noWay).tells(jobspec.CodeEscPtrace, "process_vm_readv"),
		try("P07c", "write its memory", "writememory {pid}", "seccomp pidns", noWay).tells(jobspec.CodeEscPtrace, "process_vm_writev"),
		try("P07d", "hold it", "call pidfd_open {pid} 0", "pidns", "ESRCH EINVAL"),
		try("P07e", "signal it", "call kill {pid} 0", "pidns landlock", "ESRCH EPERM"),
		try("P07f", "signal it by a thread", "call tgkill {pid} {pid} 0", "pidns landlock", "ESRCH EPERM"),
		try("P07g", "read its environment", "read /proc/{pid}/environ", "pidns landlock", "ENOENT EACCES"),
		try("P07h", "change its limits", "call prlimit64 {pid} 7 0 buf", "pidns", "ESRCH EPERM"),
		try("P07i", "compare its descriptors", "call kcmp {pid} {pid} 0 0 0", "seccomp pidns", noWay),
		try("P07j", "move it to another processor", "call sched_setaffinity {pid} 8 one", "pidns", "ESRCH EPERM"),
		try("P07k", "see any process of the host", "strangers", "pidns", "none"),
		try("P08a", "attach to the first process", "attach 1", "seccomp landlock", noWay).tells(jobspec.CodeEscPtrace, "ptrace attach"),
		try("P08b", "seize the first process", "call ptrace 0x4206 1 0 0", "seccomp landlock", noWay).tells(jobspec.CodeEscPtrace, "ptrace seize"),
		try("P08c", "take a descriptor of the first process", "stealfd 1", "seccomp landlock", noWay).tells(jobspec.CodeEscPtrace, "pidfd_getfd"),
		try("P08d", "read memory of the first process", "readmemory 1", "seccomp landlock", noWay).tells(jobspec.CodeEscPtrace, "process_vm_readv"),
		try("P08e", "open memory of the first process", "read /proc/1/mem", "landlock", "EACCES EPERM").or("EIO"),
		try("P08f", "open what the first process has open", "read /proc/1/fd/0", "landlock", "EACCES EPERM"),
		try("P08j", "learn what the first process has open", "readlink /proc/1/fd/0", "landlock", "EACCES EPERM"),
		try("P08k", "learn the layout of its memory", "read /proc/1/maps", "landlock", "EACCES EPERM"),
		try("P08g", "advise about memory of the first process", "processmadvise 1", "seccomp landlock kernel", noWay),
		try("P08i", "trace its own parent", "call ptrace 0x4206 {parent} 0 0", "seccomp", noWay).tells(jobspec.CodeEscPtrace, "ptrace seize"),
	}
}

// terminals belong to people.
func terminals() []Attempt {
	return []Attempt{
		try("T01a", "type into the terminal", "ioctl 0 0x5412 buf", "seccomp no_tty", noWay).tells(jobspec.CodeSysDenied, "ioctl TIOCSTI"),
		try("T01b", "type into it, with bits above the low half", "ioctl 0 0x100005412 buf", "seccomp no_tty", noWay).tells(jobspec.CodeSysDenied, "ioctl TIOCSTI"),
		try("T01c", "paste into a console", "ioctl 0 0x541c buf", "seccomp no_tty", noWay).tells(jobspec.CodeSysDenied, "ioctl TIOCLINUX"),
		try("T01d", "type into a terminal of its own making", "ptytype", "seccomp kernel", noWay).tells(jobspec.CodeSysDenied, "ioctl TIOCSTI"),
		try("T04", "open the terminal", "openrw /dev/tty", "no_tty", "ENXIO").tells(jobspec.CodeAskTTY, "/dev/tty"),
		try("T05a", "open a terminal of the host", "openrw /dev/pts/0", "view uid", absent),
		try("T05b", "open the console", "openrw /dev/console", "view uid", absent+" EROFS").tells(jobspec.CodeFsDeniedDevice, "/dev/console"),
		try("T05c", "open the first virtual console", "openrw /dev/tty1", "view uid", absent),
		try("T05d", "read the screen of a console", "read /dev/vcs1", "view uid", absent),
	}
}

// ourselves are sbxcron's own files and doors.
func ourselves() []Attempt {
	return []Attempt{
		try("S01a", "read the chain", "read {state}/chain.db", "view landlock", absent),
		try("S01b", "write to the chain", "append {state}/chain.db", "view landlock", absent),
		try("S01c", "list the ledger", "list {state}/ledger", "view", absent),
		try("S01d", "list outputs of runs", "list {state}/output", "view", absent),
		try("S01e", "move the pin", "append {conf}/pin", "view landlock", absent),
		try("S01f", "read the audit key", "read {conf}/audit_key", "view landlock", absent),
		try("S01g", "add a signer", "append {conf}/allowed_signers", "view landlock", absent),
		try("S01h", "widen the policy", "append {conf}/policy.toml", "view landlock", absent),
		try("S01i", "list the folder of the service", "list {conf}", "view", absent),
		try("S01j", "make a file in STATE", "create {state}/new", "view landlock", absent),
		try("S02", "lock the store", "flock {state}/lock", "view landlock", absent),
		try("S05a", "write to the sandbox program", "append /usr/bin/bwrap", "read_only landlock uid", ro),
		try("S05b", "rename the sandbox program", "rename /usr/bin/bwrap /usr/bin/bwrap2", "read_only landlock uid", barred),
		try("S05c", "read the stub", "read /.sbxcron/stub", "landlock", "EACCES"),
		try("S05d", "run the stub", "exec /.sbxcron/stub", "landlock", "EACCES").or("exit125"),
		try("S05e", "read what shims tell", "read /.sbxcron/events", "landlock kernel", "EACCES"),
		try("S05f", "remove the pipe that shims tell through", "unlink /.sbxcron/events", "read_only landlock kernel", barred),
		try("S05g", "put another program over a shim", "create /.sbxcron/bin/evil", "read_only landlock", ro),
		try("S05h", "change the shim", "append /.sbxcron/shim", "read_only landlock kernel", ro),
		try("S06a", "leave a start-up file in the account's home", "create {home}/.sbxcron-escape", "view landlock", absent),
		try("S06b", "leave a unit for the user's systemd", "create {home}/.config/systemd/user/sbxcron-escape.service", "view landlock", absent),
		try("S06c", "leave a crontab", "create /var/spool/cron/crontabs/sbxcron-escape", "view landlock uid", absent),
		try("S12", "say something on the stub's pipe", "writefd 4", "fds", "EBADF"),
		try("S13", "say something on the barrier", "writefd 5", "fds kernel", "EBADF"),
		try("S14a", "become root by sudo", "run sudo -n true", "shims no_new_privs", "exit1").tells(jobspec.CodeEscSudo, "sudo -n true"),
		try("S14b", "become root by su", "run su -c true", "shims no_new_privs", "exit1").tells(jobspec.CodeEscSu, "su -c true"),
		try("S14c", "become root by pkexec", "run pkexec true", "shims no_new_privs", "exit127").tells(jobspec.CodeEscPkexec, "pkexec true"),
		try("S14d", "become root by doas", "run doas true", "shims no_new_privs", "exit1").tells(jobspec.CodeEscDoas, "doas true"),
		try("S14e", "become root by run0", "run run0 true", "shims no_new_privs", "exit1").tells(jobspec.CodeEscRun0, "run0 true"),
		try("S15a", "plan another job by crontab", "run crontab -", "shims view", "exit1").tells(jobspec.CodeEscScheduler, "crontab -"),
		try("S15b", "start a unit", "run systemd-run true", "shims seccomp", "exit1").tells(jobspec.CodeEscScheduler, "systemd-run true"),
		try("S16", "outlive the run", "daemonise {mark}", "pidns", "ok").ifHeard(),
	}
}
