package cli

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// parseSpan reads a span of time: what time.ParseDuration takes, or whole days
// and weeks as in "90d" and "2w". It is never negative.
func parseSpan(text string) (time.Duration, error) {
	for unit, length := range map[string]time.Duration{"d": 24 * time.Hour, "w": 7 * 24 * time.Hour} {
		number, ok := strings.CutSuffix(text, unit)
		if !ok {
			continue
		}
		n, err := strconv.ParseInt(number, 10, 32)
		if err != nil || n < 0 || n > 36500 {
			return 0, fmt.Errorf("span %q: want a number before %q", text, unit)
		}
		return time.Duration(n) * length, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return 0, fmt.Errorf("span %q: want a number and s, m, h, d or w", text)
	}
	return d, nil
}

// spanFlag is a flag that holds a span of time.
type spanFlag struct{ to *time.Duration }

func (f spanFlag) String() string {
	if f.to == nil || *f.to == 0 {
		return ""
	}
	return f.to.String()
}

// Set implements pflag.Value.
func (f spanFlag) Set(text string) (err error) {
	*f.to, err = parseSpan(text)
	return err
}

// Type implements pflag.Value.
func (f spanFlag) Type() string { return "span" }
