package store

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"time"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/record"
	"github.com/sbxcron/sbxcron/store/safefile"
)

const (
	segmentExt = ".jsonl"
	monthForm  = "2006-01"
	markEvery  = 1024    // lines between two remembered offsets
	strictTail = 4 << 20 // bytes at the end of the newest segment that are decoded at open
)

// segment is one month of the ledger.
type segment struct {
	month string
	first int64   // index of its first leaf
	count int64   // leaves
	size  int64   // bytes of whole lines
	torn  int64   // bytes of a last line without its end
	marks []int64 // offset of every markEvery-th line
}

// LedgerError says where the ledger is damaged. Leaves before it are readable.
type LedgerError struct {
	Path  string
	Line  int64 // in that file, from 1
	Index int64 // of the leaf in the whole ledger, from 0
	Err   error
}

func (e *LedgerError) Error() string {
	return fmt.Sprintf("ledger %q line %d: %v", e.Path, e.Line, e.Err)
}

// Code is the stable reason.
func (e *LedgerError) Code() string { return string(jobspec.CodeStoreCorrupt) }

func (e *LedgerError) Unwrap() error { return e.Err }

// months lists the segments that are there, oldest first.
func months(d Dirs) ([]string, error) {
	names, err := os.ReadDir(d.LedgerDir())
	if err != nil && !os.IsNotExist(err) {
		return nil, fmt.Errorf("ledger: %w", err)
	}
	var all []string
	for _, n := range names {
		month, ok := strings.CutSuffix(n.Name(), segmentExt)
		if _, err := time.Parse(monthForm, month); ok && err == nil {
			all = append(all, month)
		}
	}
	sort.Strings(all)
	return all, nil
}

func (d Dirs) segment(month string) string { return filepath.Join(d.LedgerDir(), month+segmentExt) }

func openSegment(d Dirs, month string, access int) (*os.File, error) {
	return safefile.Open(d.segment(month), access, safefile.Options{UID: d.UID, Secret: true})
}

// survey measures one segment. Every line must have the shape of a leaf; those
// in the last bytes of the newest segment are decoded as well. It returns what
// is sound, also beside a *LedgerError.
func survey(d Dirs, month string, first int64, newest bool) (segment, error) {
	s := segment{month: month, first: first}
	f, err := openSegment(d, month, os.O_RDONLY)
	if err != nil {
		return s, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return s, err
	}
	lines := newLines(f, info.Size())
	for {
		line, err := lines.next()
		if err == io.EOF {
			return s, nil
		}
		if errors.Is(err, errTorn) && newest {
			s.torn = info.Size() - s.size
			return s, nil
		}
		if err == nil {
			err = checkLine(line, newest && info.Size()-s.size <= strictTail)
		}
		if err != nil {
			return s, s.damage(d, err)
		}
		s.grow(int64(len(line)) + 1)
	}
}

func (s *segment) damage(d Dirs, err error) error {
	return &LedgerError{Path: d.segment(s.month), Line: s.count + 1, Index: s.first + s.count, Err: err}
}

// grow takes one more line of n bytes into the measure.
func (s *segment) grow(n int64) {
	if s.count%markEvery == 0 {
		s.marks = append(s.marks, s.size)
	}
	s.count++
	s.size += n
}

var errShape = errors.New("not a line of the ledger")

// checkLine looks at the shape of a line, or decodes it.
func checkLine(line []byte, strict bool) error {
	if strict {
		_, err := record.Decode(line)
		return err
	}
	if !bytes.HasPrefix(line, []byte(`{"type":"`+record.LeafType+`"`)) || line[len(line)-1] != '}' {
		return errShape
	}
	return nil
}

var (
	errTorn = errors.New("the last line has no end")
	errLong = fmt.Errorf("line longer than %d bytes", record.MaxLeafBytes)
)

// lines reads lines of bounded length from the first size bytes of a file.
type lines struct{ r *bufio.Reader }

func newLines(f io.Reader, size int64) *lines {
	return &lines{bufio.NewReaderSize(io.LimitReader(f, size), record.MaxLeafBytes+1)}
}

// next returns a line without its end, valid until the following call; io.EOF
// after the last, errTorn for a last line without an end.
func (l *lines) next() ([]byte, error) {
	line, err := l.r.ReadSlice('\n')
	switch {
	case err == nil:
		return line[:len(line)-1], nil
	case errors.Is(err, bufio.ErrBufferFull):
		return nil, errLong
	case err == io.EOF && len(line) > 0:
		return nil, errTorn
	default:
		return nil, err
	}
}
