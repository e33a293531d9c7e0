package checkpoint

import (
	"fmt"

	"github.com/sbxcron/sbxcron/jobspec"
)

// Error refuses a checkpoint, or what a ledger is beside one.
type Error struct {
	Reason jobspec.Code
	Detail string
}

func (e *Error) Error() string { return e.Detail }

// Code is the stable reason.
func (e *Error) Code() string { return string(e.Reason) }

// Hint is the one thing to do about it.
func (e *Error) Hint() string { return e.Reason.Remedy() }

func formError(detail string) error {
	return &Error{jobspec.CodeCheckpointInvalid, "not a checkpoint: " + detail}
}

func invalid(format string, args ...any) error {
	return &Error{jobspec.CodeCheckpointInvalid, fmt.Sprintf(format, args...)}
}
