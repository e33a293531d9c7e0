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
	afPacket      = 17
	protoTCP      = 6
	protoUDP      = 17
	sockStream    = 1
	sockDgram     = 2
	sockSeqpacket = 5
	sockTypeMask  = 0xf
	queryPersona  = 0xffffffff // personality(2): only asks
)

// rules is the whole first filter as data, in the order of the program.
func rules() []rule {
	all := always(ENOSYS, absentCalls()...)
	all = append(all, always(EPERM, staticCalls()...)...)
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

// staticCalls are refused by the first filter alone and told to nobody. Each has
// a reason why its attempt says nothing of the job: the rest is in told.go.
func staticCalls() []string {
	var all []string
	for _, s := range []struct {
		why   string
		calls []string
	}{
		{"works on what another call must have given, which is refused and told", []string{"fsconfig", "set_mempolicy_home_node", "listns"}},
		{"libraries ask it about files and memory that they have, and go on without an answer", []string{"name_to_handle_at",
			"get_mempolicy", "set_mempolicy", "mbind", "migrate_pages", "move_pages", "kcmp", "process_madvise", "memfd_secret", "modify_ldt"}},
		{"programs call it to read a state, which is refused too", []string{"quotactl", "quotactl_fd", "adjtimex", "clock_adjtime", "fanotify_init", "lookup_dcookie", "ustat", "sysfs"}},
		{"the kernel does not have it any more, or not for a process without a terminal", []string{"create_module", "query_module",
			"get_kernel_syms", "nfsservctl", "_sysctl", "uselib", "vhangup"}},
	} {
		all = append(all, s.calls...)
	}
	return all
}

// argumentRules look at flags, and tell nobody: such calls reach nobody else. socketpair makes connected local pairs only: a
// datagram socket could still send to any address that it names.
func argumentRules() []rule {
	return []rule{
		{"unshare", EPERM, []test{{0, newNamespaces | cloneNewTime, equal, 0}}}, // of files and the like, among threads
		{"socketpair", EPERM, []test{{0, whole, notEqual, afUnix}}},
		{"socketpair", EPERM, []test{{1, sockTypeMask, notEqual, sockStream}, {1, sockTypeMask, notEqual, sockSeqpacket}}},
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
