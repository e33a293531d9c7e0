package daemon

import (
	"net"
	"sync"

	"github.com/sbxcron/sbxcron/cmd/internal/socket"
)

// How many connections other accounts than root and the service's own may hold
// open, each and together. Each connection is a descriptor of the service, and
// without descriptors no job starts.
const (
	perAccount = 32
	together   = 512
)

// crowd is a listener that knows who connects and lets nobody take all the room.
// Who has too much is closed at once.
type crowd struct {
	net.Listener
	master func(uid int) bool // is never turned away

	mu   sync.Mutex
	open map[int]int // by uid
	all  int
}

func newCrowd(l net.Listener, master func(int) bool) *crowd {
	return &crowd{Listener: l, master: master, open: map[int]int{}}
}

// Accept returns the next connection that may stay. One whose peer the kernel
// does not name may not.
func (c *crowd) Accept() (net.Conn, error) {
	for {
		conn, err := c.Listener.Accept()
		if err != nil {
			return nil, err
		}
		local, ok := conn.(*net.UnixConn)
		uid, err := socket.PeerUID(conn)
		if !ok || err != nil || !c.enter(uid) {
			_ = conn.Close() // nothing was said yet
			continue
		}
		beside, err := socket.PeerIsBeside(conn)
		return &guest{UnixConn: local, uid: uid, beside: beside && err == nil, leave: sync.OnceFunc(func() { c.leave(uid) })}, nil
	}
}

func (c *crowd) enter(uid int) bool {
	if c.master(uid) {
		return true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.open[uid] >= perAccount || c.all >= together {
		return false
	}
	c.open[uid]++
	c.all++
	return true
}

func (c *crowd) leave(uid int) {
	if c.master(uid) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all--
	if c.open[uid]--; c.open[uid] == 0 {
		delete(c.open, uid)
	}
}

// guest is a connection with what the kernel noted of its peer: its uid, and
// whether it lives in the service's own pid namespace.
type guest struct {
	*net.UnixConn
	uid    int
	beside bool
	leave  func()
}

// Close gives the place back.
func (g *guest) Close() error {
	defer g.leave()
	return g.UnixConn.Close()
}
