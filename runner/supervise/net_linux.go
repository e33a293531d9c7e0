package supervise

import (
	"fmt"
	"net"
	"os"

	"golang.org/x/sys/unix"

	"github.com/sbxcron/sbxcron/jobspec/record"
	"github.com/sbxcron/sbxcron/runner"
	"github.com/sbxcron/sbxcron/runner/egress"
)

// netFiles is how many descriptors a run with a network may need: two for each
// client, and some for looking names up.
const netFiles = 2*egress.MaxOpen + 128

// beginNet takes the listening sockets of a run and serves them.
func (s *server) beginNet(cfg Config, pidfd int) error {
	if cfg.Net == nil {
		return nil
	}
	listeners, err := takeListeners(pidfd, cfg.Ports)
	if err != nil {
		return err
	}
	s.net, err = egress.New(*cfg.Net, egress.Options{
		Denied: func(no *egress.Refusal) {
			s.attempts.add(Event{Code: no.Reason, Target: no.Target, Count: 1, Rule: no.Rule})
		},
		Used: func(u egress.Use) { send(answer{Used: connection(u)}) }, // where nobody hears it, the process ends soon
	})
	if err != nil {
		closeListeners(listeners)
		return err
	}
	for i, l := range listeners {
		serve := s.net.Serve
		if i > 0 {
			serve = func(l net.Listener) error { return s.net.ServeForward(l, i-1) }
		}
		s.serving.Go(func() {
			if err := serve(l); err != nil {
				s.fail(fmt.Errorf("serve port %d: %w", cfg.Ports[i], err))
			}
		})
	}
	return nil
}

// fail ends the run's service; the first reason counts.
func (s *server) fail(err error) {
	select {
	case s.failed <- err:
	default:
	}
}

// endNet ends all connections and tells what they were used for.
func (s *server) endNet() {
	if s.net != nil {
		s.net.Close()
		s.serving.Wait()
	}
}

func connection(u egress.Use) *record.Connection {
	return &record.Connection{Host: u.Target.Host(), Port: int64(u.Target.Port), Address: u.Address, Upstream: u.Upstream, Count: 1,
		BytesIn: u.In, BytesOut: u.Out, Rule: u.Rule}
}

// takeListeners copies the sockets out of the process that waits with them. Each
// must listen on its port of loopback: in the network of whoever made it.
func takeListeners(pidfd int, ports []uint16) ([]net.Listener, error) {
	var all []net.Listener
	for i, port := range ports {
		l, err := takeSocket(pidfd, runner.ListenFD+i, port)
		if err != nil {
			closeListeners(all)
			return nil, fmt.Errorf("take the socket of port %d: %w", port, err)
		}
		all = append(all, l)
	}
	return all, nil
}

func takeSocket(pidfd, number int, port uint16) (net.Listener, error) {
	fd, err := unix.PidfdGetfd(pidfd, number, 0)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), "listener")
	defer f.Close()
	if on, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_ACCEPTCONN); err != nil || on != 1 {
		return nil, fmt.Errorf("it does not listen (%v)", err)
	}
	name, err := unix.Getsockname(fd)
	if err != nil {
		return nil, err
	}
	if at, ok := name.(*unix.SockaddrInet4); !ok || at.Addr != [4]byte{127, 0, 0, 1} || at.Port != int(port) {
		return nil, fmt.Errorf("it listens elsewhere")
	}
	return net.FileListener(f)
}

func closeListeners(all []net.Listener) {
	for _, l := range all {
		l.Close()
	}
}
