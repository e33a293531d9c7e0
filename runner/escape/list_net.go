package escape

import "github.com/sbxcron/sbxcron/jobspec"

// network reaches out by addresses.
func network() []Attempt {
	all := []Attempt{
		try("N01a", "reach a service on the host's loopback", "tcp 127.0.0.1:{tcp4}", "seccomp landlock netns", noWay).tells(jobspec.CodeNetDeniedDirect, "AF_INET").ifHeard().without(),
		try("N01b", "reach one by IPv6", "tcp [::1]:{tcp6}", "seccomp landlock netns", noWay).tells(jobspec.CodeNetDeniedDirect, "AF_INET6").ifHeard().without(),
		try("N01c", "reach one by a mapped address", "tcp [::ffff:127.0.0.1]:{tcp4}", "seccomp landlock netns", noWay).tells(jobspec.CodeNetDeniedDirect, "AF_INET6").ifHeard().without(),
		try("N01d", "reach one by the address that means any", "tcp 0.0.0.0:{tcp4}", "seccomp landlock netns", noWay).tells(jobspec.CodeNetDeniedDirect, "AF_INET").ifHeard().without(),
		try("N03a", "send a datagram", "udp 127.0.0.1:{udp4}", "seccomp netns", noWay).tells(jobspec.CodeNetDeniedDirect, "AF_INET").ifHeard().without(),
		try("N03b", "send a datagram by IPv6", "udp [::1]:{udp6}", "seccomp netns", noWay).tells(jobspec.CodeNetDeniedDirect, "AF_INET6").ifHeard().without(),
		try("N04", "send with the first packet", "fastopen 127.0.0.1:{tcp4}", "seccomp netns", noWay).tells(jobspec.CodeNetDeniedDirect, "AF_INET").ifHeard().without(),
		try("N05", "use several paths at once", "mptcp 127.0.0.1:{tcp4}", "seccomp netns", noWay).tells(jobspec.CodeNetDeniedDirect, "AF_INET").ifHeard().without(),
		try("N06a", "send raw packets", "socket 2 3 1", "seccomp outer_userns", noWay).tells(jobspec.CodeNetDeniedDirect, "AF_INET raw"),
		try("N06b", "send raw packets of IPv6", "socket 10 3 58", "seccomp outer_userns", noWay).tells(jobspec.CodeNetDeniedDirect, "AF_INET6 raw"),
		try("N06c", "read frames", "socket 17 3 0x0300", "seccomp outer_userns", noWay).tells(jobspec.CodeNetDeniedDirect, "AF_PACKET raw"),
		try("N06d", "ping", "socket 2 2 1", "seccomp kernel", noWay).tells(jobspec.CodeNetDeniedDirect, "AF_INET").without(),
		try("N15a", "reach the metadata service", "tcp 169.254.169.254:80", "seccomp netns landlock", noWay).tells(jobspec.CodeNetDeniedDirect, "AF_INET").ifHeard().outside().without(),
		try("N15b", "reach it by IPv6", "tcp [fd00:ec2::254]:80", "seccomp netns landlock", noWay).tells(jobspec.CodeNetDeniedDirect, "AF_INET6").ifHeard().outside().without(),
		try("N21b", "ask a resolver of the world", "udp 192.0.2.53:53", "seccomp netns", noWay).tells(jobspec.CodeNetDeniedDirect, "AF_INET").outside().without(),
		try("N24a", "wait for connections, on its own loopback", "listen 127.0.0.1:0", "seccomp landlock", noWay).tells(jobspec.CodeNetDeniedDirect, "AF_INET").without(),
		try("N24b", "wait for datagrams, on its own loopback", "bindudp 127.0.0.1:0", "seccomp", noWay).tells(jobspec.CodeNetDeniedDirect, "AF_INET").without(),
		try("N28", "enter the network of another process", "enterns /proc/1/ns/net", "seccomp landlock outer_userns", noWay+" EACCES"),
		try("N11a", "make a socket with bits above the low half", "socket 0x100000002 1 0", "seccomp", noWay).tells(jobspec.CodeNetDeniedDirect, "AF_INET").without(),
		try("N13d", "open XDP by its socket", "socket 44 3 0", "seccomp kernel", noWay).tells(jobspec.CodeSysDenied, "AF_44 raw"),
		try("N13a", "speak to the host of a virtual machine", "socket 40 1 0", "seccomp", noWay).tells(jobspec.CodeNetDeniedDirect, "AF_VSOCK"),
	}
	for _, f := range []struct {
		id, what, number string
		code             jobspec.Code
		target           string
	}{
		{"N12a", "routes", "16 3 0", jobspec.CodeSysDenied, "AF_NETLINK"},
		{"N12b", "the audit system", "16 3 9", jobspec.CodeSysDenied, "AF_NETLINK"},
		{"N12c", "device events", "16 2 15", jobspec.CodeSysDenied, "AF_NETLINK"},
		{"N12d", "the crypto interface", "38 5 0", jobspec.CodeSysDenied, "AF_ALG raw"},
		{"N13b", "CAN buses", "29 3 1", jobspec.CodeSysDenied, "AF_29 raw"},
		{"N13c", "Bluetooth", "31 3 1", jobspec.CodeNetDeniedDirect, "AF_BLUETOOTH raw"},
		{"N13e", "TIPC", "30 1 0", jobspec.CodeSysDenied, "AF_30"},
		{"N13f", "keys of IPsec", "15 3 2", jobspec.CodeSysDenied, "AF_15 raw"},
		{"N13g", "shared memory of SMC", "43 1 0", jobspec.CodeSysDenied, "AF_43"},
		{"N13h", "RDS", "21 5 0", jobspec.CodeSysDenied, "AF_21 raw"},
		{"N13i", "the router of modems", "42 2 0", jobspec.CodeSysDenied, "AF_42"},
		{"N13j", "kernel connections", "41 2 0", jobspec.CodeSysDenied, "AF_41"},
		{"N13k", "NFC", "39 1 0", jobspec.CodeSysDenied, "AF_39"},
		{"N13l", "X.25", "9 5 0", jobspec.CodeSysDenied, "AF_9 raw"},
		{"N13m", "AppleTalk", "5 2 0", jobspec.CodeSysDenied, "AF_5"},
		{"N13n", "phones", "35 2 0", jobspec.CodeSysDenied, "AF_35"},
		{"N13o", "MCTP", "45 2 0", jobspec.CodeSysDenied, "AF_45"},
	} {
		all = append(all, try(f.id, "open "+f.what+" by its socket", "socket "+f.number, "seccomp", noWay).tells(f.code, f.target).
			or("EAFNOSUPPORT EPROTONOSUPPORT ESOCKTNOSUPPORT"))
	}
	return all
}

// proxied are made by jobs that may reach hosts through the proxy: sockets exist,
// and lead to their own loopback only. What is asked of the proxy itself is tried
// in runner/egress and in the cases of networks.
func proxied() []Attempt {
	const nowhere = "ECONNREFUSED ENETUNREACH EACCES EPERM"
	direct := jobspec.CodeNetDeniedDirect
	all := []Attempt{
		try("N31a", "reach a service on the host's loopback, past the proxy", "tcp 127.0.0.1:{tcp4}", "netns landlock", nowhere).tells(direct, "127.0.0.1:{tcp4}").ifHeard(),
		try("N31b", "reach one by IPv6, past the proxy", "tcp [::1]:{tcp6}", "netns landlock", nowhere).tells(direct, "[::1]:{tcp6}").ifHeard(),
		try("N31c", "reach one by a mapped address, past the proxy", "tcp [::ffff:127.0.0.1]:{tcp4}", "netns landlock", nowhere).tells(direct, "127.0.0.1:{tcp4}").ifHeard(),
		try("N31d", "reach one by the address that means any, past the proxy", "tcp 0.0.0.0:{tcp4}", "netns landlock", nowhere).tells(direct, "0.0.0.0:{tcp4}").ifHeard(),
		try("N33a", "send a datagram to its own loopback", "udp 127.0.0.1:{udp4}", "netns", nowhere+" ok").ifHeard(),
		try("N33b", "send one by IPv6", "udp [::1]:{udp6}", "netns", nowhere+" ok").ifHeard(),
		try("N34", "send with the first packet, past the proxy", "fastopen 127.0.0.1:{tcp4}", "netns", nowhere).ifHeard(),
		try("N35", "use several paths at once, past the proxy", "mptcp 127.0.0.1:{tcp4}", "seccomp netns", "EPERM").tells(direct, "AF_INET").ifHeard(),
		try("N36", "ping, past the proxy", "socket 2 2 1", "seccomp kernel", "EPERM").tells(direct, "AF_INET"),
		try("N37a", "reach the metadata service, past the proxy", "tcp 169.254.169.254:80", "netns landlock", nowhere).tells(direct, "169.254.169.254:80").ifHeard(),
		try("N37b", "reach it by IPv6, past the proxy", "tcp [fd00:ec2::254]:80", "netns landlock", nowhere).tells(direct, "[fd00:ec2::254]:80").ifHeard(),
		try("N38", "ask a resolver of the world, past the proxy", "udp 192.0.2.53:53", "netns", nowhere).tells(direct, "192.0.2.53:53").ifHeard(),
		try("N40", "connect an end of a pair elsewhere, past the proxy", "pairconnect {shown}/sock", "kernel seccomp", "EISCONN EINVAL EACCES EPERM").tells(jobspec.CodeEscUnixSocket, "{shown}/sock").ifHeard(),
		try("N39", "wait for connections", "listen 127.0.0.1:0", "landlock", "EACCES"),
	}
	for i := range all {
		all[i] = all[i].behind().outside()
	}
	return all
}

// localSockets reach out by names.
func localSockets() []Attempt {
	return []Attempt{
		try("N07a", "reach an abstract socket of the host", "unix 1 @{abstract}", "seccomp netns landlock", noWay).tells(jobspec.CodeEscUnixSocket, "AF_UNIX").ifHeard(),
		try("N07b", "send to an abstract socket", "unix 2 @{abstractdgram}", "seccomp netns landlock", noWay).tells(jobspec.CodeEscUnixSocket, "AF_UNIX").ifHeard(),
		try("N08a", "reach a socket that is shown", "unix 1 {shown}/sock", "seccomp", noWay).tells(jobspec.CodeEscUnixSocket, "AF_UNIX").ifHeard(),
		try("N08b", "send to a socket that is shown", "unix 2 {shown}/dgram", "seccomp", noWay).tells(jobspec.CodeEscUnixSocket, "AF_UNIX").ifHeard(),
		try("N08c", "reach a socket that is not shown", "unix 1 {outside}/sock", "seccomp view", noWay).tells(jobspec.CodeEscUnixSocket, "AF_UNIX").ifHeard(),
		try("N08d", "reach docker", "unix 1 /var/run/docker.sock", "seccomp view", noWay).tells(jobspec.CodeEscUnixSocket, "AF_UNIX").ifHeard().ifThere(),
		try("N08e", "reach D-Bus", "unix 1 /run/dbus/system_bus_socket", "seccomp view", noWay).tells(jobspec.CodeEscUnixSocket, "AF_UNIX").ifHeard().ifThere(),
		try("N08f", "reach systemd", "unix 1 /run/systemd/private", "seccomp view", noWay).tells(jobspec.CodeEscUnixSocket, "AF_UNIX").ifHeard().ifThere(),
		try("N08g", "reach the X server", "unix 1 /tmp/.X11-unix/X0", "seccomp view", noWay).tells(jobspec.CodeEscUnixSocket, "AF_UNIX").ifHeard().ifThere(),
		try("N08h", "reach the service", "unix 1 {run}/socket", "seccomp view", noWay).tells(jobspec.CodeEscUnixSocket, "AF_UNIX").ifHeard(),
		try("N10a", "send from a pair of datagram sockets", "pairsend {shown}/dgram", "seccomp", noWay).ifHeard(),
		try("N10b", "connect an end of a pair elsewhere", "pairconnect {shown}/sock", "kernel", "EISCONN EINVAL EACCES EPERM").ifHeard().without(),
		try("N10c", "listen on an end of a pair", "pairlisten", "kernel", "EINVAL EOPNOTSUPP"),
		try("N10d", "send to a name from a connected pair", "pairsendto {shown}/sock", "kernel", "EISCONN EINVAL"),
		try("N10e", "make a pair of another family", "call socketpair 30 1 0 buf", "seccomp", noWay).or("EAFNOSUPPORT EOPNOTSUPP"),
		try("Z20a", "attach shared memory of the host", "call shmat {shm} 0 0", "ipcns", "EINVAL EIDRM"),
		try("Z20c", "change a semaphore of the host", "call semctl {sem} 0 16 7", "ipcns", "EINVAL EIDRM"),
		try("Z20d", "read a message of the host", "call msgrcv {msg} buf 64 0 0x800", "ipcns", "EINVAL EIDRM"),
		try("Z20e", "find shared memory by its key", "call shmget {shmkey} 0 0", "ipcns", "ENOENT"),
		try("Z20b", "remove shared memory of the host", "call shmctl {shm} 0 0", "ipcns", "EINVAL EIDRM"),
	}
}

// limits are for what a job could use up.
func limits() []Attempt {
	return []Attempt{
		try("F28a", "fill the private /tmp", "fill /tmp 4194304", "sizes", "ENOSPC"),
		try("F28b", "fill the private home", "fill /home/job 4194304", "sizes", "ENOSPC"),
		try("F28c", "fill the private shared memory", "fill /dev/shm 4194304", "sizes", "ENOSPC"),
		try("F28d", "fill the root", "fill / 4194304", "read_only landlock", ro),
		try("F28e", "fill /dev", "fill /dev 4194304", "read_only landlock", ro),
		try("Z16", "write a very large file", "large /tmp/large 67108864", "rlimits", "EFBIG"),
		try("Z19", "open very many files", "opens 5000", "rlimits", "EMFILE"),
	}
}
