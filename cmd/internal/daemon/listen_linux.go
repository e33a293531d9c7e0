package daemon

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/sbxcron/sbxcron/cmd/internal/config"
)

// listen opens the control socket. The caller holds the lock of STATE, so a
// socket that is there belongs to nobody any more. In system mode everybody may
// connect, and rights follow the uid; else only the owner may.
//
// The path of a socket is limited to 107 bytes (unix(7)); a longer one is
// reached through its folder's descriptor.
func listen(site config.Site) (net.Listener, func(), error) {
	path := site.Socket()
	if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
		return nil, nil, fmt.Errorf("control socket: %w", err)
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return nil, nil, fmt.Errorf("control socket: %w", err)
	}
	short := filepath.Join("/proc/self/fd", strconv.Itoa(int(dir.Fd())), filepath.Base(path))
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: short, Net: "unix"})
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("control socket %q: %w", path, err), dir.Close())
	}
	l.SetUnlinkOnClose(false)
	mode := os.FileMode(0o600)
	if site.System() {
		mode = 0o666
	}
	if err := os.Chmod(path, mode); err != nil {
		return nil, nil, errors.Join(fmt.Errorf("control socket: %w", err), l.Close(), dir.Close())
	}
	return l, func() {
		_ = os.Remove(path) // the next service removes it too
		_ = dir.Close()
	}, nil
}

// tellManager sends one state to the service manager where there is one
// (sd_notify(3)). Who is not listened to tells nobody.
func tellManager(socket, state string) error {
	if socket == "" {
		return nil
	}
	if socket[0] == '@' {
		socket = "\x00" + socket[1:]
	}
	c, err := net.DialTimeout("unixgram", socket, time.Second)
	if err != nil {
		return fmt.Errorf("tell the service manager: %w", err)
	}
	defer c.Close()
	_, err = c.Write([]byte(state))
	return err
}
