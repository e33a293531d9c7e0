package runner

import (
	"crypto/sha256"
	"fmt"
	"hash"
	"io"
	"os"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/record"
	"github.com/sbxcron/sbxcron/runner/mask"
)

// Capture keeps one stream of a run in bounded space, with the values of the
// job's credentials taken out before anything else is done. It takes every byte, so
// that a job never waits for a full pipe, and counts and hashes all of them; it
// keeps the first half of its bound in the file as it comes (a follower sees it
// live) and the last half in memory, which Finish writes behind a line that says
// how much is missing between the two.
//
// One goroutine uses a Capture: usually io.Copy(capture, pipe), then Finish.
type Capture struct {
	stream string
	file   keeper
	all    hash.Hash
	total  int64
	room   int64 // of the head, in bytes
	tail   ring
	kept   int64
	keptH  hash.Hash
	failed error // the first error of the file
	masked *mask.Stream
}

// keeper is the file of a stream.
type keeper interface {
	io.Writer
	Sync() error
	Close() error
}

// Unmade is the file of a stream that is made with its first byte: most runs write
// nothing to one of their streams or to both, and making and removing files is
// among the slower things that a run needs.
type Unmade struct {
	make func() (*os.File, error)
	file *os.File
}

// MadeWhenNeeded makes the file by the function when the first byte comes.
func MadeWhenNeeded(make func() (*os.File, error)) *Unmade { return &Unmade{make: make} }

// Write makes the file where there is none yet.
func (u *Unmade) Write(p []byte) (int, error) {
	if u.file == nil {
		f, err := u.make()
		if err != nil {
			return 0, err
		}
		u.file = f
	}
	return u.file.Write(p)
}

// Sync makes what was written durable.
func (u *Unmade) Sync() error {
	if u.file == nil {
		return nil
	}
	return u.file.Sync()
}

// Close closes the file that was made.
func (u *Unmade) Close() error {
	if u.file == nil {
		return nil
	}
	return u.file.Close()
}

// NewCapture captures into file, which it takes over, and keeps at most keep
// bytes of the stream; the line in the gap comes on top of that. With keep 0
// nothing is kept. What secrets finds is not seen by anybody; nil finds nothing.
func NewCapture(stream string, file keeper, keep int64, secrets *mask.Set) *Capture {
	keep = max(keep, 0)
	c := &Capture{
		stream: stream, file: file, all: sha256.New(), keptH: sha256.New(),
		room: keep - keep/2, tail: ring{size: keep / 2},
	}
	c.masked = secrets.Stream(c.take)
	return c
}

// Write never fails and never stops short: a full disk must not stop the job's
// output from being drained. Finish reports it.
func (c *Capture) Write(p []byte) (int, error) { return c.masked.Write(p) }

// take is given what is left of the stream.
func (c *Capture) take(p []byte) {
	c.all.Write(p)
	c.total += int64(len(p))
	head := min(int64(len(p)), c.room)
	c.room -= head
	c.store(p[:head])
	c.tail.add(p[head:])
}

// store writes to the file and accounts for exactly the bytes that arrived.
func (c *Capture) store(p []byte) {
	if c.failed != nil || len(p) == 0 {
		return
	}
	n, err := c.file.Write(p)
	c.kept += int64(n)
	c.keptH.Write(p[:n])
	c.failed = err
}

// Finish writes the rest, syncs and closes the file. What it returns is true of
// the file even with an error, which is the first that the file gave; a stream
// that lost bytes to it is truncated.
func (c *Capture) Finish() (record.Captured, error) {
	c.masked.Close()
	if lost := c.tail.lost; lost > 0 {
		c.store(gap(lost))
	}
	for _, part := range c.tail.parts() {
		c.store(part)
	}
	lostBytes := c.tail.lost > 0 || c.failed != nil
	for _, end := range []func() error{c.file.Sync, c.file.Close} {
		if err := end(); c.failed == nil {
			c.failed = err
		}
	}
	done := record.Captured{
		Stream: c.stream, Bytes: c.total, SHA256: jobspec.Digest(c.all.Sum(nil)),
		Kept: c.kept, KeptSHA: jobspec.Digest(c.keptH.Sum(nil)), Truncated: lostBytes,
	}
	if c.failed != nil {
		return done, fmt.Errorf("keep stream %q: %w", c.stream, c.failed)
	}
	return done, nil
}

// gap is the line between head and tail. It begins with a line end because the
// head may stop anywhere.
func gap(lost int64) []byte {
	return fmt.Appendf(nil, "\n[sbxcron: %d bytes not kept]\n", lost)
}

// ring keeps the last size bytes of what is added. Its memory grows with what
// comes, so that a quiet job costs nothing.
type ring struct {
	size int64
	buf  []byte
	next int64 // where the next byte goes once buf is full
	lost int64
}

func (r *ring) add(p []byte) {
	if over := int64(len(p)) - r.size; over > 0 {
		// Only the end of p can survive, and nothing of what was there.
		r.lost += over + int64(len(r.buf))
		r.buf, r.next = append(r.buf[:0], p[over:]...), 0
		return
	}
	fill := min(r.size-int64(len(r.buf)), int64(len(p)))
	r.buf = append(r.buf, p[:fill]...)
	for p = p[fill:]; len(p) > 0; {
		n := copy(r.buf[r.next:], p)
		p = p[n:]
		r.lost += int64(n)
		r.next = (r.next + int64(n)) % r.size
	}
}

// parts are the kept bytes in their order.
func (r *ring) parts() [2][]byte { return [2][]byte{r.buf[r.next:], r.buf[:r.next]} }

var _ io.Writer = (*Capture)(nil)
