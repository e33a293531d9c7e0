package api

import (
	"errors"
	"net/http"
	"strings"

	"github.com/sbxcron/sbxcron/jobspec"
)

// Error is a refusal or failure with a stable code. Message says which object
// and why, in lower case; Help says what to do.
type Error struct {
	ErrCode jobspec.Code `json:"code"`
	Exit    int          `json:"exit"`
	Class   string       `json:"exit_class"`
	Message string       `json:"message"`
	Help    string       `json:"hint,omitempty"`
	Job     jobspec.Name `json:"job,omitempty"`
	Reasons []Reason     `json:"reasons,omitempty"`
	Head    *Head        `json:"head,omitempty"` // with head_moved: what to extend instead
}

func (e *Error) Error() string { return e.Message }

// Code is the stable code.
func (e *Error) Code() string { return string(e.ErrCode) }

// Hint says what to do.
func (e *Error) Hint() string { return e.Help }

// coded is what every error type of the rooms offers.
type coded interface {
	error
	Code() string
}

// Wrap turns any error into an *Error, keeping code and hint where it has them.
// Without a code the error is internal. Nil stays nil.
func Wrap(err error) *Error {
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	out := &Error{ErrCode: jobspec.CodeInternal, Message: err.Error()}
	if c, ok := errors.AsType[coded](err); ok {
		out.ErrCode = jobspec.Code(c.Code())
		out.Message = strings.TrimPrefix(out.Message, c.Code()+": ") // said beside it anyway
	}
	if h, ok := errors.AsType[interface {
		error
		Hint() string
	}](err); ok {
		out.Help = h.Hint()
	}
	return out.complete()
}

// New makes an error with a code; exit status, class and remedy follow from it.
func New(code jobspec.Code, message string) *Error {
	return (&Error{ErrCode: code, Message: message}).complete()
}

// complete fills what follows from the code.
func (e *Error) complete() *Error {
	class := e.ErrCode.Class()
	e.Exit, e.Class = class.Exit(), string(class)
	if e.Help == "" {
		e.Help = e.ErrCode.Remedy()
	}
	return e
}

// HTTPStatus is the status that carries e over the socket.
func (e *Error) HTTPStatus() int {
	switch jobspec.Class(e.Class) {
	case jobspec.ClassNotFound:
		return http.StatusNotFound
	case jobspec.ClassDenied:
		return http.StatusForbidden
	case jobspec.ClassConflict, jobspec.ClassBusy:
		return http.StatusConflict
	default:
		return http.StatusUnprocessableEntity
	}
}
