package stub

import (
	"fmt"
	"strconv"
	"strings"
)

// Dump prints the table, one row a line, for people and golden files.
func (t *Table) Dump() string {
	var b strings.Builder
	for i := range t.rows {
		fmt.Fprintf(&b, "%03d %s\n", i, t.RowText(i))
	}
	return b.String()
}

// RowText prints one row: call(arguments) = expected result.
func (t *Table) RowText(i int) string {
	if i < 0 || i >= len(t.rows) {
		return "no such row"
	}
	r := t.rows[i]
	args := make([]string, len(r.Args))
	for k, a := range r.Args {
		args[k] = t.argText(a)
	}
	list := strings.Join(args, ", ")
	text := ""
	switch r.Kind {
	case Call:
		text = fmt.Sprintf("%s(%s) = %s", r.Name, list, wantText(r.Want))
	case CallAny:
		text = fmt.Sprintf("%s(%s)", r.Name, list)
	case Word:
		text = fmt.Sprintf("%s: %s == %#x", r.Name, list, uint64(r.Want))
	case Same:
		text = fmt.Sprintf("%s: %s", r.Name, strings.Join(args, " == "))
	default:
		text = "never holds"
	}
	if r.Layer != "" {
		text += "  # " + r.Layer
	}
	return text
}

func (t *Table) argText(a Arg) string {
	switch a.kind {
	case argCell:
		return fmt.Sprintf("cell%d+%d", a.n/cellSize, a.n%cellSize)
	case argBlob:
		return t.blobText(t.blobs[a.blob])
	}
	if n := int64(a.n); n >= -256 && n < 4096 {
		return strconv.FormatInt(n, 10)
	}
	return fmt.Sprintf("%#x", a.n)
}

func (t *Table) blobText(b blob) string {
	if b.words == nil {
		return b.name
	}
	words := make([]string, len(b.words))
	for i, w := range b.words {
		words[i] = t.argText(w)
	}
	return b.name + "[" + strings.Join(words, " ") + "]"
}

// wantText names the errors that rows expect.
func wantText(want int64) string {
	names := map[int64]string{-1: "EPERM", -6: "ENXIO", -9: "EBADF", -13: "EACCES", -28: "ENOSPC", -30: "EROFS", -38: "ENOSYS"}
	if s, ok := names[want]; ok {
		return s
	}
	return strconv.FormatInt(want, 10)
}
