package egress

import (
	"io"
	"net"
)

// copyBytes is how much is moved at once.
const copyBytes = 32 << 10

// tunnel moves bytes both ways until both sides have ended, one has failed, or
// nothing moved for too long. Early reads the client, and first what was read of
// it already.
func (s *Server) tunnel(client net.Conn, early io.Reader, w *wire) {
	defer w.Close()
	w.watch(client)
	fail := func() {
		w.Conn.Close()
		client.Close()
	}
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		move(w, early, fail)
	}()
	move(client, w, fail)
	<-sent
}

// move moves one direction. A side that ended is told to the other, which may
// still have something to say; a side that failed ends both.
func move(to net.Conn, from io.Reader, fail func()) {
	_, err := io.CopyBuffer(onlyWriter{to}, onlyReader{from}, make([]byte, copyBytes))
	if err != nil || closeWrite(to) != nil {
		fail()
	}
}

// onlyWriter and onlyReader keep io.Copy to the buffer that it was given.
type onlyWriter struct{ io.Writer }
type onlyReader struct{ io.Reader }
