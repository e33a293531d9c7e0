package cli

import (
	"errors"
	"time"
)

// instantFlag is a flag that holds one instant, written as job.toml has it: with its
// offset, so that it means the same wherever it is read.
type instantFlag struct{ to *time.Time }

func (f instantFlag) String() string {
	if f.to == nil || f.to.IsZero() {
		return ""
	}
	return f.to.Format(time.RFC3339)
}

// Set implements pflag.Value.
func (f instantFlag) Set(text string) error {
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return errors.New("write an instant with its offset, such as 2026-12-24T18:00:00+01:00")
	}
	*f.to = at
	return nil
}

// Type implements pflag.Value.
func (f instantFlag) Type() string { return "instant" }
