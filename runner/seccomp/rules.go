package seccomp

// rule says what becomes of one system call. Without tests the action always
// holds; with tests it holds when all of them do.
type rule struct {
	call   string
	action Action
	tests  []test
}

// test compares the low 32 bits of an argument, but where the comparison says
// otherwise: (arg & mask) op value.
type test struct {
	arg   uint32
	mask  uint32
	op    op
	value uint32
}

type op uint8

// The comparisons. The zero value is none of them.
const (
	_ op = iota
	equal
	notEqual
	anyBit       // arg & mask != 0; value is not used
	highNotEqual // like notEqual, of the high 32 bits: both together compare a pointer
)

const whole = 0xffffffff

// Values from the kernel's headers that tests compare with.
const (
	newNamespaces = 0x7e020000 // CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET
	cloneNewTime  = 0x80       // shares its bit with the exit signal, where no signal uses it
	setIDBits     = 06000      // S_ISUID and S_ISGID
	createFlags   = 0x40 | 0x400000
	tiocsti       = 0x5412 // types into the terminal of whoever reads it next
	tioclinux     = 0x541c // pastes into a console
	afUnix        = 1
	afInet        = 2
	afInet6       = 10
	protoTCP      = 6
	protoUDP      = 17
	sockStream    = 1
	sockDgram     = 2
	sockSeqpacket = 5
	sockTypeMask  = 0xf
	queryPersona  = 0xffffffff // personality(2): only asks
)

// rules is the whole filter as data, in the order of the program.
func rules(o Opens) []rule {
	var all []rule
	all = append(all, always(ENOSYS, absentCalls()...)...)
	for _, family := range [][]string{mountCalls(), namespaceCalls(), kernelCalls(), processCalls(), memoryCalls()} {
		all = append(all, always(EPERM, family...)...)
	}
	all = append(all, socketRules(o)...)
	all = append(all, argumentRules()...)
	return append(all, setIDRules()...)
}

func always(a Action, calls ...string) []rule {
	var all []rule
	for _, c := range calls {
		all = append(all, rule{call: c, action: a})
	}
	return all
}

// absentCalls take their arguments behind a pointer, where a filter cannot
// look, or do the work of other calls unseen; libraries fall back to the older
// call when they get ENOSYS.
func absentCalls() []string {
	return []string{"clone3", "openat2", "io_uring_setup", "io_uring_enter", "io_uring_register"}
}

// mountCalls change what paths mean. File handles are here because they name a
// file of the whole file system through any mount of it.
func mountCalls() []string {
	return []string{"mount", "umount2", "pivot_root", "chroot", "open_tree", "open_tree_attr", "move_mount", "fsopen",
		"fsconfig", "fsmount", "fspick", "mount_setattr", "open_by_handle_at", "name_to_handle_at", "sysfs", "ustat",
		"quotactl", "quotactl_fd", "swapon", "swapoff", "fanotify_init"}
}

func namespaceCalls() []string {
	return []string{"unshare", "setns", "listns", "sethostname", "setdomainname"}
}

// kernelCalls reach the kernel itself: code, keys, logs, clocks.
func kernelCalls() []string {
	return []string{"bpf", "perf_event_open", "add_key", "request_key", "keyctl", "init_module", "finit_module",
		"delete_module", "create_module", "query_module", "get_kernel_syms", "kexec_load", "kexec_file_load", "syslog",
		"reboot", "acct", "vhangup", "settimeofday", "clock_settime", "clock_adjtime", "adjtimex", "iopl", "ioperm",
		"modify_ldt", "lookup_dcookie", "nfsservctl", "_sysctl", "uselib"}
}

// processCalls look into other processes. The namespace's init is one of them
// and must not be reachable: whoever traces it can stop the sandbox from ending.
func processCalls() []string {
	return []string{"ptrace", "process_vm_readv", "process_vm_writev", "process_madvise", "kcmp", "pidfd_getfd"}
}

func memoryCalls() []string {
	return []string{"userfaultfd", "memfd_secret", "mbind", "set_mempolicy", "set_mempolicy_home_node", "get_mempolicy",
		"migrate_pages", "move_pages"}
}

// socketRules leave the families that exist. Of IPv4 and IPv6 these are streams
// and datagrams of the usual protocols: multipath TCP is not covered by landlock.
// Local sockets are streams only: a datagram can be sent to any address that it
// names, behind a pointer where no filter looks.
func socketRules(o Opens) []rule {
	family := func(op op, v uint32) test { return test{0, whole, op, v} }
	kind := func(op op, v uint32) test { return test{1, sockTypeMask, op, v} }
	tests := []test{}
	var all []rule
	if o.Inet {
		tests = append(tests, family(notEqual, afInet), family(notEqual, afInet6))
		for _, v := range []uint32{afInet, afInet6} {
			all = append(all, rule{"socket", EPERM, []test{family(equal, v), kind(notEqual, sockStream), kind(notEqual, sockDgram)}},
				rule{"socket", EPERM, []test{family(equal, v), {2, whole, notEqual, 0}, {2, whole, notEqual, protoTCP}, {2, whole, notEqual, protoUDP}}})
		}
	}
	if o.Unix {
		tests = append(tests, family(notEqual, afUnix))
		all = append(all, rule{"socket", EPERM, []test{family(equal, afUnix), kind(notEqual, sockStream), kind(notEqual, sockSeqpacket)}})
	}
	return append(all, rule{"socket", EPERM, tests})
}

// argumentRules look at flags. socketpair makes connected local pairs only: a
// datagram socket could still send to any address that it names.
func argumentRules() []rule {
	return []rule{
		{"clone", EPERM, []test{{0, newNamespaces | cloneNewTime, anyBit, 0}}},
		{"socketpair", EPERM, []test{{0, whole, notEqual, afUnix}}},
		{"socketpair", EPERM, []test{{1, sockTypeMask, notEqual, sockStream}, {1, sockTypeMask, notEqual, sockSeqpacket}}},
		{"ioctl", EPERM, []test{{1, whole, equal, tiocsti}}},
		{"ioctl", EPERM, []test{{1, whole, equal, tioclinux}}},
		{"personality", EPERM, []test{{0, whole, notEqual, queryPersona}}},
	}
}

// setIDRules keep a job from leaving a set-id file in a directory that others
// see: inside it is inert (nosuid, no_new_privs), on the host it would not be.
// open and openat read their mode only when they may create.
func setIDRules() []rule {
	mode := func(arg uint32) test { return test{arg, setIDBits, anyBit, 0} }
	create := func(arg uint32) test { return test{arg, createFlags, anyBit, 0} }
	return []rule{
		{"chmod", EPERM, []test{mode(1)}},
		{"fchmod", EPERM, []test{mode(1)}},
		{"fchmodat", EPERM, []test{mode(2)}},
		{"fchmodat2", EPERM, []test{mode(2)}},
		{"mkdir", EPERM, []test{mode(1)}},
		{"mkdirat", EPERM, []test{mode(2)}},
		{"mknod", EPERM, []test{mode(1)}},
		{"mknodat", EPERM, []test{mode(2)}},
		{"creat", EPERM, []test{mode(1)}},
		{"open", EPERM, []test{create(1), mode(2)}},
		{"openat", EPERM, []test{create(2), mode(3)}},
	}
}
