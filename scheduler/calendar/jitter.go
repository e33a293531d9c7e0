package calendar

import (
	"encoding/binary"
	"fmt"
	"time"

	"github.com/sbxcron/sbxcron/jobspec"
)

// maxJitter bounds a shift: one of more than a day would start a slot on another
// day than the one that its owner reads.
const maxJitter = daySeconds

// Jitter is by how much the starts of an op are shifted: a whole number of seconds
// from 0 to its jitter, the same for every slot and on every machine, since it comes
// from the op's digest alone. The slot stays what it is; only its start moves.
func Jitter(s jobspec.Schedule, op jobspec.Digest) time.Duration {
	if s.JitterSeconds <= 0 || s.JitterSeconds > maxJitter || op.IsZero() {
		return 0 // without a digest nothing was signed yet
	}
	return time.Duration(binary.BigEndian.Uint64(op[:8])%uint64(s.JitterSeconds+1)) * time.Second
}

// Of is the calendar of a signed op: that of its schedule, shifted by its jitter. A
// slot that came before the anchor is not due, also where its start comes behind it.
func Of(s jobspec.Schedule, anchor time.Time, op jobspec.Digest) (*Calendar, error) {
	c, err := FromSpec(s, anchor)
	if err != nil {
		return nil, err
	}
	shifted := c.Shifted(Jitter(s, op))
	if shifted != c {
		shifted.from = anchor.Unix()
	}
	return shifted, nil
}

// Shifted is the same calendar whose dues come later by whole seconds, 0 or more.
// Their slots are the same.
func (c *Calendar) Shifted(by time.Duration) *Calendar {
	if by <= 0 {
		return c
	}
	shifted := *c
	shifted.shift = int64(by / time.Second)
	return &shifted
}

// CheckJitter refuses a jitter that is not shorter than the smallest distance
// between two starts, which would let slots pass each other's places.
func (c *Calendar) CheckJitter(s jobspec.Schedule) error {
	switch gap := c.Gap(); {
	case s.JitterSeconds > maxJitter:
		return refuse("the longest jitter is 24h", "too long").in("jitter", jitterText(s))
	case s.JitterSeconds > 0 && s.JitterSeconds >= gap:
		return refuse(fmt.Sprintf("choose less than %s", jobspec.FormatSpan(time.Duration(gap)*time.Second)), "not shorter than the distance between two starts").in("jitter", jitterText(s))
	}
	return nil
}

func jitterText(s jobspec.Schedule) string {
	return jobspec.FormatSpan(time.Duration(s.JitterSeconds) * time.Second)
}
