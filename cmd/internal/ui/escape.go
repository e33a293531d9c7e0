package ui

import (
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Escape makes text of others safe to show on one line: control characters,
// ESC, line ends, bidirectional and other invisible format characters and
// broken UTF-8 become \xNN, \uNNNN or \UNNNNNNNN. A backslash stays as it is, so
// text that was escaped before does not change; who needs the exact bytes takes
// --json.
func Escape(s string) string {
	if isPlain(s) {
		return s
	}
	var b strings.Builder
	writeEscaped(&b, []byte(s), false)
	return b.String()
}

// isPlain reports whether s is printable ASCII, which most text is.
func isPlain(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

// writeEscaped writes p; with lines, a line feed and a tab stay what they are.
func writeEscaped(b *strings.Builder, p []byte, lines bool) {
	for len(p) > 0 {
		r, n := utf8.DecodeRune(p)
		switch {
		case lines && (r == '\n' || r == '\t'):
			b.WriteRune(r)
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(b, `\x%02x`, p[0])
		case unicode.IsPrint(r):
			// IsPrint is false for controls, for format characters (bidi, zero
			// width) and for every space but U+0020.
			b.WriteRune(r)
		case r < utf8.RuneSelf:
			fmt.Fprintf(b, `\x%02x`, r)
		case r <= 0xffff:
			fmt.Fprintf(b, `\u%04x`, r)
		default:
			fmt.Fprintf(b, `\U%08x`, r)
		}
		p = p[n:]
	}
}

// EscapeWriter passes a stream on to a terminal, escaped as by Escape but with
// its line feeds and tabs. Close writes what is left of a rune that was cut off.
type EscapeWriter struct {
	W    io.Writer
	rest []byte // first bytes of a rune whose end has not come yet
}

// Write escapes p. It keeps at most three bytes back.
func (e *EscapeWriter) Write(p []byte) (int, error) {
	data := append(e.rest, p...)
	cut := len(data)
	for i := 1; i <= 3 && i <= len(data); i++ {
		if c := data[len(data)-i]; utf8.RuneStart(c) {
			if !utf8.FullRune(data[len(data)-i:]) {
				cut = len(data) - i
			}
			break
		}
	}
	var b strings.Builder
	writeEscaped(&b, data[:cut], true)
	e.rest = append([]byte(nil), data[cut:]...)
	if _, err := io.WriteString(e.W, b.String()); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Close flushes an unfinished rune. It does not close the writer below.
func (e *EscapeWriter) Close() error {
	var b strings.Builder
	writeEscaped(&b, e.rest, true)
	e.rest = nil
	_, err := io.WriteString(e.W, b.String())
	return err
}
