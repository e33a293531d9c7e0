package witness

import (
	"strings"

	"github.com/sbxcron/sbxcron/jobspec"
)

// Words writes a command line for a record: plain words as they are, others
// quoted, in ASCII, cut to MaxTarget bytes. The same command always gives the
// same text, so that an owner can name it in denials.expected.
func Words(argv []string) string {
	quoted := make([]string, len(argv))
	for i, w := range argv {
		quoted[i] = w
		if !plain(w) {
			quoted[i] = jobspec.Quote(w)
		}
	}
	return cut(strings.Join(quoted, " "))
}

func plain(w string) bool {
	for i := range len(w) {
		c := w[i]
		if !(c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || strings.IndexByte("_-./:=@%+,", c) >= 0) {
			return false
		}
	}
	return w != ""
}

// cut shortens ASCII text to MaxTarget bytes and says that it did.
func cut(text string) string {
	if len(text) <= MaxTarget {
		return text
	}
	return text[:MaxTarget-3] + "..."
}
