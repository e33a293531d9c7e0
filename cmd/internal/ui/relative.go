package ui

import (
	"fmt"
	"time"
)

// Relative says how far t lies from now in one unit, cut down: "in 14h", "3d ago".
func Relative(t, now time.Time) string {
	d := t.Sub(now).Round(time.Second)
	if d < 0 {
		return Span(-d) + " ago"
	}
	if d < time.Second {
		return "now"
	}
	return "in " + Span(d)
}

// Span writes a duration in its largest unit, cut down.
func Span(d time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", d/time.Second)
	case d < time.Hour:
		return fmt.Sprintf("%dm", d/time.Minute)
	case d < 2*day:
		return fmt.Sprintf("%dh", d/time.Hour)
	default:
		return fmt.Sprintf("%dd", d/day)
	}
}
