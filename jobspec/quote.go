package jobspec

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// Quote writes foreign text between quotes in ASCII: control characters, changes
// of direction and invisible characters stand as escapes, so that nothing in it
// can pass for anything else.
func Quote(s string) string { return strconv.QuoteToASCII(s) }

// escape is Quote without the quotes, for words that are ours unless somebody
// forged them.
func escape(s string) string { return strings.TrimSuffix(strings.TrimPrefix(Quote(s), `"`), `"`) }

// QuoteAll writes a command line, each word quoted.
func QuoteAll(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = Quote(w)
	}
	return strings.Join(quoted, " ")
}

// unusual reports whether a character can make text look other than it is:
// controls, changes of direction, zero-width and other format characters, and
// separators of lines and paragraphs.
func unusual(c rune) bool {
	switch {
	case unicode.In(c, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Co, unicode.Cs):
		return true
	case c == unicode.ReplacementChar:
		return true
	case c >= 0xFE00 && c <= 0xFE0F || c >= 0xE0100 && c <= 0xE01EF: // variation selectors
		return true
	case c == 0x034F || c == 0x115F || c == 0x1160 || c == 0x3164 || c == 0xFFA0 || c == 0x2800: // blank fillers
		return true
	}
	return false
}

// days writes a duration in the largest unit that fits.
func days(d time.Duration) string {
	day := 24 * time.Hour
	if d >= day && d%day == 0 {
		return fmt.Sprintf("%d days", d/day)
	}
	return d.String()
}

// bytesWord writes a size in the largest binary unit that fits.
func bytesWord(n int64) string {
	units := []string{"B", "KiB", "MiB", "GiB", "TiB"}
	i := 0
	for n != 0 && n%1024 == 0 && i < len(units)-1 {
		n, i = n/1024, i+1
	}
	return fmt.Sprintf("%d %s", n, units[i])
}
