package jobspec

import (
	"math"
	"net/url"
	"strings"
)

// A word that looks like a secret is asked about: argv and environment stand in
// the op and in the list of processes, and outlive the secret's use. What is
// found is shown only in part.

// tokenForms are how well-known tokens begin, and how long they are at least.
var tokenForms = [...]struct {
	prefix string
	least  int
}{
	{"ghp_", 36}, {"gho_", 36}, {"ghu_", 36}, {"ghs_", 36}, {"ghr_", 36}, {"github_pat_", 40}, {"glpat-", 20}, {"gldt-", 20}, {"glsa_", 20},
	{"AKIA", 20}, {"ASIA", 20}, {"sk-ant-", 20}, {"sk-proj-", 20}, {"sk-", 32}, {"sk_live_", 20}, {"rk_live_", 20}, {"xoxb-", 20}, {"xoxp-", 20},
	{"xoxa-", 20}, {"xoxr-", 20}, {"xapp-", 20}, {"AIza", 35}, {"ya29.", 20}, {"eyJ", 40}, {"npm_", 36}, {"pypi-", 20}, {"dop_v1_", 40}, {"hf_", 30},
	{"SG.", 40}, {"shpat_", 32}, {"AGE-SECRET-KEY-1", 40}, {"hvs.", 20}, {"dckr_pat_", 20}, {"lin_api_", 20}, {"tskey-", 20}, {"PMAK-", 20},
}

// secretNames are what options and variables that carry a secret are called.
var secretNames = [...]string{"password", "passwd", "passphrase", "pass", "pwd", "token", "secret", "apikey", "accesskey", "secretkey", "privatekey",
	"authtoken", "credential", "credentials", "bearer"}

// secretWords finds what looks like a secret in a command line and gives it
// shortened, each with the option before it.
func secretWords(argv []string) [][]string {
	var found [][]string
	for i, w := range argv {
		name, value, glued := strings.Cut(w, "=")
		switch {
		case looksSecret(w):
			found = append(found, []string{shortened(w)})
		case glued && secretName(name) && looksRandom(value):
			found = append(found, []string{name + "=" + shortened(value)})
		case !glued && strings.HasPrefix(w, "-") && secretName(w) && i+1 < len(argv) && looksRandom(argv[i+1]):
			found = append(found, []string{w, shortened(argv[i+1])})
		}
	}
	return found
}

// looksSecret knows tokens by their form, wherever they stand.
func looksSecret(text string) bool {
	if strings.Contains(text, "-----BEGIN ") && strings.Contains(text, "PRIVATE KEY-----") {
		return true
	}
	if urlWithPassword(text) {
		return true
	}
	for _, part := range strings.FieldsFunc(text, func(c rune) bool { return strings.ContainsRune(" \t\n\"'`=:,;()[]{}<>|&@/?", c) }) {
		for _, f := range tokenForms {
			if len(part) >= f.least && strings.HasPrefix(part, f.prefix) && isTokenText(part) {
				return true
			}
		}
	}
	return false
}

func isTokenText(s string) bool {
	digit, upper, lower := false, false, false
	for _, c := range s {
		switch {
		case c >= '0' && c <= '9':
			digit = true
		case c >= 'A' && c <= 'Z':
			upper = true
		case c >= 'a' && c <= 'z':
			lower = true
		case c == '-' || c == '_' || c == '.' || c == '+' || c == '~':
		default:
			return false
		}
	}
	return digit && (upper || lower)
}

// urlWithPassword finds scheme://user:password@host anywhere in a text.
func urlWithPassword(text string) bool {
	for rest := text; ; {
		i := strings.Index(rest, "://")
		if i < 0 {
			return false
		}
		tail := rest[i+3:]
		end := strings.IndexAny(tail, "/ \t\n\"'`?#")
		if end < 0 {
			end = len(tail)
		}
		if u, err := url.Parse("x://" + tail[:end]); err == nil && u.User != nil {
			if p, set := u.User.Password(); set && p != "" && !isPlaceholder(p) {
				return true
			}
		}
		rest = tail
	}
}

func secretName(name string) bool {
	flatName := flat(strings.TrimLeft(name, "-"))
	for _, s := range secretNames {
		if flatName == s || len(s) > 4 && strings.HasSuffix(flatName, s) {
			return true
		}
	}
	return false
}

// looksRandom reports whether a value that stands where a secret does could be
// one: not the place of a secret, and no plain word.
func looksRandom(value string) bool {
	return len(value) >= 6 && !isPlaceholder(value) && entropy(value)*float64(len(value)) >= 20
}

// isPlaceholder knows values that say where a secret is instead of being one.
func isPlaceholder(value string) bool {
	return value == "" || strings.ContainsAny(value[:1], "$@/.<%~-{") || hasAnyPrefix(value, "file:", "env:", "fd:", "pass:env", "vault:", "op://", "stdin", "https://", "http://") ||
		strings.Trim(value, "xX*.") == ""
}

// entropy is the Shannon entropy of a text in bits a character.
func entropy(s string) float64 {
	var counts [256]int
	for i := range len(s) {
		counts[s[i]]++
	}
	bits := 0.0
	for _, n := range counts {
		if n > 0 {
			p := float64(n) / float64(len(s))
			bits -= p * math.Log2(p)
		}
	}
	return bits
}

// shortened shows enough of a secret to find it, and no more.
func shortened(s string) string {
	const shown = 4
	if len(s) <= shown {
		return "..."
	}
	return s[:shown] + "..."
}

// secrets asks about everything in the spec that looks like a secret.
func (j *judge) secrets() {
	for _, words := range secretWords(j.spec.Argv) {
		j.asking(ruleSecret, words)
	}
	for _, name := range sortedKeys(j.spec.Env) {
		value := j.spec.Env[name]
		if looksSecret(value) || secretName(name) && looksRandom(value) {
			j.asking(ruleSecret, []string{name + "=" + shortened(value)})
		}
	}
	for _, text := range []struct{ field, text string }{{"script.body", j.spec.Script.Body}, {"stdin", j.spec.Stdin}} {
		if looksSecret(text.text) {
			j.asking(ruleSecret, []string{text.field})
		}
	}
}
