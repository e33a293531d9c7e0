package seccomp

// Wish is what a job wants that makes a call which is refused and told.
type Wish uint8

// The wishes. The zero value is none: such calls are refused and not told.
const (
	NoWish     Wish = iota
	Namespaces      // to make or enter a namespace, of users in particular
	Mounts          // to change what paths mean
	Tracing         // to look into another process
	BPF             // to load a program into the kernel
	Modules         // to load code into the kernel or another one in its place
	Keyrings        // to reach keys that the kernel keeps
	Sockets         // to talk to somebody
	Machine         // to reach or change the machine itself
	wishes
)

// told are the calls that are refused and told. They wait for the answer of
// whoever holds the listener, which is EPERM always: what a job may reach is not
// decided by who answers. The first filter lets them pass for that, since the
// kernel takes the stricter of two answers and would ask nobody.
func told() []struct {
	wish  Wish
	why   string
	calls []string
} {
	return []struct {
		wish  Wish
		why   string
		calls []string
	}{
		{Namespaces, "a new user namespace has all capabilities of its own", []string{"setns"}},
		{Mounts, "mounts change what paths mean", []string{"mount", "umount2", "pivot_root", "chroot", "open_tree", "open_tree_attr",
			"move_mount", "fsopen", "fsmount", "fspick", "mount_setattr"}},
		{Tracing, "the namespace's init is another process: who traces it can stop the sandbox from ending",
			[]string{"ptrace", "process_vm_readv", "process_vm_writev", "pidfd_getfd"}},
		{BPF, "its verifier is a large part of the kernel", []string{"bpf"}},
		{Modules, "code in the kernel stands above every sandbox", []string{"init_module", "finit_module", "delete_module", "kexec_load", "kexec_file_load"}},
		{Keyrings, "keyrings of the account are no part of any namespace", []string{"add_key", "request_key", "keyctl"}},
		{Machine, "a file handle names a file of the whole file system through any mount of it", []string{"open_by_handle_at"}},
		{Machine, "clocks, logs, names, swap and ports are the machine's", []string{"syslog", "reboot", "acct", "settimeofday", "clock_settime",
			"swapon", "swapoff", "sethostname", "setdomainname", "iopl", "ioperm"}},
		{Machine, "they look at, or hold up, the kernel's own work", []string{"perf_event_open", "userfaultfd"}},
	}
}

// toldRules are the rules of told, and of calls that are told by an argument.
func toldRules(o Opens) []rule {
	var all []rule
	for _, t := range told() {
		all = append(all, always(Notify, t.calls...)...)
	}
	namespaces := []test{{0, newNamespaces | cloneNewTime, anyBit, 0}}
	all = append(all,
		rule{"unshare", Notify, namespaces},
		rule{"clone", Notify, namespaces},
		rule{"ioctl", Notify, []test{{1, whole, equal, tiocsti}}},
		rule{"ioctl", Notify, []test{{1, whole, equal, tioclinux}}})
	return append(all, socketRules(o)...)
}

// WishOf says what a call that waits for an answer wants.
func WishOf(call string) Wish {
	switch call {
	case "unshare", "clone":
		return Namespaces
	case "ioctl":
		return Machine
	case "socket", "connect":
		return Sockets
	}
	for _, t := range told() {
		for _, c := range t.calls {
			if c == call {
				return t.wish
			}
		}
	}
	return NoWish
}

// ToldCalls lists the calls that are refused and told.
func ToldCalls() []string {
	all := []string{"unshare", "clone", "ioctl", "socket"}
	for _, t := range told() {
		all = append(all, t.calls...)
	}
	return all
}

// socketRules leave the families that exist. Of IPv4 and IPv6 these are streams
// and datagrams of the usual protocols: multipath TCP is not covered by landlock.
// Local sockets are streams only: a datagram can be sent to any address that it
// names, behind a pointer where no filter looks. Where a family exists, connect
// waits for an answer too.
func socketRules(o Opens) []rule {
	family := func(op op, v uint32) test { return test{0, whole, op, v} }
	kind := func(op op, v uint32) test { return test{1, sockTypeMask, op, v} }
	var tests []test
	var all []rule
	if o.Inet {
		tests = append(tests, family(notEqual, afInet), family(notEqual, afInet6))
		for _, v := range []uint32{afInet, afInet6} {
			all = append(all, rule{"socket", Notify, []test{family(equal, v), kind(notEqual, sockStream), kind(notEqual, sockDgram)}},
				rule{"socket", Notify, []test{family(equal, v), {2, whole, notEqual, 0}, {2, whole, notEqual, protoTCP}, {2, whole, notEqual, protoUDP}}})
		}
	}
	if o.Unix {
		tests = append(tests, family(notEqual, afUnix))
		all = append(all, rule{"socket", Notify, []test{family(equal, afUnix), kind(notEqual, sockStream), kind(notEqual, sockSeqpacket)}})
	}
	if o != (Opens{}) {
		all = append(all, rule{"connect", Notify, nil})
	}
	return append(all, rule{"socket", Notify, tests})
}
