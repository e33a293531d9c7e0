package jobspec

import "errors"

// Class is the kind of answer that a code is to a script: one word in JSON, one
// exit status. Its zero value is no class and exits as an unknown error.
type Class string

// The classes, as the table of exit statuses names them.
const (
	ClassOther       Class = "other"
	ClassProblems    Class = "problems"
	ClassNotFound    Class = "not_found"
	ClassConflict    Class = "conflict"
	ClassSignature   Class = "signature"
	ClassSigner      Class = "signer"
	ClassTampered    Class = "tampered"
	ClassPolicy      Class = "policy"
	ClassSandbox     Class = "sandbox"
	ClassAudit       Class = "audit"
	ClassUsage       Class = "usage"
	ClassData        Class = "data"
	ClassUnavailable Class = "unavailable"
	ClassBusy        Class = "busy"
	ClassDenied      Class = "denied"
	ClassConfig      Class = "config"
)

// Exit is the exit status of the class. From 64 on the numbers are those of
// sysexits(3).
func (c Class) Exit() int {
	switch c {
	case ClassProblems:
		return 3
	case ClassNotFound:
		return 4
	case ClassConflict:
		return 5
	case ClassSignature:
		return 10
	case ClassSigner:
		return 11
	case ClassTampered:
		return 12
	case ClassPolicy:
		return 13
	case ClassSandbox:
		return 14
	case ClassAudit:
		return 20
	case ClassUsage:
		return 64
	case ClassData:
		return 65
	case ClassUnavailable:
		return 69
	case ClassBusy:
		return 75
	case ClassDenied:
		return 77
	case ClassConfig:
		return 78
	default:
		return 1
	}
}

// Classes are all classes, by rising exit status.
func Classes() []Class {
	return []Class{ClassOther, ClassProblems, ClassNotFound, ClassConflict, ClassSignature, ClassSigner,
		ClassTampered, ClassPolicy, ClassSandbox, ClassAudit, ClassUsage, ClassData, ClassUnavailable,
		ClassBusy, ClassDenied, ClassConfig}
}

// Known reports whether c is one of ours. The empty code is not.
func (c Code) Known() bool {
	_, ok := codeFacts[c]
	return ok
}

// Remedy is the one thing to do about c, "" for an unknown code. It never tells
// anybody to run a job without its sandbox.
func (c Code) Remedy() string { return codeFacts[c].remedy }

// Class is the kind of answer that c is; ClassOther for an unknown code.
func (c Code) Class() Class {
	if f, ok := codeFacts[c]; ok {
		return f.class
	}
	return ClassOther
}

// Codes are all codes, in no order.
func Codes() []Code {
	all := make([]Code, 0, len(codeFacts))
	for c := range codeFacts {
		all = append(all, c)
	}
	return all
}

// MarshalText implements encoding.TextMarshaler.
func (c Code) MarshalText() ([]byte, error) { return []byte(c), nil }

// UnmarshalText refuses a code that this version does not know, so that signed
// bytes and records never carry a reason that nobody can explain. Empty text is
// no reason; canonical form never holds it.
func (c *Code) UnmarshalText(text []byte) error {
	if len(text) > 0 && !Code(text).Known() {
		return &WordError{What: "reason code", Word: string(text), Reason: CodeSpecMalformed, Remedy: "codes are a closed list"}
	}
	*c = Code(text)
	return nil
}

// FieldError refuses one field of a draft or of a file, by its name.
type FieldError struct {
	Reason Code
	Field  string
	Detail string
	Remedy string // "" for the code's own
}

func (e *FieldError) Error() string { return e.Field + ": " + e.Detail }

// Code is the reason as errors of every package give it.
func (e *FieldError) Code() string { return string(e.Reason) }

// Hint says what to write instead.
func (e *FieldError) Hint() string {
	if e.Remedy != "" {
		return e.Remedy
	}
	return e.Reason.Remedy()
}

// CodeOf is the first code in err's chain: CodeInternal where there is none that
// is known, and no code for nil.
func CodeOf(err error) Code { return CodeOr(err, CodeInternal) }

// CodeOr is CodeOf for a caller that knows what an error without a code means.
func CodeOr(err error, otherwise Code) Code {
	if err == nil {
		return ""
	}
	var coded interface{ Code() string }
	if errors.As(err, &coded) && Code(coded.Code()).Known() {
		return Code(coded.Code())
	}
	return otherwise
}
