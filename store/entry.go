package store

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/sbxcron/sbxcron/jobspec"
)

// Bounds of one entry.
const (
	MaxSignatures     = 16
	MaxSignatureBytes = 8 << 10 // an RSA key of 8192 bits needs 2 KiB
)

// entryVersion is the first byte of each value; any other is refused.
const entryVersion = 1

// Entry is one op as it is stored, with the signatures over its bytes. It says
// nothing about whether they are good.
type Entry struct {
	Seq  int64
	Op   []byte
	Sigs [][]byte
}

// encode lays an entry out as version, number of signatures, length of the op,
// length of each signature (uvarints), then the bytes in the same order.
func (e Entry) encode() ([]byte, error) {
	if len(e.Op) == 0 || len(e.Op) > jobspec.MaxOpBytes {
		return nil, fmt.Errorf("op of %d bytes, want 1 to %d", len(e.Op), jobspec.MaxOpBytes)
	}
	if len(e.Sigs) == 0 || len(e.Sigs) > MaxSignatures {
		return nil, fmt.Errorf("%d signatures, want 1 to %d", len(e.Sigs), MaxSignatures)
	}
	out := []byte{entryVersion}
	out = binary.AppendUvarint(out, uint64(len(e.Sigs)))
	out = binary.AppendUvarint(out, uint64(len(e.Op)))
	for _, s := range e.Sigs {
		if len(s) == 0 || len(s) > MaxSignatureBytes {
			return nil, fmt.Errorf("signature of %d bytes, want 1 to %d", len(s), MaxSignatureBytes)
		}
		out = binary.AppendUvarint(out, uint64(len(s)))
	}
	out = append(out, e.Op...)
	for _, s := range e.Sigs {
		out = append(out, s...)
	}
	return out, nil
}

var errEntry = errors.New("the lengths of the entry do not add up")

// decodeEntry reads a value and copies it out of the database's memory.
func decodeEntry(seq int64, value []byte) (Entry, error) {
	op, rest, lens, err := splitEntry(append([]byte(nil), value...))
	if err != nil {
		return Entry{}, err
	}
	e := Entry{Seq: seq, Op: op}
	for _, n := range lens {
		e.Sigs = append(e.Sigs, rest[:n:n])
		rest = rest[n:]
	}
	return e, nil
}

// opOf gives the op of a value, in the value's memory.
func opOf(value []byte) ([]byte, error) {
	op, _, _, err := splitEntry(value)
	return op, err
}

// splitEntry finds the op, what lies behind it, and the length of each signature.
func splitEntry(value []byte) (op, sigs []byte, lens []int, err error) {
	if len(value) == 0 || value[0] != entryVersion {
		return nil, nil, nil, errors.New("the version of the entry is unknown")
	}
	count, rest, err := length(value[1:], MaxSignatures)
	if err != nil {
		return nil, nil, nil, err
	}
	opLen, rest, err := length(rest, jobspec.MaxOpBytes)
	if err != nil {
		return nil, nil, nil, err
	}
	total := opLen
	lens = make([]int, count)
	for i := range lens {
		if lens[i], rest, err = length(rest, MaxSignatureBytes); err != nil {
			return nil, nil, nil, err
		}
		total += lens[i]
	}
	if total != len(rest) {
		return nil, nil, nil, errEntry
	}
	return rest[:opLen:opLen], rest[opLen:], lens, nil
}

// length reads one length of 1 to limit.
func length(b []byte, limit int) (int, []byte, error) {
	n, size := binary.Uvarint(b)
	if size <= 0 || n == 0 || n > uint64(limit) {
		return 0, nil, errEntry
	}
	return int(n), b[size:], nil
}

// seqKey is the key of an op: its seq in 8 bytes, big-endian, so that the order
// of keys is the order of ops.
func seqKey(seq int64) []byte { return binary.BigEndian.AppendUint64(nil, uint64(seq)) }
