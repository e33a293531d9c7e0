package runner

import (
	"crypto/subtle"
	"fmt"
	"io"
)

// Secret is the value of a credential. However it is printed, it says its name
// and nothing else.
type Secret struct {
	name  string
	value []byte
}

// NewSecret takes value over: Clear overwrites it.
func NewSecret(name string, value []byte) *Secret { return &Secret{name, value} }

// Name is the name of the credential.
func (s *Secret) Name() string { return s.name }

// Reveal gives the value to a backend that puts it into a sandbox. Nobody else
// has a use for it, and nobody keeps it.
func (s *Secret) Reveal() []byte { return s.value }

// Is reports whether the value is this one.
func (s *Secret) Is(value []byte) bool { return subtle.ConstantTimeCompare(s.value, value) == 1 }

// Clear overwrites the value, up to the end of the memory that was taken over.
func (s *Secret) Clear() {
	if s != nil {
		clear(s.value[:cap(s.value)])
		s.value = nil
	}
}

// String says the name.
func (s *Secret) String() string { return "credential " + s.name }

// GoString says the name, for %#v.
func (s *Secret) GoString() string { return s.String() }

// Format says the name, whatever the verb.
func (s *Secret) Format(w fmt.State, _ rune) { _, _ = io.WriteString(w, s.String()) } // fmt has no errors

// MarshalText says the name, for JSON and logs.
func (s *Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }
