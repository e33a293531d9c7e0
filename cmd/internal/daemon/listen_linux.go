package daemon

import (
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/sbxcron/sbxcron/cmd/internal/config"
	"github.com/sbxcron/sbxcron/cmd/internal/socket"
)

// listen opens the control socket. The caller holds the lock of STATE, so a
// socket that is there belongs to nobody any more. In system mode everybody may
// connect, and rights follow the uid; else only the owner may.
func listen(site config.Site) (net.Listener, func(), error) {
	path := site.Socket()
	if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
		return nil, nil, fmt.Errorf("control socket: %w", err)
	}
	short, done, err := socket.Reachable(path)
	if err != nil {
		return nil, nil, fmt.Errorf("control socket: %w", err)
	}
	defer done()
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: short, Net: "unix"})
	if err != nil {
		return nil, nil, fmt.Errorf("control socket %q: %w", path, err)
	}
	l.SetUnlinkOnClose(false) // the listener knows its short name only
	mode := os.FileMode(0o600)
	if site.System() {
		mode = 0o666
	}
	if err := os.Chmod(path, mode); err != nil {
		return nil, nil, errors.Join(fmt.Errorf("control socket: %w", err), l.Close())
	}
	return l, func() { _ = os.Remove(path) }, nil // the next service removes it too
}

// tellManager sends one state to the service manager where there is one
// (sd_notify(3)). Who is not listened to tells nobody.
func tellManager(address, state string) error {
	if address == "" {
		return nil
	}
	if address[0] == '@' {
		address = "\x00" + address[1:]
	}
	c, err := net.DialTimeout("unixgram", address, time.Second)
	if err != nil {
		return fmt.Errorf("tell the service manager: %w", err)
	}
	defer c.Close()
	_, err = c.Write([]byte(state))
	return err
}
