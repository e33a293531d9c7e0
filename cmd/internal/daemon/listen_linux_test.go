package daemon

import (
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sbxcron/sbxcron/cmd/internal/config"
	"github.com/sbxcron/sbxcron/cmd/internal/socket"
	"github.com/sbxcron/sbxcron/store"
)

func TestTheControlSocketIsReachedAtAnyPathAndByTheRightPeople(t *testing.T) {
	for name, c := range map[string]struct {
		depth, uid int
		mode       fs.FileMode
	}{
		"user mode":            {0, 1000, 0o600},
		"system mode":          {0, 0, 0o666},
		"a path of 200 bytes":  {200, 1000, 0o600},
		"the same, for system": {200, 0, 0o666},
	} {
		t.Run(name, func(t *testing.T) {
			run := filepath.Join(t.TempDir(), strings.Repeat("r", c.depth))
			if err := os.MkdirAll(run, 0o700); err != nil {
				t.Fatal(err)
			}
			site := config.Site{Dirs: store.Dirs{Run: run, UID: c.uid}}
			if err := os.WriteFile(site.Socket(), nil, 0o600); err != nil { // left by a service that was killed
				t.Fatal(err)
			}
			l, unlink, err := listen(site)
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			info, err := os.Lstat(site.Socket())
			if err != nil || info.Mode() != fs.ModeSocket|c.mode {
				t.Errorf("%v, %v", info, err)
			}
			short, done, err := socket.Reachable(site.Socket())
			if err != nil {
				t.Fatal(err)
			}
			conn, err := net.Dial("unix", short)
			done()
			if err != nil {
				t.Fatal(err)
			}
			conn.Close()
			unlink()
			if _, err := os.Lstat(site.Socket()); !os.IsNotExist(err) {
				t.Errorf("the socket is left: %v", err)
			}
		})
	}
}

func TestTheServiceManagerIsToldWhereItListens(t *testing.T) {
	at := filepath.Join(t.TempDir(), "n")
	l, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: at, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if err := tellManager(at, "READY=1"); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 64)
	if n, err := l.Read(b); err != nil || string(b[:n]) != "READY=1" {
		t.Errorf("%q, %v", b[:n], err)
	}
	if err := tellManager("", "READY=1"); err != nil {
		t.Errorf("without a manager: %v", err)
	}
	if err := tellManager(at+".none", "READY=1"); err == nil {
		t.Error("nobody listens, and nobody is told")
	}
}
