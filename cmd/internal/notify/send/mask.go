package send

import (
	"cmp"
	"encoding/base64"
	"net/url"
	"slices"
	"strings"
)

// masked stands for a secret in what a server said.
const masked = "[secret]"

// leastPiece is the shortest piece of a secret that is taken out where it stands
// for the whole: a part of a path, and what is left of one at the end of a text
// that was cut.
const leastPiece = 4

// mask takes the channel's secrets out of what becomes a line of the ledger and of
// the log: many servers say what they were asked, and a place that gets no answer
// under a secret path says that path.
func (t Task) mask(said string) string {
	words := t.words()
	for _, w := range words {
		said = strings.ReplaceAll(said, w, masked)
	}
	most := 0
	for _, w := range words {
		for n := min(len(w), len(said)); n >= leastPiece; n-- {
			if strings.HasSuffix(said, w[:n]) {
				most = max(most, n)
				break
			}
		}
	}
	if most > 0 {
		said = said[:len(said)-most] + masked
	}
	return said[:min(len(said), MaxSaid)]
}

// words are the forms in which secrets are sent, as plain writes them, the longest
// first.
func (t Task) words() []string {
	var all []string
	for name, value := range t.Secrets {
		if name == t.Channel.CA {
			continue // certificates are no secret
		}
		s := strings.TrimRight(string(value), "\r\n")
		all = append(all, s, base64.StdEncoding.EncodeToString([]byte(s)),
			base64.StdEncoding.EncodeToString([]byte("\x00"+t.Channel.User+"\x00"+s)), url.QueryEscape(s), url.PathEscape(s))
		if strings.Contains(s, "://") {
			all = append(all, pieces(s)...)
		}
	}
	for i, w := range all {
		all[i] = plain(w, len(w)*4)
	}
	all = slices.DeleteFunc(all, func(w string) bool { return w == "" })
	slices.SortFunc(all, func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), strings.Compare(a, b)) })
	return slices.Compact(all)
}

// pieces are the parts of a secret URL that a server may say alone.
func pieces(s string) []string {
	u, err := url.Parse(s)
	if err != nil {
		return nil
	}
	parts := append(strings.Split(u.EscapedPath(), "/"), strings.Split(u.Path, "/")...)
	parts = append(parts, strings.FieldsFunc(u.RawQuery, func(r rune) bool { return r == '&' || r == '=' })...)
	return slices.DeleteFunc(parts, func(p string) bool { return len(p) < leastPiece })
}
