package ends

import "io"

// A stream is read and hashed to its end although only limits.output of it is
// kept, so that a job never waits for us and the record covers all of it. That
// costs a core while it lasts, so it ends somewhere.
const (
	floodFactor = 256
	floodMost   = 1 << 30
)

// FloodBytes is how much of a stream is read where so much of it is kept.
func FloodBytes(keep int64) int64 {
	if keep > floodMost/floodFactor {
		return floodMost
	}
	return keep * floodFactor
}

// Dam passes a stream on and calls over once when more than room has come.
// It passes on even then: what the job has written already is counted.
type Dam struct {
	to   io.Writer
	room int64
	over func()
}

// NewDam passes on to a stream of which so much is kept.
func NewDam(to io.Writer, keep int64, over func()) *Dam { return &Dam{to, FloodBytes(keep), over} }

// Write passes p on.
func (d *Dam) Write(p []byte) (int, error) {
	n, err := d.to.Write(p)
	if d.room -= int64(n); d.room < 0 && d.over != nil {
		d.over()
		d.over = nil
	}
	return n, err
}
