package scheduler

import (
	"encoding/binary"
	"errors"
	"time"
)

var errBreakerForm = errors.New("the kept state of a breaker is damaged")

// Encode gives the state in bytes, for an index; nil for one that is as if the job
// had never run.
func (b *Breaker) Encode() []byte {
	if b.denied == 0 && !b.held && len(b.trips) == 0 {
		return nil
	}
	out := append([]byte(nil), b.op[:]...)
	out = binary.AppendUvarint(out, uint64(b.denied))
	if b.held {
		out = append(out, 1)
	} else {
		out = append(out, 0)
	}
	for _, t := range b.trips {
		out = binary.BigEndian.AppendUint64(out, uint64(t.UnixNano()))
	}
	return out
}

// ParseBreaker reads what Encode gave.
func ParseBreaker(state []byte) (*Breaker, error) {
	b := &Breaker{}
	if len(state) == 0 {
		return b, nil
	}
	if len(state) < len(b.op) {
		return nil, errBreakerForm
	}
	rest := state[copy(b.op[:], state):]
	denied, n := binary.Uvarint(rest)
	if n <= 0 || denied > 1<<40 || len(rest) <= n || rest[n] > 1 {
		return nil, errBreakerForm
	}
	b.denied, b.held = int(denied), rest[n] == 1
	rest = rest[n+1:]
	if len(rest)%8 != 0 || len(rest)/8 > BreakerTrips {
		return nil, errBreakerForm
	}
	for ; len(rest) > 0; rest = rest[8:] {
		b.trips = append(b.trips, time.Unix(0, int64(binary.BigEndian.Uint64(rest))).UTC())
	}
	return b, nil
}
