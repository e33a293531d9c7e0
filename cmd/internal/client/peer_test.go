//go:build linux

package client

import (
	"bufio"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/sbxcron/sbxcron/cmd/internal/api"
	"github.com/sbxcron/sbxcron/jobspec"
)

// The test binary is its own foreign server: with this variable it listens on
// the socket named there, says so and waits to be killed.
const listenVar = "SBXCRON_TEST_LISTEN"

func TestMain(m *testing.M) {
	if socket := os.Getenv(listenVar); socket != "" {
		l, err := net.Listen("unix", socket)
		if err != nil {
			os.Exit(1)
		}
		os.Chmod(socket, 0o666)
		os.Stdout.WriteString("ready\n")
		for {
			conn, err := l.Accept()
			if err != nil {
				os.Exit(0)
			}
			buf := make([]byte, 1)
			if n, _ := conn.Read(buf); n > 0 {
				os.Stdout.WriteString("byte\n")
			}
			conn.Close()
		}
	}
	os.Exit(m.Run())
}

func TestAServerOfAnotherUIDIsRefusedBeforeAByteIsSent(t *testing.T) {
	if os.Getuid() == 0 {
		foreignServerAsNobody(t)
		return
	}
	// As an ordinary user our own server is foreign to somebody else.
	socket := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	assertForeign(t, socket, os.Getuid()+1)
}

func foreignServerAsNobody(t *testing.T) {
	const nobody = 65534
	dir, err := os.MkdirTemp("/tmp", "sbxcron-peer")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chown(dir, nobody, nobody); err != nil {
		t.Fatal(err)
	}
	self, err := os.Open("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	defer self.Close()
	socket := filepath.Join(dir, "s")
	cmd := exec.Command("/proc/self/fd/3")
	cmd.ExtraFiles = []*os.File{self} // the test binary's folder is closed to others
	cmd.Env = []string{listenVar + "=" + socket}
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}, Pdeathsig: syscall.SIGKILL}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(out)
	if line, err := lines.ReadString('\n'); line != "ready\n" {
		t.Fatalf("server says %q, %v", line, err)
	}
	assertForeign(t, socket, 0)
	assertForeign(t, socket, 1000)
	if c, err := Dial(t.Context(), socket, nobody); err != nil {
		t.Errorf("the expected uid is refused: %v", err)
	} else {
		c.Close()
	}
	cmd.Process.Kill()
	if rest, _ := lines.ReadString('\n'); rest != "" {
		t.Errorf("the foreign server got a byte: %q", rest)
	}
	cmd.Wait()
}

func assertForeign(t *testing.T, socket string, want int) {
	t.Helper()
	_, err := Dial(t.Context(), socket, want)
	e, ok := errors.AsType[*api.Error](err)
	if !ok || e.ErrCode != jobspec.CodeIdentityUnproven || e.Exit == 0 {
		t.Errorf("expecting uid %d: %v, want identity_unproven", want, err)
	}
}
