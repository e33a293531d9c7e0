package scheduler

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/record"
)

// Bounds of what one row may carry. A row that the ledger cannot take would stop
// the whole service, and reasons and denials hold paths and host names that a
// job can influence; so their number and length are cut here, far below
// record.MaxLeafBytes even when every byte is escaped (two bytes each).
const (
	maxReasons = 16
	maxDenials = 32
	maxText    = 160
	maxTarget  = 200 // of a denial: denials.expected names it exactly
	maxHost    = 253 // of a connection: a whole name
)

// bounded cuts what is too much and repairs what is not UTF-8, which the
// canonical form cannot hold. A cut is told in the row. Control characters, which
// take six bytes when escaped, become "?".
func bounded(l *record.Leaf) *record.Leaf {
	if n := len(l.Reasons); n > maxReasons {
		l.Reasons = append(l.Reasons[:maxReasons-1:maxReasons-1], record.Reason{Code: l.Reasons[n-1].Code, Detail: "further reasons were left out"})
	}
	if n := len(l.Denials); n > maxDenials {
		l.Denials = l.Denials[:maxDenials:maxDenials]
		l.Reasons = append(l.Reasons, record.Reason{Code: jobspec.CodeSpecTooLarge, Detail: fmt.Sprintf("%d further denials were left out", n-maxDenials)})
	}
	for i := range l.Reasons {
		r := &l.Reasons[i]
		r.Layer, r.Rule, r.Target, r.Detail = short(r.Layer), short(r.Rule), short(r.Target), short(r.Detail)
	}
	for i := range l.Denials {
		d := &l.Denials[i]
		d.Target, d.Rule, d.Certainty = shortTo(d.Target, maxTarget), short(d.Rule), short(d.Certainty)
	}
	if n := len(l.Connections); n > record.MaxConnections {
		l.Connections = l.Connections[:record.MaxConnections:record.MaxConnections]
		l.Reasons = append(l.Reasons, record.Reason{Code: jobspec.CodeSpecTooLarge, Detail: fmt.Sprintf("%d further connections were left out", n-record.MaxConnections)})
	}
	for i := range l.Connections {
		c := &l.Connections[i]
		c.Host, c.Address, c.Rule, c.Upstream = plain(c.Host, maxHost), plain(c.Address, maxText), plain(c.Rule, maxText), plain(c.Upstream, maxText)
	}
	return l
}

func short(s string) string { return shortTo(s, maxText) }

// plain is a text of which no byte needs an escape, as those of connections are:
// hosts, addresses and rules that were read.
func plain(s string, most int) string {
	return strings.NewReplacer(`"`, "?", `\`, "?").Replace(shortTo(s, most))
}

func shortTo(s string, most int) string {
	if len(s) > most {
		s = s[:most-3] + "..."
	}
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == utf8.RuneError {
			return '?'
		}
		return r
	}, s)
}

// reasonOf takes the reason out of an error: a *Refusal is one, another error
// may have a code.
func reasonOf(err error, otherwise jobspec.Code) record.Reason {
	var r *Refusal
	if errors.As(err, &r) {
		return r.Reason
	}
	return record.Reason{Code: jobspec.CodeOr(err, otherwise), Detail: err.Error()}
}

func reasonsOf(checks []jobspec.Check) []record.Reason {
	if len(checks) == 0 {
		return []record.Reason{{Code: jobspec.CodeInternal, Detail: "refused without a reason"}}
	}
	var all []record.Reason
	for _, c := range checks {
		all = append(all, record.Reason{Code: c.Code, Layer: c.Layer, Rule: c.Rule, Target: c.Target, Detail: c.Detail})
	}
	return all
}
