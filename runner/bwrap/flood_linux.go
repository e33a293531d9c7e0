package bwrap

import "io"

// A stream is read and hashed to its end although only limits.output of it is
// kept, so that a job never waits for us and the record covers all of it. That
// costs a core while it lasts, so it ends somewhere.
const (
	floodFactor = 256
	floodMost   = 1 << 30
)

// floodBytes is how much of a stream is read where so much of it is kept.
func floodBytes(keep int64) int64 {
	if keep > floodMost/floodFactor {
		return floodMost
	}
	return keep * floodFactor
}

// dam passes a stream on and calls over once when more than room has come.
// It passes on even then: what the job has written already is counted.
type dam struct {
	to   io.Writer
	room int64
	over func()
}

// Write passes p on.
func (d *dam) Write(p []byte) (int, error) {
	n, err := d.to.Write(p)
	if d.room -= int64(n); d.room < 0 && d.over != nil {
		d.over()
		d.over = nil
	}
	return n, err
}
