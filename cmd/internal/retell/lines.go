package retell

import (
	"bufio"
	"errors"
	"io"
	"time"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/record"
	"github.com/sbxcron/sbxcron/store"
)

// Lines is a ledger for reading, in order; store.History is one.
type Lines interface {
	Scan(from int64, fn func(store.Leaf) error) error
}

// Filter says which lines are asked for. The zero value takes all.
type Filter struct {
	Since time.Time // from this time on
	Until time.Time // before this time
	Job   jobspec.Name
}

// Takes reports whether a line is asked for. Its time is what it says of itself.
func (f Filter) Takes(l *record.Leaf) bool {
	at := record.ParseStamp(l.Time)
	switch {
	case f.Job != "" && l.Job != f.Job:
		return false
	case !f.Since.IsZero() && at.Before(f.Since):
		return false
	}
	return f.Until.IsZero() || at.Before(f.Until)
}

// WriteJSONL writes the lines as they stand in the ledger and says how many. The
// error may be damage that stands behind those that were written.
func WriteJSONL(w io.Writer, from Lines, f Filter) (n int64, err error) {
	out := bufio.NewWriter(w)
	err = from.Scan(0, func(l store.Leaf) error {
		if !f.Takes(l.Leaf) {
			return nil
		}
		n++
		_, _ = out.Write(l.Line) // Flush says what became of it
		return out.WriteByte('\n')
	})
	return n, errors.Join(err, out.Flush())
}
