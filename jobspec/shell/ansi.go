package shell

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// ansi reads the escapes of $'...' as bash does.
func ansi(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 >= len(s) {
			b.WriteByte(s[i])
			continue
		}
		i++
		i += escape(&b, s[i:]) - 1
		if end := strings.IndexByte(b.String(), 0); end >= 0 {
			return b.String()[:end] // a NUL ends the string
		}
	}
	return b.String()
}

// escape appends what the escape after a backslash stands for and says how many
// bytes it took.
func escape(b *strings.Builder, s string) int {
	if i := strings.IndexByte(`abeEfnrtv\'"?`, s[0]); i >= 0 {
		b.WriteByte("\a\b\x1b\x1b\f\n\r\t\v\\'\"?"[i])
		return 1
	}
	switch c := s[0]; {
	case c >= '0' && c <= '7':
		n, v := digits(s, 3, 8)
		b.WriteByte(byte(v))
		return n
	case c == 'x':
		if n, v := digits(s[1:], 2, 16); n > 0 {
			b.WriteByte(byte(v))
			return n + 1
		}
	case c == 'u' || c == 'U':
		most := 4
		if c == 'U' {
			most = 8
		}
		if n, v := digits(s[1:], most, 16); n > 0 && utf8.ValidRune(rune(v)) {
			b.WriteRune(rune(v))
			return n + 1
		}
	case c == 'c' && len(s) > 1:
		b.WriteByte(s[1] & 0x1f)
		return 2
	}
	b.WriteByte('\\')
	b.WriteByte(s[0])
	return 1
}

// digits reads at most so many digits of a base.
func digits(s string, most, base int) (n int, value uint64) {
	for n < most && n < len(s) {
		d, err := strconv.ParseUint(s[n:n+1], base, 8)
		if err != nil {
			break
		}
		value, n = value*uint64(base)+d, n+1
	}
	return n, value
}
