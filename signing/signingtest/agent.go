package signingtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// Agent starts a real ssh-agent for the length of the test and returns the path
// of its socket. Its folder is a short one: a socket's path has 107 bytes.
func Agent(tb testing.TB) string {
	tb.Helper()
	dir, err := os.MkdirTemp("", "agent")
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { os.RemoveAll(dir) })
	socket := filepath.Join(dir, "s")
	cmd := exec.Command(Tool(tb, "ssh-agent"), "-D", "-a", socket)
	cmd.Env = []string{"PATH=/usr/bin:/bin", "HOME=" + dir}
	if err := cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if _, err := os.Lstat(socket); err == nil {
			return socket
		}
	}
	tb.Fatal("ssh-agent made no socket")
	return ""
}

// AgentAdd loads a private key with ssh-add; flags such as "-c" go before it.
func AgentAdd(tb testing.TB, socket, key string, flags ...string) {
	tb.Helper()
	if _, err := Run(tb, nil, []string{"SSH_AUTH_SOCK=" + socket}, "ssh-add", append(flags, "-q", key)...); err != nil {
		tb.Fatal(err)
	}
}
