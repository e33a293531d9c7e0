package egress

import (
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// Use is what one connection to the outside was used for, told when it is over.
type Use struct {
	Target   Target
	Address  string // that was connected to; "" behind an upstream
	Upstream string // who connected for us, and judged the address
	Rule     string
	In, Out  int64 // bytes, seen from the job
}

// wire is a connection to the outside whose bytes are counted and bounded, and
// that ends when nothing moves on it.
type wire struct {
	net.Conn
	server  *Server
	use     Use
	in, out atomic.Int64
	touched atomic.Int64 // when the deadlines were last moved, Unix nanoseconds
	peer    net.Conn     // whose deadlines move too; nil for none
	over    sync.Once
}

// wire takes a connection over and keeps it until it is closed.
func (s *Server) wire(c net.Conn, use Use) *wire {
	w := &wire{Conn: c, server: s, use: use}
	if !s.keep(w) {
		c.Close() // the run is over
	}
	w.touch()
	return w
}

// watch moves the deadlines of a client together with its own from now on: while
// one direction moves, the other may be silent.
func (w *wire) watch(client net.Conn) {
	w.peer = client
	w.touched.Store(0)
	w.touch()
}

// touch moves the deadlines: not for each packet, which would cost more than
// what it bounds.
func (w *wire) touch() {
	now := time.Now()
	last := w.touched.Load()
	if now.UnixNano()-last < int64(w.server.times.idle/64) || !w.touched.CompareAndSwap(last, now.UnixNano()) {
		return
	}
	w.Conn.SetDeadline(now.Add(w.server.times.idle))
	if w.peer != nil {
		w.peer.SetDeadline(now.Add(w.server.times.idle))
	}
}

// Read passes on no byte that is not in the budget.
func (w *wire) Read(p []byte) (int, error) {
	n, err := w.Conn.Read(p)
	may := w.server.budget.spend(n)
	w.in.Add(int64(may))
	if may < n {
		return may, w.server.exhausted(w)
	}
	if n > 0 {
		w.touch()
	}
	return n, err
}

// Write sends no byte that is not in the budget.
func (w *wire) Write(p []byte) (int, error) {
	may := w.server.budget.spend(len(p))
	n, err := w.Conn.Write(p[:may])
	w.out.Add(int64(n))
	if err == nil && may < len(p) {
		return n, w.server.exhausted(w)
	}
	if n > 0 {
		w.touch()
	}
	return n, err
}

// CloseWrite says that nothing more comes, where the connection can say so.
func (w *wire) CloseWrite() error { return closeWrite(w.Conn) }

// Close ends the connection and tells what it was used for, once.
func (w *wire) Close() error {
	err := net.ErrClosed
	w.over.Do(func() {
		err = w.Conn.Close()
		w.server.drop(w)
		w.use.In, w.use.Out = w.in.Load(), w.out.Load()
		if w.server.used != nil {
			w.server.used(w.use)
		}
	})
	return err
}

func closeWrite(c net.Conn) error {
	if half, ok := c.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}
