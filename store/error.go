package store

import (
	"errors"
	"fmt"
	"strings"
	"syscall"

	"github.com/sbxcron/sbxcron/jobspec"
)

// NoSeq is the Seq of an Error that is about no single op.
const NoSeq = -1

// Error says that something remembered is missing, damaged or not what the pin
// says. Nothing may run after it; reading history stays possible.
type Error struct {
	Reason jobspec.Code
	Seq    int64 // the op that is at fault, or NoSeq
	Path   string
	Detail string
	Err    error // cause, where there is one
}

func (e *Error) Error() string {
	var b strings.Builder
	if e.Seq != NoSeq {
		fmt.Fprintf(&b, "op %d in ", e.Seq)
	}
	fmt.Fprintf(&b, "%q: %s", e.Path, e.Detail)
	if e.Err != nil {
		fmt.Fprintf(&b, ": %v", e.Err)
	}
	return b.String()
}

// Code is the stable reason.
func (e *Error) Code() string { return string(e.Reason) }

func (e *Error) Unwrap() error { return e.Err }

// UninitialisedError says that there is no installation here at all: neither
// host id nor pin nor chain.
type UninitialisedError struct{ Conf string }

func (e *UninitialisedError) Error() string {
	return fmt.Sprintf("no installation of sbxcron in %q", e.Conf)
}

// Code is the stable reason.
func (e *UninitialisedError) Code() string { return string(jobspec.CodeInitIncomplete) }

// Hint says what to type.
func (e *UninitialisedError) Hint() string {
	return "make one with: sbxcron init; or name the folder of another with --root"
}

// LockedError says that another process holds what only one may hold.
type LockedError struct {
	Path string
	PID  int // of the holder, 0 where it is not known
}

func (e *LockedError) Error() string {
	if e.PID == 0 {
		return fmt.Sprintf("%q is locked by another process", e.Path)
	}
	return fmt.Sprintf("%q is locked by process %d", e.Path, e.PID)
}

// Code is the stable reason.
func (e *LockedError) Code() string { return string(jobspec.CodeStoreLocked) }

// UnknownStateError says that a write failed after it began. It may have
// happened or not; a retry could do it twice, so the handle refuses more work.
type UnknownStateError struct {
	Reason jobspec.Code
	Step   string
	Err    error
}

func (e *UnknownStateError) Error() string {
	return fmt.Sprintf("%s: state unknown, open the store again: %v", e.Step, e.Err)
}

// Code is the stable reason.
func (e *UnknownStateError) Code() string { return string(e.Reason) }

// Hint says what to do where the disk is the cause.
func (e *UnknownStateError) Hint() string {
	if noSpace(e.Err) {
		return "free disk space, then run the command again"
	}
	return e.Reason.Remedy()
}

// unknownState is about the chain or the pin. Without disk space nothing can be
// recorded, which is no defect of ours.
func unknownState(step string, err error) *UnknownStateError {
	code := jobspec.CodeInternal
	if noSpace(err) {
		code = jobspec.CodeAuditUnavailable
	}
	return &UnknownStateError{Reason: code, Step: step, Err: err}
}

func noSpace(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

func (e *UnknownStateError) Unwrap() error { return e.Err }
