package cli

import (
	"time"

	"github.com/sbxcron/sbxcron/jobspec"
)

// spanFlag is a flag that holds a span of time, written as job.toml has it: whole
// seconds, so that nothing of what was typed is cut off where it is signed.
type spanFlag struct{ to *time.Duration }

func (f spanFlag) String() string {
	if f.to == nil || *f.to == 0 {
		return ""
	}
	return f.to.String()
}

// Set implements pflag.Value.
func (f spanFlag) Set(text string) (err error) {
	*f.to, err = jobspec.ParseSpan(text)
	return err
}

// Type implements pflag.Value.
func (f spanFlag) Type() string { return "span" }
