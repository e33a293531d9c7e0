package egress

import (
	"bufio"
	"io"
	"net"
	"net/http/httputil"
	"sync"
	"time"
)

// body is what follows a head, and no byte more.
type body struct {
	r       io.Reader
	from    *bufio.Reader
	chunked bool
	ended   bool
	closed  chan struct{} // by the transport, which reads no more then
	once    sync.Once
}

func newBody(r *bufio.Reader, h *head) *body {
	if n := h.length(); n >= 0 {
		return &body{r: io.LimitReader(r, n), from: r, closed: make(chan struct{})}
	}
	return &body{r: httputil.NewChunkedReader(r), from: r, chunked: true, closed: make(chan struct{})}
}

func (b *body) Read(p []byte) (int, error) {
	n, err := b.r.Read(p)
	b.ended = b.ended || err == io.EOF
	return n, err
}

// letGo bounds the wait for a transport that still reads a body whose answer is
// there already.
const letGo = 100 * time.Millisecond

// finish reports whether the body was read to its end, and takes the empty line
// behind chunks. Fields in that place end the connection.
func (b *body) finish() bool {
	select {
	case <-b.closed:
	case <-time.After(letGo):
		return false
	}
	if !b.ended {
		var one [1]byte
		if n, err := b.Read(one[:]); n != 0 || err != io.EOF {
			return false
		}
	}
	if !b.chunked {
		return true
	}
	line, err := b.from.ReadSlice('\n')
	return err == nil && string(line) == "\r\n"
}

// bodyOf lets a body be sent on: the transport closes it, which must not end
// the connection of the client.
type bodyOf struct {
	*body
	client *patient
}

func (b *bodyOf) Read(p []byte) (int, error) {
	b.client.wait()
	return b.body.Read(p)
}

// Close notes that nobody reads any more.
func (b *bodyOf) Close() error {
	b.once.Do(func() { close(b.closed) })
	return nil
}

// patient is a connection whose every step may take as long as idle time lasts.
type patient struct {
	net.Conn
	idle time.Duration
}

func (p *patient) wait() { p.Conn.SetDeadline(time.Now().Add(p.idle)) }

func (p *patient) Write(b []byte) (int, error) {
	p.wait()
	return p.Conn.Write(b)
}
