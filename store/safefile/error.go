package safefile

import (
	"fmt"

	"github.com/sbxcron/sbxcron/jobspec"
)

// Error says which file or folder is not safe to trust, why, and what to type.
type Error struct {
	Path   string
	Reason string
	Fix    string // a shell command or a sentence; "" where nothing helps
}

func (e *Error) Error() string { return fmt.Sprintf("%q is not safe to use: %s", e.Path, e.Reason) }

// Code is the stable name of the refusal.
func (e *Error) Code() string { return string(jobspec.CodeStorePerms) }

// Hint is what a person can do about it.
func (e *Error) Hint() string { return e.Fix }
