package record

import (
	"encoding/binary"
	"fmt"
	"io"
	"strings"
	"time"
)

const (
	runPrefix = "r-"
	runDigits = 26
	// crockford is base32 in lower case without i, l, o and u; its characters
	// sort as the values do, so run ids sort by time.
	crockford = "0123456789abcdefghjkmnpqrstvwxyz"
)

// NewRunID names a run: "r-" and 26 characters, of which the first ten are the
// time in milliseconds since 1970 and the rest 80 bits from random. It is safe
// as a file name. The form is that of the ULID specification in lower case.
func NewRunID(now time.Time, random io.Reader) (string, error) {
	var raw [16]byte
	ms := now.UnixMilli()
	if ms < 0 || ms >= 1<<48 {
		return "", fmt.Errorf("run id: time %s cannot be written", now.UTC().Format(time.RFC3339))
	}
	binary.BigEndian.PutUint64(raw[:8], uint64(ms)<<16)
	if _, err := io.ReadFull(random, raw[6:]); err != nil {
		return "", fmt.Errorf("run id: %w", err)
	}
	hi, lo := binary.BigEndian.Uint64(raw[:8]), binary.BigEndian.Uint64(raw[8:])
	var out [runDigits]byte
	for i := runDigits - 1; i >= 0; i-- {
		out[i] = crockford[lo&31]
		lo = lo>>5 | hi<<59
		hi >>= 5
	}
	return runPrefix + string(out[:]), nil
}

// RunTime checks a run id and returns the time in it. Whoever makes a path of a
// run id calls it first.
func RunTime(id string) (time.Time, error) {
	digits, ok := strings.CutPrefix(id, runPrefix)
	if !ok || len(digits) != runDigits || digits[0] > '7' {
		return time.Time{}, fmt.Errorf("run id %q: want r- and 26 characters", id)
	}
	var ms int64
	for i := range len(digits) {
		v := strings.IndexByte(crockford, digits[i])
		if v < 0 {
			return time.Time{}, fmt.Errorf("run id %q: %q is no digit of it", id, digits[i])
		}
		if i < 10 {
			ms = ms<<5 | int64(v)
		}
	}
	return time.UnixMilli(ms).UTC(), nil
}
