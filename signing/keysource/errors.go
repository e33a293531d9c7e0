package keysource

// KeyError says why a named key cannot sign.
type KeyError struct {
	what  string
	hint  string
	cause error
}

// Error is one line: what was tried with which key, and why it did not work.
func (e *KeyError) Error() string {
	if e.cause == nil {
		return e.what
	}
	return e.what + ": " + e.cause.Error()
}

// Unwrap is the cause, where there is one.
func (e *KeyError) Unwrap() error { return e.cause }

// Code is jobspec's key_unavailable, a room that signing may not import.
func (e *KeyError) Code() string { return "key_unavailable" }

// Hint says what to do.
func (e *KeyError) Hint() string { return e.hint }
