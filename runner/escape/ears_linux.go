package escape

import (
	"bufio"
	"bytes"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// ears listen outside. What reaches them says which attempt it is.
type ears struct {
	mu      sync.Mutex
	said    map[string]bool
	closers []func() error
	wait    sync.WaitGroup
}

// open makes every listener. Connections and datagrams begin with the id of the
// attempt and a line feed.
func (e *ears) open(s *Stage) error {
	e.said = map[string]bool{}
	name := filepath.Base(s.Dir)
	s.targets["abstract"], s.targets["abstractdgram"] = name, name+"-dgram"
	if s.targets["run"] == s.outside+"/run" { // the look-alike
		if err := e.stream(s, "unix", s.outside+"/run/socket", ""); err != nil {
			return err
		}
	}
	for _, l := range []struct{ network, address, target string }{
		{"tcp4", "127.0.0.1:0", "tcp4"}, {"tcp6", "[::1]:0", "tcp6"}, {"unix", "@" + name, ""}, {"unix", s.Shown + "/sock", ""},
		{"unix", s.outside + "/sock", ""}} {
		if err := e.stream(s, l.network, l.address, l.target); err != nil {
			return err
		}
	}
	for _, l := range []struct{ network, address, target string }{
		{"udp4", "127.0.0.1:0", "udp4"}, {"udp6", "[::1]:0", "udp6"}, {"unixgram", "@" + name + "-dgram", ""}, {"unixgram", s.Shown + "/dgram", ""}} {
		if err := e.packet(s, l.network, l.address, l.target); err != nil {
			return err
		}
	}
	for _, dir := range []string{s.Shown, s.outside} {
		if err := e.fifo(dir + "/fifo"); err != nil {
			return err
		}
	}
	return nil
}

// port notes the port of a listener; a machine without IPv6 has port 1 there,
// where nobody listens.
func port(s *Stage, target string, a net.Addr) {
	_, p, err := net.SplitHostPort(a.String())
	if target != "" && err == nil {
		s.targets[target] = p
	}
}

func (e *ears) stream(s *Stage, network, address, target string) error {
	l, err := net.Listen(network, address)
	if noIPv6(network, err) {
		s.targets[target] = "1"
		return nil
	}
	if err != nil {
		return err
	}
	if strings.HasPrefix(address, "/") {
		err = os.Chmod(address, 0o777)
	}
	port(s, target, l.Addr())
	e.closers = append(e.closers, l.Close)
	e.wait.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			e.note("a connection to " + address)
			e.wait.Go(func() {
				defer c.Close()
				if c.SetDeadline(time.Now().Add(time.Second)) == nil {
					line, _ := bufio.NewReader(c).ReadString('\n') // what came before an error counts
					e.note(strings.TrimSpace(line))
				}
			})
		}
	})
	return err
}

func (e *ears) packet(s *Stage, network, address, target string) error {
	c, err := net.ListenPacket(network, address)
	if noIPv6(network, err) {
		s.targets[target] = "1"
		return nil
	}
	if err != nil {
		return err
	}
	if strings.HasPrefix(address, "/") {
		err = os.Chmod(address, 0o777)
	}
	port(s, target, c.LocalAddr())
	e.closers = append(e.closers, c.Close)
	e.wait.Go(func() {
		for buf := make([]byte, 256); ; {
			n, _, err := c.ReadFrom(buf)
			if err != nil {
				return
			}
			e.note(strings.TrimSpace(string(buf[:n])))
		}
	})
	return err
}

func noIPv6(network string, err error) bool {
	return strings.HasSuffix(network, "6") && (errors.Is(err, unix.EADDRNOTAVAIL) || errors.Is(err, unix.EAFNOSUPPORT))
}

// fifo reads a pipe. It is open for writing here too, so that it never ends.
func (e *ears) fifo(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR|unix.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	e.closers = append(e.closers, f.Close)
	e.wait.Go(func() {
		for r := bufio.NewReader(f); ; {
			line, err := r.ReadString('\n')
			if err != nil {
				return
			}
			e.note(strings.TrimSpace(line))
		}
	})
	return nil
}

func (e *ears) note(id string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.said[id] = true
}

// heard is what was said so far. Datagrams and connections of a run that is over
// have arrived; a moment is left for the goroutines that read them.
func (e *ears) heard() map[string]bool {
	time.Sleep(20 * time.Millisecond)
	e.mu.Lock()
	defer e.mu.Unlock()
	all := map[string]bool{}
	for id := range e.said {
		all[id] = true
	}
	return all
}

func (e *ears) close() {
	for _, f := range e.closers {
		_ = f() // it ends the goroutine either way
	}
	e.wait.Wait()
	e.closers = nil
}

// runs reports whether a process of the host has word among its arguments.
func runs(word string) (bool, error) {
	list, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		return false, err
	}
	for _, name := range list {
		if b, err := os.ReadFile(name); err == nil && bytes.Contains(b, []byte(word)) {
			return true, nil
		}
	}
	return false, nil
}
