package mask

import "strings"

// Separators that may stand between digits, and how many in a row: line ends of
// wrapped base64, and what dumps put between two bytes.
const (
	hexBetween = " \t\r\n:-,\\x"
	maxBetween = 2
)

// hexadecimal decodes pairs of digits. Of a row of digits one decoder begins at
// the first and another at the second.
type hexadecimal struct {
	machine
	odd     bool
	running bool
	half    bool // hi is the first of a pair
	hi      byte
	at      int64
	between int
}

func (d *hexadecimal) put(p []byte, at int64) {
	for i, c := range p {
		if v := nibbles[c]; v != noDigit || d.running {
			d.one(c, v, at+int64(i))
		}
	}
}

func (d *hexadecimal) one(c, v byte, at int64) {
	switch {
	case v != noDigit && !d.running && d.odd:
		d.running = true
	case v != noDigit && d.half:
		d.half, d.between = false, 0
		d.step(d.hi<<4|v, d.at, at+1)
	case v != noDigit:
		d.running, d.half, d.hi, d.at, d.between = true, true, v, at, 0
	case d.running && !d.half && d.between < maxBetween && strings.IndexByte(hexBetween, c) >= 0:
		d.between++
	case d.running:
		d.running, d.half, d.between = false, false, 0
		d.reset()
	}
}

func (d *hexadecimal) since() int64 { return undecided(d.machine.since(), d.half, d.at) }

// base64 decodes both alphabets, which differ in the last two digits. Of a row
// of digits each of four decoders begins at another one.
type base64 struct {
	machine
	phase   int
	n       int // digits of the row
	last    byte
	at      int64 // of the last digit
	between int
}

func (d *base64) put(p []byte, at int64) {
	for i, c := range p {
		if v := sextets[c]; v != noDigit {
			d.digit(v, at+int64(i))
		} else if d.n != 0 || d.state != 0 {
			d.other(c)
		}
	}
}

func (d *base64) digit(v byte, at int64) {
	d.between = 0
	switch d.n - d.phase {
	case 1:
		d.step(d.last<<2|v>>4, d.at, at+1)
	case 2:
		d.step(d.last<<4|v>>2, d.at, at+1)
	case 3:
		d.step(d.last<<6|v, d.at, at+1)
		d.n = d.phase - 1
	}
	d.n++
	d.last, d.at = v, at
}

// other takes a byte that is no digit.
func (d *base64) other(c byte) {
	if d.between < maxBetween && (c == '\n' || c == '\r') {
		d.between++
		return
	}
	d.n, d.between = 0, 0
	d.reset()
}

func (d *base64) since() int64 { return undecided(d.machine.since(), d.n > 0, d.at) }

const noDigit = 0xff

// nibbles gives the value of each hexadecimal digit.
var nibbles = func() (t [256]byte) {
	for i := range t {
		t[i] = noDigit
		if n := nibble(byte(i)); n >= 0 {
			t[i] = byte(n)
		}
	}
	return t
}()

// sextets gives the value of each digit of base64.
var sextets = func() (t [256]byte) {
	const digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
	for i := range t {
		t[i] = noDigit
	}
	for i := range len(digits) {
		t[digits[i]] = byte(i)
	}
	t['+'], t['-'], t['/'], t['_'] = 62, 62, 63, 63
	return t
}()
