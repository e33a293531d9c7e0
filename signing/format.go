package signing

import (
	"fmt"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"
)

// FormatSigner writes the line of allowed_signers for s, newline included, as
// both this package and stock ssh-keygen read it. Principal, Key and Namespaces
// are needed; times are rounded down to the second. What this package would not
// read again is an error.
func FormatSigner(s Signer) (string, error) {
	if s.Key == nil {
		return "", fmt.Errorf("write allowed_signers line of %q: no key", s.Principal)
	}
	opts := []string{`namespaces="` + strings.Join(s.Namespaces, ",") + `"`}
	if !s.ValidAfter.IsZero() {
		opts = append(opts, timeOption("valid-after", s.ValidAfter))
	}
	if !s.ValidBefore.IsZero() {
		opts = append(opts, timeOption("valid-before", s.ValidBefore))
	}
	line := s.Principal + " " + strings.Join(opts, ",") + " " + keyLine(s.Key)
	if _, err := parseSigner(line, every()); err != nil {
		return "", fmt.Errorf("write allowed_signers line of %q: %w", s.Principal, err)
	}
	return line + "\n", nil
}

// FormatRevoked writes the line of revoked_keys for a key, newline included.
func FormatRevoked(key ssh.PublicKey) string { return keyLine(key) + "\n" }

func timeOption(name string, at time.Time) string {
	return name + `="` + at.UTC().Format(timeLayout) + `"`
}
