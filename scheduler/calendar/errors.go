package calendar

import (
	"fmt"
	"strconv"

	"github.com/sbxcron/sbxcron/jobspec"
)

// Error refuses the text of a schedule or of a zone.
type Error struct {
	What   string // "schedule" or "timezone"
	Text   string // as given
	Detail string
	Advice string // what to write instead
	code   jobspec.Code
}

// Error quotes the text with escapes, so that nothing in it reaches a terminal.
func (e *Error) Error() string {
	return fmt.Sprintf("%s %s: %s", e.What, strconv.QuoteToASCII(shorten(e.Text)), e.Detail)
}

// Hint says what to write instead, or is empty.
func (e *Error) Hint() string { return e.Advice }

// Code is the stable reason: schedule_invalid, or spec_field_later. It is plain
// text, as of all errors: whoever turns errors into exit statuses looks for that.
func (e *Error) Code() string {
	if e.code == "" {
		return string(jobspec.CodeScheduleInvalid)
	}
	return string(e.code)
}

func shorten(s string) string {
	const most = 80
	if len(s) <= most {
		return s
	}
	return s[:most] + "..."
}

// refusal is a fault found inside a text, before the text is known.
type refusal struct{ detail, advice string }

func (r *refusal) in(what, text string) error {
	return &Error{What: what, Text: text, Detail: r.detail, Advice: r.advice}
}

func refuse(advice, format string, args ...any) *refusal {
	return &refusal{detail: fmt.Sprintf(format, args...), advice: advice}
}
