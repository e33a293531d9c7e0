package runnertest

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"time"
)

// postgres starts a database, which listens on loopback and on a socket.
func (l *Lab) postgres() (port int, socket string, stop func(), err error) {
	bin := ""
	for _, pattern := range []string{"/usr/lib/postgresql/*/bin/initdb", "/usr/local/bin/initdb", "/usr/bin/initdb"} {
		if found, _ := filepath.Glob(pattern); len(found) > 0 {
			bin = filepath.Dir(found[0])
			break
		}
	}
	if bin == "" {
		return 0, "", nil, &Missing{"initdb"}
	}
	probe, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, "", nil, err
	}
	port = probe.Addr().(*net.TCPAddr).Port
	probe.Close()
	uid, gid := os.Geteuid(), os.Getegid()
	if uid == 0 { // which the database refuses to run as, and it wants to find its account
		account, err := user.Lookup("nobody")
		if err != nil {
			return 0, "", nil, &Missing{"the account nobody"}
		}
		uid, _ = strconv.Atoi(account.Uid)
		gid, _ = strconv.Atoi(account.Gid)
	}
	data, dir := l.folder("data"), l.folder("s")
	must(os.Chmod(data, 0o700))
	must(os.Chown(data, uid, gid))
	must(os.Chown(dir, uid, gid))
	command := func(name string, args ...string) *exec.Cmd {
		cmd := exec.Command(filepath.Join(bin, name), args...)
		cmd.Dir, cmd.Env = data, []string{"PATH=" + bin + ":/usr/bin:/bin", "LC_ALL=C", "HOME=" + data}
		cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		if os.Geteuid() == 0 {
			cmd.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
		}
		return cmd
	}
	if out, err := command("initdb", "-D", data, "-A", "trust", "-U", "job", "--no-sync").CombinedOutput(); err != nil {
		return 0, "", nil, &Missing{fmt.Sprintf("a database that can be made (%v: %.200s)", err, out)}
	}
	server := command("postgres", "-D", data, "-p", fmt.Sprint(port), "-k", dir, "-c", "listen_addresses=127.0.0.1", "-c", "fsync=off", "-c", "unix_socket_permissions=0777")
	ended, err := keep(server)
	if err != nil {
		return 0, "", nil, err
	}
	stop = func() { server.Process.Signal(syscall.SIGQUIT); <-ended }
	socket = fmt.Sprintf("%s/.s.PGSQL.%d", dir, port)
	for range 100 {
		if c, err := net.Dial("unix", socket); err == nil {
			c.Close()
			return port, socket, stop, nil
		}
		time.Sleep(50 * time.Millisecond)
	}
	stop()
	return 0, "", nil, fmt.Errorf("the database does not listen")
}

// keep starts a command from a thread that stays until it ends: Pdeathsig kills
// when the thread goes that made the process, and threads of backends do.
func keep(cmd *exec.Cmd) (ended chan struct{}, err error) {
	started, ended := make(chan error, 1), make(chan struct{})
	go func() {
		defer close(ended)
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			cmd.Wait()
		}
	}()
	return ended, <-started
}

// psqlServer is a database on loopback and on a socket.
func psqlServer(l *Lab, _ string) (*offer, error) {
	port, socket, stop, err := l.postgres()
	if err != nil {
		return nil, err
	}
	return &offer{forward: []string{fmt.Sprintf("localhost:%d", port)}, local: []string{socket}, stop: stop,
		env: map[string]string{"PORT": fmt.Sprint(port), "FOLDER": filepath.Dir(socket)}}, nil
}
