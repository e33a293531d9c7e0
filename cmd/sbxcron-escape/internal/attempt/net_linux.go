package attempt

import (
	"errors"
	"net/netip"
	"strings"

	"golang.org/x/sys/unix"
)

const mptcp = 262 // IPPROTO_MPTCP

// netVerbs make sockets and use them.
func netVerbs() map[string]verb {
	return map[string]verb{
		"socket":      openSocket,
		"tcp":         func(w *worker, a []string) error { return w.reach(unix.SOCK_STREAM, 0, a[0]) },
		"mptcp":       func(w *worker, a []string) error { return w.reach(unix.SOCK_STREAM, mptcp, a[0]) },
		"udp":         func(w *worker, a []string) error { return w.reach(unix.SOCK_DGRAM, 0, a[0]) },
		"fastopen":    fastOpen,
		"listen":      func(_ *worker, a []string) error { return serve(unix.SOCK_STREAM, a[0]) },
		"bindudp":     func(_ *worker, a []string) error { return serve(unix.SOCK_DGRAM, a[0]) },
		"unix":        local,
		"pairsend":    func(w *worker, a []string) error { return w.pair(unix.SOCK_DGRAM, sendTo(w, a[0])) },
		"pairsendto":  func(w *worker, a []string) error { return w.pair(unix.SOCK_STREAM, sendTo(w, a[0])) },
		"pairconnect": func(w *worker, a []string) error { return w.pair(unix.SOCK_STREAM, w.connectTo(a[0])) },
		"pairlisten": func(w *worker, _ []string) error {
			return w.pair(unix.SOCK_STREAM, func(fd int) error { return unix.Listen(fd, 1) })
		},
	}
}

func openSocket(_ *worker, a []string) error {
	fd, err := raw(unix.SYS_SOCKET, number(a[0]), number(a[1])|unix.SOCK_CLOEXEC, number(a[2]))
	if err != nil {
		return err
	}
	return unix.Close(fd)
}

func family(text string) (int, unix.Sockaddr, error) {
	a, err := netip.ParseAddrPort(text)
	if err != nil {
		return 0, nil, err
	}
	if a.Addr().Is4() {
		return unix.AF_INET, &unix.SockaddrInet4{Port: int(a.Port()), Addr: a.Addr().As4()}, nil
	}
	return unix.AF_INET6, &unix.SockaddrInet6{Port: int(a.Port()), Addr: a.Addr().As16()}, nil
}

// bounded makes a socket whose calls take a second at most.
func bounded(fam, kind, proto int) (int, error) {
	fd, err := unix.Socket(fam, kind|unix.SOCK_CLOEXEC, proto)
	if err != nil {
		return -1, err
	}
	second := unix.Timeval{Sec: 1}
	return fd, errors.Join(unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_SNDTIMEO, &second), unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &second))
}

// reach connects to an address and says the attempt's line there.
func (w *worker) reach(kind, proto int, text string) error {
	fam, to, err := family(text)
	if err != nil {
		return err
	}
	fd, err := bounded(fam, kind, proto)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return w.speak(fd, to)
}

func (w *worker) speak(fd int, to unix.Sockaddr) error {
	if err := unix.Connect(fd, to); err != nil {
		return err
	}
	_, err := unix.Write(fd, w.line())
	return err
}

func fastOpen(w *worker, a []string) error {
	fam, to, err := family(a[0])
	if err != nil {
		return err
	}
	fd, err := bounded(fam, unix.SOCK_STREAM, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return unix.Sendto(fd, w.line(), unix.MSG_FASTOPEN|unix.MSG_NOSIGNAL, to)
}

func serve(kind int, text string) error {
	fam, at, err := family(text)
	if err != nil {
		return err
	}
	fd, err := bounded(fam, kind, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if err := unix.Bind(fd, at); err != nil || kind == unix.SOCK_DGRAM {
		return err
	}
	return unix.Listen(fd, 1)
}

// local connects to a name, of an abstract socket if it begins with @.
func local(w *worker, a []string) error {
	fd, err := bounded(unix.AF_UNIX, int(number(a[0])), 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return w.speak(fd, place(a[1]))
}

func place(name string) unix.Sockaddr {
	if abstract, is := strings.CutPrefix(name, "@"); is {
		return &unix.SockaddrUnix{Name: "@" + abstract}
	}
	return &unix.SockaddrUnix{Name: name}
}

// pair does something with an end of a connected pair.
func (w *worker) pair(kind int, f func(fd int) error) error {
	fds, err := unix.Socketpair(unix.AF_UNIX, kind|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fds[0])
	defer unix.Close(fds[1])
	return f(fds[0])
}

func sendTo(w *worker, name string) func(int) error {
	return func(fd int) error { return unix.Sendto(fd, w.line(), unix.MSG_NOSIGNAL, place(name)) }
}

func (w *worker) connectTo(name string) func(int) error {
	return func(fd int) error { return w.speak(fd, place(name)) }
}
