package store

import (
	"errors"
	"fmt"
	"io"
	"os"
)

// ScanLines calls fn for each line from index from on, in order, until fn returns
// an error, which ScanLines returns. The line is valid until fn returns; nothing
// but its end was looked at. After the last line it returns the damage that stands
// there, if any.
func (h *History) ScanLines(from int64, fn func(index int64, line []byte) error) error {
	h.mu.Lock()
	segments := append([]segment(nil), h.segments...)
	h.mu.Unlock()
	for _, s := range segments {
		if s.count == 0 || from >= s.first+s.count {
			continue
		}
		if err := h.readSegment(s, from, fn); err != nil {
			return err
		}
	}
	return h.damage
}

func (h *History) readSegment(s segment, from int64, fn func(index int64, line []byte) error) error {
	f, err := openSegment(h.dirs, s.month, os.O_RDONLY)
	if err != nil {
		return fmt.Errorf("ledger: %w", err)
	}
	defer f.Close()
	at := s
	at.count = max(from-s.first, 0) / markEvery * markEvery
	offset := s.marks[at.count/markEvery]
	if _, err := f.Seek(offset, io.SeekStart); err != nil {
		return fmt.Errorf("ledger: %w", err)
	}
	lines := newLines(f, s.size-offset)
	for ; at.count < s.count; at.count++ {
		line, err := lines.next()
		if err == io.EOF {
			err = errors.New("the file became shorter")
		}
		if err != nil {
			return at.damage(h.dirs, err)
		}
		if index := s.first + at.count; index >= from {
			if err := fn(index, line); err != nil {
				return err
			}
		}
	}
	return nil
}
