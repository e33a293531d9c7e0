package ui

import (
	"io"
	"strings"
	"unicode/utf8"
)

// Table lines up columns. Every cell is escaped.
type Table struct {
	rows  [][]string
	width int // cut rows at this column; 0: never
}

// Row adds a row. An empty cell is shown as "-", so that columns can be counted.
func (t *Table) Row(cells ...string) {
	row := make([]string, len(cells))
	for i, c := range cells {
		if row[i] = Escape(c); c == "" {
			row[i] = "-"
		}
	}
	t.rows = append(t.rows, row)
}

// WriteTo writes the table: two spaces between columns, none at line ends.
func (t *Table) WriteTo(w io.Writer) (int64, error) {
	widths := t.columnWidths()
	var b strings.Builder
	for _, row := range t.rows {
		var line strings.Builder
		for i, c := range row {
			line.WriteString(c)
			if i < len(row)-1 {
				line.WriteString(strings.Repeat(" ", widths[i]-utf8.RuneCountInString(c)+2))
			}
		}
		b.WriteString(cutAt(line.String(), t.width))
		b.WriteByte('\n')
	}
	n, err := io.WriteString(w, b.String())
	return int64(n), err
}

func (t *Table) columnWidths() []int {
	var widths []int
	for _, row := range t.rows {
		for i, c := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(c))
		}
	}
	return widths
}

// cutAt shortens a line that does not fit, visibly.
func cutAt(line string, width int) string {
	const mark = "..."
	if width <= len(mark) || utf8.RuneCountInString(line) <= width {
		return line
	}
	return string([]rune(line)[:width-len(mark)]) + mark
}
