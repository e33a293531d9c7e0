package stub

import (
	"encoding/binary"
	"fmt"
)

// MessageSize is the size of each message on the status pipe.
const MessageSize = 16

// readyText is what the last row before the barrier writes. No report looks
// like it: a report begins with an address.
const readyText = "payload is next\n"

// Ready is the message that everything holds and the program waits.
func Ready() []byte { return []byte(readyText) }

// Report is a row that did not hold.
type Report struct {
	Row    int
	Result int64 // of the call, or the word that was found
}

// ParseMessage reads a message: ready, or a report.
func ParseMessage(b []byte) (ready bool, r Report, err error) {
	if len(b) != MessageSize {
		return false, Report{}, fmt.Errorf("status message of %d bytes, want %d", len(b), MessageSize)
	}
	if string(b) == readyText {
		return true, Report{}, nil
	}
	at := binary.LittleEndian.Uint64(b)
	if at < Base || at >= Base+maxImage || (at-Base)%rowSize != 0 {
		return false, Report{}, fmt.Errorf("status message %x is neither ready nor a report", b)
	}
	return false, Report{Row: int(at-Base) / rowSize, Result: int64(binary.LittleEndian.Uint64(b[8:]))}, nil
}

// listenerText is what a row writes when the listener of a filter is open and
// waits to be taken.
const listenerText = "listener is here"

// Listener is the message that the program holds a listener, which somebody must
// take before it can go on for long.
func Listener() []byte { return []byte(listenerText) }

// IsListener reports whether a message is that one.
func IsListener(b []byte) bool { return string(b) == listenerText }
