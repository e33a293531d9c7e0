package socket_test

import (
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/sbxcron/sbxcron/cmd/internal/socket"
)

// dialEnv makes this program a client: it connects to the socket of that name and
// waits for the other end to close.
const dialEnv = "SBXCRON_TEST_DIAL"

func TestMain(m *testing.M) {
	path := os.Getenv(dialEnv)
	if path == "" {
		os.Exit(m.Run())
	}
	c, err := net.Dial("unix", path)
	if err != nil {
		os.Exit(1)
	}
	io.Copy(io.Discard, c)
}

// Case S03: the uid of a job of an ordinary user's is the owner's.
func TestAPeerInAPidNamespaceOfItsOwnIsToldFromOneBeside(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	l := listenAt(t, path)
	for _, c := range []struct {
		name   string
		spaces uintptr
		beside bool
	}{
		{"beside", 0, true},
		{"in namespaces of its own", syscall.CLONE_NEWUSER | syscall.CLONE_NEWPID, false},
		{"in a user namespace of its own", syscall.CLONE_NEWUSER, true},
	} {
		cmd := exec.Command("/proc/self/exe")
		cmd.Env = []string{dialEnv + "=" + path}
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: c.spaces}
		if err := cmd.Start(); err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		conn, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		if beside, err := socket.PeerIsBeside(conn); err != nil || beside != c.beside {
			t.Errorf("%s: beside is %v, %v", c.name, beside, err)
		}
		if uid, err := socket.PeerUID(conn); err != nil || uid != os.Getuid() {
			t.Errorf("%s: uid %d, %v", c.name, uid, err)
		}
		conn.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

func TestAPeerThatHasEndedIsNotBeside(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	l := listenAt(t, path)
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = []string{dialEnv + "=" + path}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	conn, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	cmd.Process.Kill()
	cmd.Wait()
	if beside, err := socket.PeerIsBeside(conn); beside {
		t.Errorf("an ended process is beside, %v", err)
	}
}
