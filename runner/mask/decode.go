package mask

import (
	"unicode/utf16"
	"unicode/utf8"
)

// decoder turns the stream into bytes for its machine.
type decoder interface {
	put(p []byte, at int64) // the bytes from that offset on
	since() int64           // where what is not decided yet begins, never for nowhere
	end()
}

// plain decodes nothing.
type plain struct{ machine }

func (d *plain) put(p []byte, at int64) {
	for i, c := range p {
		if d.state != 0 || d.a.root[c] != 0 {
			d.step(c, at+int64(i), at+int64(i)+1)
		}
	}
}

// percent decodes %41, and in a form + as a space.
type percent struct {
	machine
	form bool
	n    int // bytes of an escape that were seen
	hi   byte
	at   int64
}

func (d *percent) put(p []byte, at int64) {
	for i, c := range p {
		if d.n > 0 || c == '%' || d.state != 0 || c == '+' || d.a.root[c] != 0 {
			d.one(c, at+int64(i))
		}
	}
}

func (d *percent) one(c byte, at int64) {
	switch {
	case d.n == 0 && c == '%':
		d.n, d.at = 1, at
	case d.n == 0:
		d.literal(c, at)
	case d.n == 1 && nibble(c) >= 0:
		d.n, d.hi = 2, c
	case d.n == 2 && nibble(c) >= 0:
		d.n = 0
		d.step(byte(nibble(d.hi)<<4|nibble(c)), d.at, at+1)
	default:
		d.flush()
		d.one(c, at)
	}
}

func (d *percent) literal(c byte, at int64) {
	if d.form && c == '+' {
		c = ' '
	}
	d.step(c, at, at+1)
}

// flush takes what turned out to be no escape as it stands.
func (d *percent) flush() {
	n := d.n
	d.n = 0
	if n > 0 {
		d.literal('%', d.at)
	}
	if n > 1 {
		d.literal(d.hi, d.at+1)
	}
}

func (d *percent) since() int64 { return undecided(d.machine.since(), d.n > 0, d.at) }

func (d *percent) end() {
	d.machine.end() // the value may end before an escape that does not
	d.flush()
	d.machine.end()
}

// escaped decodes \n, \", \x41, \u0041, with surrogates, and \U00000041, and takes any other
// character behind a backslash for itself.
type escaped struct {
	machine
	seen [12]byte // an escape that is not complete: at most two of six bytes
	n    int
	at   int64
}

func (d *escaped) put(p []byte, at int64) {
	for i, c := range p {
		if d.n > 0 || c == '\\' || d.state != 0 || d.a.root[c] != 0 {
			d.one(c, at+int64(i))
		}
	}
}

func (d *escaped) one(c byte, at int64) {
	if d.n == 0 {
		if c == '\\' {
			d.seen[0], d.n, d.at = c, 1, at
			return
		}
		d.step(c, at, at+1)
		return
	}
	d.seen[d.n] = c
	d.n++
	text, complete, good := unescape(d.seen[:d.n])
	switch {
	case !good:
		d.flush()
	case complete:
		d.n = 0
		for _, b := range text {
			d.step(b, d.at, at+1)
		}
	}
}

// flush takes an escape that turned out to be none for its second character and
// what follows that.
func (d *escaped) flush() {
	seen, n, at := d.seen, d.n, d.at
	d.n = 0
	if n == 1 {
		d.step('\\', at, at+1)
	}
	if n < 2 {
		return
	}
	d.step(seen[1], at, at+2)
	for i, c := range seen[2:n] {
		d.one(c, at+2+int64(i))
	}
}

func (d *escaped) since() int64 { return undecided(d.machine.since(), d.n > 0, d.at) }

func (d *escaped) end() {
	d.machine.end()
	for d.n > 0 {
		d.flush()
	}
	d.machine.end()
}

// unescape reads an escape as far as it was seen: at least two bytes.
func unescape(s []byte) (text []byte, complete, good bool) {
	switch s[1] {
	case 'x':
		v, ok := hexNumber(s[2:])
		return []byte{byte(v)}, len(s) == 4, ok
	case 'U':
		v, ok := hexNumber(s[2:])
		return utf8.AppendRune(nil, rune(v)), len(s) == 10, ok
	case 'u':
		return unescapeRune(s)
	}
	c := s[1]
	for _, pair := range []string{"n\n", "t\t", "r\r", "b\b", "f\f"} {
		if pair[0] == c {
			c = pair[1]
		}
	}
	return []byte{c}, true, true
}

func unescapeRune(s []byte) (text []byte, complete, good bool) {
	v, ok := hexNumber(s[2:min(len(s), 6)])
	switch {
	case !ok || len(s) < 6:
		return nil, false, ok
	case !utf16.IsSurrogate(rune(v)):
		return utf8.AppendRune(nil, rune(v)), true, true
	case len(s) > 6 && s[6] != '\\' || len(s) > 7 && s[7] != 'u':
		return nil, false, false
	case len(s) < 8:
		return nil, false, true
	}
	low, ok := hexNumber(s[8:])
	return utf8.AppendRune(nil, utf16.DecodeRune(rune(v), rune(low))), len(s) == 12, ok
}

func hexNumber(s []byte) (v int, ok bool) {
	for _, c := range s {
		n := nibble(c)
		if n < 0 {
			return 0, false
		}
		v = v<<4 | n
	}
	return v, true
}

func nibble(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c >= 'a' && c <= 'f':
		return int(c-'a') + 10
	case c >= 'A' && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}

func undecided(since int64, pending bool, at int64) int64 {
	if pending {
		return min(since, at)
	}
	return since
}
