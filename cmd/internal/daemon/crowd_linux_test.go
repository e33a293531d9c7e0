package daemon

import (
	"io"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// serveCrowd accepts connections and keeps them until the peer ends them.
func serveCrowd(t *testing.T, master func(int) bool) (socket string) {
	t.Helper()
	socket = filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	guests := newCrowd(l, master)
	go func() {
		for {
			c, err := guests.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				if c.(*guest).uid != os.Getuid() {
					return
				}
				if _, err := c.Write([]byte("in")); err == nil {
					io.Copy(io.Discard, c)
				}
			}()
		}
	}()
	return socket
}

// admitted connects n times and returns the connections that were let in.
func admitted(t *testing.T, socket string, n int) []net.Conn {
	t.Helper()
	var in []net.Conn
	for range n {
		c, err := net.Dial("unix", socket)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		if err := c.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(c, make([]byte, 2)); err == nil {
			in = append(in, c)
		}
	}
	return in
}

func TestOneAccountCannotTakeAllConnections(t *testing.T) {
	socket := serveCrowd(t, func(int) bool { return false })
	in := admitted(t, socket, 3*perAccount)
	if len(in) != perAccount {
		t.Fatalf("%d connections were let in, want %d", len(in), perAccount)
	}
	for _, c := range in {
		c.Close()
	}
	for limit := time.Now().Add(10 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		if len(admitted(t, socket, 1)) == 1 {
			return
		}
		if time.Now().After(limit) {
			t.Fatal("a place is not given back when its connection ends")
		}
	}
}

func TestTheMasterIsNeverTurnedAway(t *testing.T) {
	socket := serveCrowd(t, func(uid int) bool { return uid == os.Getuid() })
	if in := admitted(t, socket, 2*perAccount); len(in) != 2*perAccount {
		t.Errorf("%d of %d connections were let in", len(in), 2*perAccount)
	}
}
