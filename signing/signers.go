package signing

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"
)

// atLine names the line of a trust file.
func atLine(n int, err error) error { return fmt.Errorf("line %d: %w", n, err) }

// parseSigners reads allowed_signers whole or not at all. OpenSSH skips lines
// that it cannot read and takes the most generous of several lines for one key;
// here the first is an error and so is the second line of a key.
func parseSigners(file []byte, a Algorithms) ([]Signer, error) {
	text, err := lines(file)
	if err != nil {
		return nil, err
	}
	var out []Signer
	seen := make(map[string]int)
	for i, line := range text {
		if skipped(line) {
			continue
		}
		s, err := parseSigner(line, a)
		if err != nil {
			return nil, atLine(i+1, err)
		}
		if first, twice := seen[s.KeyID]; twice {
			return nil, atLine(i+1, fmt.Errorf("the key of line %d again", first))
		}
		seen[s.KeyID] = i + 1
		out = append(out, s)
	}
	if len(out) == 0 {
		return nil, errors.New("names no signer")
	}
	return out, nil
}

// parseSigner reads "principal options keytype base64 [comment]", the fields
// parted by one space each.
func parseSigner(line string, a Algorithms) (Signer, error) {
	f := strings.SplitN(line, " ", 3)
	if len(f) < 3 {
		return Signer{}, errors.New("not: principal options keytype key")
	}
	if !plainName(f[0]) {
		return Signer{}, errors.New("principal is not one plain name (patterns, lists and quotes are not accepted)")
	}
	s := Signer{Principal: f[0]}
	if err := s.options(f[1]); err != nil {
		return Signer{}, err
	}
	blob, err := keyText(f[2])
	if err != nil {
		return Signer{}, err
	}
	s.Key, err = ParseKey(blob, a)
	if err != nil {
		return Signer{}, err
	}
	s.KeyID = KeyID(s.Key)
	return s, nil
}

// keyText reads "keytype base64 [comment]" and returns the wire form, whose own
// type must be the one that stands before it.
func keyText(text string) ([]byte, error) {
	f := strings.SplitN(text, " ", 3)
	if len(f) < 2 {
		return nil, errors.New("no key")
	}
	if len(f) == 3 && (strings.TrimSpace(f[2]) != f[2] || f[2] == "") {
		return nil, errors.New("spaces around the comment")
	}
	blob, err := base64.StdEncoding.Strict().DecodeString(f[1])
	if err != nil {
		return nil, errors.New("key is not base64")
	}
	keyType, _, err := shapeOf(blob)
	if err != nil {
		return nil, fmt.Errorf("key: %w", err)
	}
	if keyType != f[0] {
		return nil, fmt.Errorf("key is %s inside, but the line says %.64q", keyType, f[0])
	}
	return blob, nil
}

// options reads a comma-separated list of name="value". A comma inside quotes
// belongs to the value.
func (s *Signer) options(text string) error {
	seen := make(map[string]bool)
	for rest := text; ; {
		name, after, ok := strings.Cut(rest, `="`)
		if !ok {
			return fmt.Errorf("option %.64q is not name=\"value\"", rest)
		}
		value, after, ok := strings.Cut(after, `"`)
		if !ok {
			return fmt.Errorf("option %.64q has no closing quote", name)
		}
		if seen[name] {
			return fmt.Errorf("option %.64q twice", name)
		}
		seen[name] = true
		if err := s.option(name, value); err != nil {
			return err
		}
		if after == "" {
			break
		}
		if after[0] != ',' {
			return fmt.Errorf("something after the value of option %.64q", name)
		}
		rest = after[1:]
	}
	return s.complete(seen)
}

// option sets one option.
func (s *Signer) option(name, value string) (err error) {
	switch name {
	case "namespaces":
		s.Namespaces, err = parseNamespaces(value)
	case "valid-after":
		s.ValidAfter, err = parseTime(value)
	case "valid-before":
		s.ValidBefore, err = parseTime(value)
	default:
		return fmt.Errorf("option %.64q is not accepted (namespaces, valid-after, valid-before are)", name)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// complete judges the options together. A line without namespaces would be good
// for all of them.
func (s *Signer) complete(seen map[string]bool) error {
	if !seen["namespaces"] {
		return errors.New("no namespaces option")
	}
	if seen["valid-after"] && seen["valid-before"] && !s.ValidAfter.Before(s.ValidBefore) {
		return errors.New("valid-after is not before valid-before")
	}
	return nil
}

func parseNamespaces(list string) ([]string, error) {
	names := strings.Split(list, ",")
	seen := make(map[string]bool)
	for _, n := range names {
		if !validNamespace(n) {
			return nil, fmt.Errorf("%.64q is not a plain name", n)
		}
		if seen[n] {
			return nil, fmt.Errorf("%q twice", n)
		}
		seen[n] = true
	}
	return names, nil
}

// parseTime reads YYYYMMDDZ, YYYYMMDDHHMMZ or YYYYMMDDHHMMSSZ. ssh-keygen(1)
// also takes them without Z, in the zone of whoever reads: not accepted, for
// two machines would disagree.
func parseTime(text string) (time.Time, error) {
	for _, layout := range []string{"20060102Z", "200601021504Z", timeLayout} {
		if len(text) != len(layout) {
			continue
		}
		at, err := time.Parse(layout, text)
		if err == nil && at.Year() >= 2000 {
			return at, nil
		}
	}
	return time.Time{}, fmt.Errorf("%.64q is not a time from 2000 on such as 20271130120000Z", text)
}

const timeLayout = "20060102150405Z"

// parseRevoked reads a plain list of public keys of any type. Naming a key twice
// says nothing new and is accepted; an odd line is not, for it may be a key that
// somebody believes to be revoked.
func parseRevoked(file []byte) (map[string]bool, error) {
	text, err := lines(file)
	if err != nil {
		return nil, err
	}
	out := make(map[string]bool)
	for i, line := range text {
		if skipped(line) {
			continue
		}
		blob, err := keyText(line)
		if err != nil {
			return nil, atLine(i+1, err)
		}
		out[string(blob)] = true
	}
	return out, nil
}

// keyLine is a key as both files write it, without comment.
func keyLine(key ssh.PublicKey) string {
	return key.Type() + " " + base64.StdEncoding.EncodeToString(key.Marshal())
}
