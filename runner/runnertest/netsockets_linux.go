package runnertest

import (
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/record"
)

// listener is a local socket of the host that answers "hello" to everybody.
func listener(path string) (io.Closer, error) {
	s, err := net.Listen("unix", path)
	if err != nil {
		return nil, err
	}
	go func() {
		for {
			c, err := s.Accept()
			if err != nil {
				return
			}
			io.WriteString(c, "hello\n")
			c.Close()
		}
	}()
	return s, nil
}

const talk = `
import socket, sys, errno
for path in sys.argv[1:]:
    try:
        s = socket.socket(socket.AF_UNIX); s.connect(path); print(s.recv(100).decode().strip())
    except OSError as e: print(errno.errorcode[e.errno])
`

func namedSocket(l *Lab) error {
	if _, err := tool("python3"); err != nil {
		return err
	}
	path := l.folder("service") + "/db.sock"
	s, err := listener(path)
	if err != nil {
		return err
	}
	defer s.Close()
	l.openToAll(path)
	j := l.python(talk + `
import threading
own = socket.socket(socket.AF_UNIX); own.bind("/tmp/own"); own.listen()
threading.Thread(target=lambda: own.accept()[0].send(b"own")).start()
s = socket.socket(socket.AF_UNIX); s.connect("/tmp/own"); print(s.recv(9).decode())
`)
	j.argv = append(j.argv, path)
	j.net = &Network{local: []string{path}}
	r, err := l.run(j)
	if err != nil {
		return err
	}
	if r.End.Outcome != record.OutcomeSucceeded || r.Out != "hello\nown\n" {
		return fmt.Errorf("ended as %s, %v: %s%s", r.End.Outcome, r.End.Denials, r.Out, r.Err)
	}
	return nil
}

func otherSockets(l *Lab) error {
	if _, err := tool("python3"); err != nil {
		return err
	}
	dir, cwd := l.folder("service"), l.folder("ws")
	paths := []string{dir + "/db.sock", cwd + "/other.sock"}
	for _, p := range paths {
		s, err := listener(p)
		if err != nil {
			return err
		}
		defer s.Close()
		l.openToAll(p)
	}
	j := l.python(talk).in(jobspec.Workspace, cwd)
	j.argv = append(j.argv, paths[0], paths[1], "/run/docker.sock", "/run/podman/podman.sock", "/run/containerd/containerd.sock",
		"/run/dbus/system_bus_socket", "/run/systemd/private", "/tmp/ssh-x/agent.1", "/run/user/1000/gnupg/S.gpg-agent")
	j.net = &Network{local: paths[:1]}
	r, err := l.wantNetDenied(j, "esc_unix_socket "+paths[1]+" x1", "esc_container_sock /run/docker.sock x1",
		"esc_container_sock /run/podman/podman.sock x1", "esc_container_sock /run/containerd/containerd.sock x1",
		"esc_dbus /run/dbus/system_bus_socket x1", "esc_dbus /run/systemd/private x1",
		"esc_agent_sock /tmp/ssh-x/agent.1 x1", "esc_agent_sock /run/user/1000/gnupg/S.gpg-agent x1")
	if err != nil {
		return err
	}
	if strings.Count(r.Out, "hello") != 1 || !strings.HasPrefix(r.Out, "hello\n") {
		return fmt.Errorf("answers: %q", r.Out)
	}
	j.net = &Network{local: []string{"/run/docker.sock"}}
	if _, err := l.run(j); err == nil {
		return fmt.Errorf("a run may name the socket of docker")
	}
	return nil
}

// turn connects by an address whose first bytes another thread changes all the
// time, between one that may go on and one that leads to a closed socket.
const turn = `
import ctypes, threading, socket, sys
libc = ctypes.CDLL(None, use_errno=True)
other = b"\x01\x00" + sys.argv[2].encode() + b"\x00"
first = bytes.fromhex(sys.argv[1]); first += other[len(first):8]
buf = ctypes.create_string_buffer(other, len(other))
word = ctypes.c_uint64.from_buffer(buf) # is written at once
values = [int.from_bytes(w, sys.byteorder) for w in (first, other[:8])]
done = False
def change():
    while not done: word.value = values[0]; word.value = values[1]
threading.Thread(target=change).start()
for _ in range(500):
    s = socket.socket(socket.AF_UNIX)
    libc.connect(s.fileno(), buf, len(other))
    s.close()
done = True
print("tried")
`

// movingFamily tries with what the supervisor has nothing against: a name that is
// no path, the end of a connection, and the proxy.
func movingFamily(l *Lab) error {
	if _, err := tool("python3"); err != nil {
		return err
	}
	for what, first := range map[string]string{"abstract name": "010000", "no family": "0000", "proxy": "02000c387f000001"} {
		if err := l.turnFrom(first); err != nil {
			return fmt.Errorf("from %s: %w", what, err)
		}
	}
	return nil
}

func (l *Lab) turnFrom(first string) error {
	named, other := l.folder("service")+"/a.sock", l.folder("ws")+"/b.sock"
	s, err := listener(named)
	if err != nil {
		return err
	}
	defer s.Close()
	closed, err := net.Listen("unix", other)
	if err != nil {
		return err
	}
	defer closed.Close()
	l.openToAll(named)
	l.openToAll(other)
	j := l.python(turn).in(jobspec.Workspace, l.folder("ws"))
	j.argv = append(j.argv, first, other)
	j.net = &Network{proxy: true, local: []string{named}}
	j.denials = jobspec.DenialRules{Expected: []jobspec.ExpectedDenial{{Code: jobspec.CodeEscUnixSocket, Target: other}}}
	r, err := l.run(j)
	if err != nil {
		return err
	}
	if r.End.Outcome != record.OutcomeSucceeded || r.Out != "tried\n" {
		return fmt.Errorf("ended as %s, %v, %v: %s%s", r.End.Outcome, r.End.Reasons, r.End.Denials, r.Out, r.Err)
	}
	return notReached(closed)
}

// notReached reports an error when somebody has connected to a listener.
func notReached(s net.Listener) error {
	must(s.(*net.UnixListener).SetDeadline(time.Now().Add(100 * time.Millisecond)))
	if c, err := s.Accept(); err == nil {
		c.Close()
		return fmt.Errorf("%s was reached", s.Addr())
	}
	return nil
}

// flip connects by a path that another thread changes all the time: between the
// named socket and another one of the host, whose names are of one length.
const flip = `
import ctypes, threading, socket, sys
libc = ctypes.CDLL(None, use_errno=True)
named, other = [b"\x01\x00" + p.encode() + b"\x00" for p in sys.argv[1:3]]
buf = ctypes.create_string_buffer(named, len(named))
done = False
def change():
    while not done:
        ctypes.memmove(buf, other, len(other)); ctypes.memmove(buf, named, len(named))
threading.Thread(target=change).start()
good = 0
for _ in range(1500):
    s = socket.socket(socket.AF_UNIX)
    if libc.connect(s.fileno(), buf, len(named)) == 0: good += 1
    s.close()
done = True
print(good > 0)
`

func movingPath(l *Lab) error {
	if _, err := tool("python3"); err != nil {
		return err
	}
	dir, cwd := l.folder("service"), l.folder("ws")
	named, other := dir+"/a.sock", cwd+"/"+strings.Repeat("b", len(dir)-len(cwd))+"b.sock"
	s, err := listener(named)
	if err != nil {
		return err
	}
	defer s.Close()
	closed, err := net.Listen("unix", other)
	if err != nil {
		return err
	}
	defer closed.Close()
	l.openToAll(named)
	l.openToAll(other)
	j := l.python(flip).in(jobspec.Workspace, cwd)
	j.argv = append(j.argv, named, other)
	j.net = &Network{local: []string{named}}
	j.denials = jobspec.DenialRules{Expected: []jobspec.ExpectedDenial{{Code: jobspec.CodeEscUnixSocket, Target: other}}}
	r, err := l.run(j)
	if err != nil {
		return err
	}
	if r.End.Outcome != record.OutcomeSucceeded || r.Out != "True\n" {
		return fmt.Errorf("ended as %s, %v, %v: %s%s", r.End.Outcome, r.End.Reasons, r.End.Denials, r.Out, r.Err)
	}
	return notReached(closed)
}

// waits leaves a connect behind that nobody has answered when it ends.
const waits = `
import os, socket, sys, threading, time
first, second = socket.socket(socket.AF_UNIX), socket.socket(socket.AF_UNIX)
first.connect(sys.argv[1])
threading.Thread(target=lambda: second.connect(sys.argv[1])).start()
time.sleep(0.3)
os._exit(0)
`

// waitingConnect has a service whose queue takes one connection: the second one
// waits for room in it.
func waitingConnect(l *Lab) error {
	if _, err := tool("python3"); err != nil {
		return err
	}
	path := l.folder("service") + "/full.sock"
	s, err := shortQueue(path)
	if err != nil {
		return err
	}
	defer s.Close()
	l.openToAll(path)
	j := l.python(waits)
	j.argv = append(j.argv, path)
	j.net = &Network{local: []string{path}}
	r, err := l.run(j)
	if err != nil {
		return err
	}
	if r.End.Outcome != record.OutcomeSucceeded {
		return fmt.Errorf("ended as %s, %v, %v: %s%s", r.End.Outcome, r.End.Reasons, r.End.Denials, r.Out, r.Err)
	}
	first, err := s.Accept()
	if err != nil {
		return err
	}
	first.Close()
	return notReached(s)
}

// shortQueue is a local socket of the host with room for one who waits.
func shortQueue(path string) (net.Listener, error) {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), path)
	defer f.Close()
	if err := unix.Bind(fd, &unix.SockaddrUnix{Name: path}); err != nil {
		return nil, err
	}
	if err := unix.Listen(fd, 0); err != nil {
		return nil, err
	}
	return net.FileListener(f)
}

// openToAll lets the job's account connect to a socket of the test.
func (l *Lab) openToAll(path string) { must(os.Chmod(path, 0o777)) }
