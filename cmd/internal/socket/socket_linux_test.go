package socket_test

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sbxcron/sbxcron/cmd/internal/socket"
)

func TestASocketAtAPathOfAnyLengthIsReachedAndNamesItsPeer(t *testing.T) {
	for _, depth := range []int{0, 200} {
		dir := filepath.Join(t.TempDir(), strings.Repeat("d", depth))
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, "socket")
		l := listenAt(t, path)
		short, done, err := socket.Reachable(path)
		if err != nil {
			t.Fatal(err)
		}
		theirs, err := net.Dial("unix", short)
		done()
		if err != nil {
			t.Fatalf("a path of %d bytes: %v", len(path), err)
		}
		ours, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		for end, c := range map[string]net.Conn{"the client": ours, "the server": theirs} {
			if uid, err := socket.PeerUID(c); err != nil || uid != os.Getuid() {
				t.Errorf("%s is uid %d, %v", end, uid, err)
			}
			c.Close()
		}
	}
}

func listenAt(t *testing.T, path string) net.Listener {
	t.Helper()
	short, done, err := socket.Reachable(path)
	if err != nil {
		t.Fatal(err)
	}
	defer done()
	l, err := net.Listen("unix", short)
	if err != nil {
		t.Fatal(err)
	}
	l.(*net.UnixListener).SetUnlinkOnClose(false)
	t.Cleanup(func() { l.Close() })
	if _, err := os.Lstat(path); err != nil {
		t.Errorf("the socket lies elsewhere: %v", err)
	}
	return l
}

func TestWhatIsNoUnixSocketHasNoPeer(t *testing.T) {
	ours, theirs := net.Pipe()
	defer ours.Close()
	defer theirs.Close()
	if uid, err := socket.PeerUID(ours); err == nil || uid >= 0 {
		t.Errorf("uid %d, %v", uid, err)
	}
}

func TestAMissingFolderIsAnError(t *testing.T) {
	path := filepath.Join(t.TempDir(), strings.Repeat("d", 200), "socket")
	if _, _, err := socket.Reachable(path); !errors.Is(err, fs.ErrNotExist) {
		t.Error("a folder that is not there was opened")
	}
}
