package jobspec

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"time"
)

// Digest is a SHA-256 hash. It is written "sha256:<64 hex digits>"; its zero
// value is the absence of a digest and equals the digest of no bytes that exist.
type Digest [sha256.Size]byte

const (
	digestPrefix = "sha256:"
	digestChars  = len(digestPrefix) + 2*sha256.Size
)

// DigestOf returns the SHA-256 digest of b.
func DigestOf(b []byte) Digest { return sha256.Sum256(b) }

// IsZero reports whether d stands for no digest.
func (d Digest) IsZero() bool { return d == Digest{} }

// String is "sha256:<hex>", or "" for the zero value.
func (d Digest) String() string {
	if d.IsZero() {
		return ""
	}
	return digestPrefix + hex.EncodeToString(d[:])
}

// Short is the form for people: the first 12 hex digits.
func (d Digest) Short() string { return hex.EncodeToString(d[:6]) }

// MarshalText implements encoding.TextMarshaler.
func (d Digest) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads what String writes, in lower case only. Empty text is no
// digest; canonical form never holds it.
func (d *Digest) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		*d = Digest{}
		return nil
	}
	var raw Digest
	bad := byte(0)
	if digits, ok := bytes.CutPrefix(text, []byte(digestPrefix)); ok && len(text) == digestChars {
		for i := range raw {
			high, low := hexValue[digits[2*i]], hexValue[digits[2*i+1]]
			raw[i] = high<<4 | low&0xf
			bad |= high | low
		}
	} else {
		bad = noHex
	}
	if bad&noHex != 0 {
		return fmt.Errorf("digest %q: want sha256: and 64 lower-case hex digits", text)
	}
	*d = raw
	return nil
}

// hexValue is what each lower-case hex digit stands for, noHex for all else. A chain
// has a digest in each op.
var hexValue = func() (all [256]byte) {
	for c := range all {
		all[c] = noHex
	}
	for i, c := range []byte("0123456789abcdef") {
		all[c] = byte(i)
	}
	return all
}()

const noHex = 0x80

// lowerHex reports whether s has lower-case hex digits only.
func lowerHex(s string) bool {
	for i := range len(s) {
		if hexValue[s[i]] == noHex {
			return false
		}
	}
	return true
}

// Name is the name of a job: [a-z0-9][a-z0-9._-]{0,62}.
type Name string

// ParseName checks a job's name.
func ParseName(s string) (Name, error) {
	if !isWord(s, 63, ".", "") {
		return "", fmt.Errorf("job name %q: want 1 to 63 of a-z, 0-9, '.', '_' and '-', beginning with a letter or digit", s)
	}
	return Name(s), nil
}

// Principal is the identity a signature speaks for: the first column of
// allowed_signers. [a-z][a-z0-9_.@-]{0,62}, so that no pattern, quote or space
// of that file's syntax can occur in it.
type Principal string

// ParsePrincipal checks a principal's name.
func ParsePrincipal(s string) (Principal, error) {
	if !isWord(s, 63, ".@", "0123456789") {
		return "", fmt.Errorf("principal %q: want 1 to 63 of a-z, 0-9, '.', '_', '-' and '@', beginning with a letter", s)
	}
	return Principal(s), nil
}

// isWord reports whether s is a lower-case word of at most max bytes with the
// extra characters allowed inside and none of notFirst at its start.
func isWord(s string, max int, extra, notFirst string) bool {
	if s == "" || len(s) > max {
		return false
	}
	for i := range len(s) {
		c := s[i]
		alnum := c >= 'a' && c <= 'z' || c >= '0' && c <= '9'
		inner := i > 0 && (c == '_' || c == '-' || strings.IndexByte(extra, c) >= 0)
		if !alnum && !inner || i == 0 && strings.IndexByte(notFirst, c) >= 0 {
			return false
		}
	}
	return true
}

// HostID names one installation: 32 lower-case hex digits drawn at init and
// kept in CONF/host, never in the database.
type HostID string

// ParseHostID checks a host id.
func ParseHostID(s string) (HostID, error) {
	if len(s) != 32 || !lowerHex(s) {
		return "", fmt.Errorf("host id %q: want 32 lower-case hex digits", s)
	}
	return HostID(s), nil
}

// Instant is a point in time to the second, written as RFC 3339 in UTC. Its
// zero value is the absence of a time.
type Instant struct{ unix int64 }

const instantLayout = "2006-01-02T15:04:05Z"

// InstantOf cuts t to the second.
func InstantOf(t time.Time) Instant { return Instant{t.Unix()} }

// Time returns the instant in UTC.
func (i Instant) Time() time.Time { return time.Unix(i.unix, 0).UTC() }

// IsZero reports whether i stands for no time.
func (i Instant) IsZero() bool { return i == Instant{} }

// Before reports whether i lies before u.
func (i Instant) Before(u Instant) bool { return i.unix < u.unix }

// Add moves i by d, cut to the second.
func (i Instant) Add(d time.Duration) Instant { return Instant{i.unix + int64(d/time.Second)} }

// String is the RFC 3339 form in UTC, or "" for the zero value.
func (i Instant) String() string {
	if i.IsZero() {
		return ""
	}
	return i.Time().Format(instantLayout)
}

// MarshalText implements encoding.TextMarshaler for years 1970 to 9999.
func (i Instant) MarshalText() ([]byte, error) {
	if i.unix < 0 || i.Time().Year() > 9999 {
		return nil, fmt.Errorf("time %d s after 1970 cannot be written", i.unix)
	}
	return []byte(i.String()), nil
}

// UnmarshalText reads exactly the form that MarshalText writes. Empty text is no
// time; canonical form never holds it.
func (i *Instant) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		*i = Instant{}
		return nil
	}
	at, ok := parseInstant(text)
	if !ok {
		return fmt.Errorf("time %q: want the form %s", text, instantLayout)
	}
	*i = at
	return nil
}

// parseInstant reads a time in exactly instantLayout, later than the first second of
// 1970. A chain has three in each op, and time.Parse takes several times as long.
func parseInstant(b []byte) (Instant, bool) {
	if len(b) != len(instantLayout) {
		return Instant{}, false
	}
	var n [6]int // year, month, day, hour, minute, second
	field := 0
	for i, c := range b {
		switch want := instantLayout[i]; {
		case want >= '0' && want <= '9':
			if c < '0' || c > '9' {
				return Instant{}, false
			}
			n[field] = 10*n[field] + int(c-'0')
		case c != want:
			return Instant{}, false
		default:
			field++
		}
	}
	if n[3] > 23 || n[4] > 59 || n[5] > 59 {
		return Instant{}, false
	}
	t := time.Date(n[0], time.Month(n[1]), n[2], n[3], n[4], n[5], 0, time.UTC)
	year, month, day := t.Date() // other than given where there is no such day
	return Instant{t.Unix()}, year == n[0] && int(month) == n[1] && day == n[2] && t.Unix() > 0
}
