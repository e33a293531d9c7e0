package witness

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/runner/shim"
)

// MaxTarget bounds the text of an event, in bytes.
const MaxTarget = 200

// EventSize is the size of every event on the wire: one byte for the code, one
// for the length of the target, four for the count, the target, zeros.
const EventSize = 256

const eventHead = 6

// maxCount is the highest count that an event tells.
const maxCount = 1<<31 - 1

// Event is one thing that was tried and stopped, Count times. Code
// CodeResultUnreadable says instead why a result was not understood.
type Event struct {
	Code   jobspec.Code
	Target string // printable ASCII, at most MaxTarget bytes
	Count  int64  // at least 1, at most 1<<31-1
}

// eventCodes is the closed list of codes that a witness can state.
func eventCodes() []jobspec.Code {
	return append(shim.Codes(), jobspec.CodeAskAgentDenied, jobspec.CodeResultUnreadable)
}

// Encode gives the bytes of an event.
func (e Event) Encode() ([]byte, error) {
	if err := e.check(); err != nil {
		return nil, err
	}
	b := make([]byte, EventSize)
	b[0], b[1] = byte(slices.Index(eventCodes(), e.Code)), byte(len(e.Target))
	binary.LittleEndian.PutUint32(b[2:], uint32(e.Count))
	copy(b[eventHead:], e.Target)
	return b, nil
}

// Read takes one event. Its error is io.EOF at the end, and any other where the
// bytes are not exactly what Encode makes: a witness that sends such a thing is
// not believed at all.
func Read(r io.Reader) (Event, error) {
	var b [EventSize]byte
	if _, err := io.ReadFull(r, b[:]); err != nil {
		return Event{}, err
	}
	codes, n := eventCodes(), int(b[1])
	if int(b[0]) >= len(codes) || n > MaxTarget {
		return Event{}, fmt.Errorf("event with code %d and %d bytes of text", b[0], n)
	}
	for _, c := range b[eventHead+n:] {
		if c != 0 {
			return Event{}, errors.New("event with bytes behind its text")
		}
	}
	e := Event{Code: codes[b[0]], Target: string(b[eventHead : eventHead+n]), Count: int64(binary.LittleEndian.Uint32(b[2:]))}
	return e, e.check()
}

func (e Event) check() error {
	if !slices.Contains(eventCodes(), e.Code) || len(e.Target) > MaxTarget || e.Count < 1 || e.Count > maxCount {
		return fmt.Errorf("event %q with %d bytes of text, %d times, cannot be told", e.Code, len(e.Target), e.Count)
	}
	for i := range len(e.Target) {
		if e.Target[i] < ' ' || e.Target[i] > '~' {
			return fmt.Errorf("event %q with an unprintable byte in its text", e.Code)
		}
	}
	return nil
}
