package mask

import (
	"bytes"
	"encoding/json"
	"net/url"
	"regexp"
)

// A file of credentials often holds more than the secret: a host, a user, a name.
// A program then prints the secret alone, so it is looked for by itself, too,
// where the form of the line says which part of it that is.
var (
	// user information of a URL, as in .git-credentials
	userinfo = regexp.MustCompile(`[a-z][a-z0-9+.-]*://[^/@\s:"']*:([^/@\s"']+)@`)
	// host:port:database:user:password, with \: and \\ (.pgpass)
	pgpass = regexp.MustCompile(`^(?:(?:[^:\\]|\\.)*:){4}((?:[^:\\]|\\.)+)$`)
	// login name password secret (.netrc)
	netrc = regexp.MustCompile(`(?:^|\s)(?:password|account)\s+(\S+)`)
	// NAME=secret, NAME: secret and "NAME": "secret", where the name says so
	named = regexp.MustCompile(`(?i)(?:passw(?:or)?d|passphrase|pass|pwd|secret|token|auth|key|credentials?)["']?\s*[:=]\s*(?:("(?:[^"\\]|\\.)*")|'([^']+)'|([^\s"',;&]+))`)
	// a digit or sign of an escape in .pgpass
	escape = regexp.MustCompile(`\\(.)`)
)

// fields are the secrets within a line.
func fields(line []byte) [][]byte {
	var all [][]byte
	for _, m := range userinfo.FindAllSubmatch(line, -1) {
		all = append(all, m[1])
		if plain, err := url.PathUnescape(string(m[1])); err == nil {
			all = append(all, []byte(plain))
		}
	}
	if m := pgpass.FindSubmatch(line); m != nil {
		all = append(all, escape.ReplaceAll(m[1], []byte("$1")))
	}
	for _, m := range netrc.FindAllSubmatch(line, -1) {
		all = append(all, m[1])
	}
	for _, m := range named.FindAllSubmatch(line, -1) {
		all = append(all, bytes.Split(unquoted(m[1]), []byte("\n"))...) // a key within JSON has lines
		all = append(all, m[2], m[3])
	}
	return all
}

// unquoted is what stands between double quotes.
func unquoted(text []byte) []byte {
	var s string
	if len(text) < 2 {
		return nil
	}
	if err := json.Unmarshal(text, &s); err != nil {
		return text[1 : len(text)-1]
	}
	return []byte(s)
}
