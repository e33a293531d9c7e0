package client

import (
	"context"
	"net"

	"github.com/sbxcron/sbxcron/cmd/internal/socket"
)

// dial connects to the socket at path and returns the connection only when the process that
// listens belongs to root or to uid.
func dial(ctx context.Context, path string, uid int) (net.Conn, error) {
	short, done, err := socket.Reachable(path)
	if err != nil {
		return nil, dialError(path, err)
	}
	defer done()
	conn, err := (&net.Dialer{Timeout: dialTime}).DialContext(ctx, "unix", short)
	if err != nil {
		return nil, dialError(path, err)
	}
	server, err := socket.PeerUID(conn)
	if err != nil {
		conn.Close()
		return nil, dialError(path, err)
	}
	if server != 0 && server != uid {
		conn.Close()
		return nil, foreignServer(path, server, uid)
	}
	return conn, nil
}
