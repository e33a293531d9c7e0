package calendar

import (
	"fmt"
	"strings"
	"time"

	"github.com/sbxcron/sbxcron/jobspec"
)

// fits reports whether the parts are a schedule, so that a hint never advises
// what would be refused in turn.
func fits(parts []string) bool {
	if len(parts) != len(fields) {
		return false
	}
	for i, part := range parts {
		if _, r := fields[i].check(part); r != nil {
			return false
		}
	}
	return true
}

// tooMany refuses more than five fields.
func tooMany(parts []string) *refusal {
	const want = len(fields)
	first, last := parts[:want], parts[len(parts)-want:]
	advice := "there is no field for seconds or years"
	switch {
	case fits(first) && isYear(parts[want]):
		advice += fmt.Sprintf("; did you mean %q?", strings.Join(first, " "))
	case fits(last):
		advice += fmt.Sprintf("; did you mean %q?", strings.Join(last, " "))
	case fits(parts[1 : 1+want]):
		advice += fmt.Sprintf("; did you mean %q?", strings.Join(parts[1:1+want], " "))
	case fits(first):
		advice = "only the five fields belong into the schedule; the command follows --"
	}
	return refuse(advice, "%d fields, want %d", len(parts), want)
}

func isYear(text string) bool {
	if text == "*" {
		return false // as likely a weekday behind a field of seconds
	}
	return len(text) >= 4 && strings.Trim(text, "0123456789-,") == ""
}

// tooFew refuses fewer than five fields, with what the writer may have meant.
func tooFew(plain string, parts []string) *refusal {
	var missing []string
	for _, f := range fields[len(parts):] {
		missing = append(missing, f.name)
	}
	noun := "fields"
	if len(parts) == 1 {
		noun = "field"
	}
	return refuse(meant(plain), "%d %s, want %d; missing: %s", len(parts), noun, len(fields), strings.Join(missing, ", "))
}

func meant(plain string) string {
	lower := strings.ToLower(plain)
	if _, ok := shorthand["@"+lower]; ok {
		return "write @" + lower
	}
	if lower == "reboot" {
		return "give the job a time"
	}
	if t, err := time.Parse("15:04", plain); err == nil {
		return fmt.Sprintf(`write "%d %d * * *"`, t.Minute(), t.Hour())
	}
	if span, ok := strings.CutPrefix(lower, "every"); ok {
		return everyAdvice(span)
	}
	if _, err := jobspec.ParseSpan(lower); err == nil {
		return everyAdvice(lower)
	}
	return "write minute, hour, day of month, month, day of week"
}

// everyAdvice says how to write an interval, with the writer's own where it can
// be had.
func everyAdvice(text string) string {
	text = strings.TrimSpace(text)
	d, err := jobspec.ParseSpan(text)
	if err != nil || d < minuteSeconds*time.Second || d > 366*daySeconds*time.Second {
		text = "6h"
	}
	return fmt.Sprintf("use every = %q", text)
}

// stepAdvice says what to write in place of a step of n that never steps.
func (f *field) stepAdvice(n int) string {
	const inside = "a step is counted inside the field only"
	unit := map[string]string{"minute": "m", "hour": "h", "day of month": "d"}[f.name]
	if unit == "" {
		return inside + "; write the values"
	}
	return fmt.Sprintf("%s; for other distances use every = \"%d%s\"", inside, n, unit)
}
