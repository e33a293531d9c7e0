package signing

import (
	"encoding/binary"
	"errors"
)

var errTruncated = errors.New("truncated")

// wire walks over SSH wire format (RFC 4251 section 5). It copies nothing and
// allocates nothing by a length that it read.
type wire []byte

// uint32 takes a big-endian number.
func (w *wire) uint32() (uint32, error) {
	if len(*w) < 4 {
		return 0, errTruncated
	}
	n := binary.BigEndian.Uint32(*w)
	*w = (*w)[4:]
	return n, nil
}

// string takes a length and that many bytes.
func (w *wire) string() ([]byte, error) {
	n, err := w.uint32()
	if err != nil {
		return nil, err
	}
	if uint64(n) > uint64(len(*w)) {
		return nil, errTruncated
	}
	s := (*w)[:n:n]
	*w = (*w)[n:]
	return s, nil
}

// strings takes exactly n strings and requires that nothing follows.
func (w *wire) strings(n int) ([][]byte, error) {
	out := make([][]byte, n)
	for i := range out {
		s, err := w.string()
		if err != nil {
			return nil, err
		}
		out[i] = s
	}
	return out, w.end()
}

// end requires that nothing is left.
func (w *wire) end() error {
	if len(*w) != 0 {
		return errors.New("bytes after the last field")
	}
	return nil
}

// appendString writes a length and the bytes.
func appendString(dst []byte, s []byte) []byte {
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(s)))
	return append(dst, s...)
}

// positive reports whether m is a positive mpint in its one shortest form: a
// second form would be a second blob of the same key, and a revoked key could
// come back in it.
func positive(m []byte) bool {
	switch {
	case len(m) == 0, m[0]&0x80 != 0:
		return false
	case m[0] == 0:
		return len(m) > 1 && m[1]&0x80 != 0
	}
	return true
}
