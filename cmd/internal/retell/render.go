package retell

import (
	"bytes"
	"fmt"
	"html/template"
	"strings"

	"github.com/sbxcron/sbxcron/cmd/internal/ui"
)

// Text is the report for a terminal or a printer. Every cell is escaped.
func (r *Report) Text() []byte {
	var b bytes.Buffer
	b.WriteString("sbxcron report\n\n")
	for _, h := range r.head() {
		fmt.Fprintf(&b, "%-11s %s\n", h[0], ui.Escape(h[1]))
	}
	for _, s := range r.sections() {
		fmt.Fprintf(&b, "\n%s\n", s.Title)
		if len(s.Rows) == 0 {
			b.WriteString("  none\n")
			continue
		}
		writeTable(&b, s)
	}
	return b.Bytes()
}

// writeTable pads each column to its widest cell.
func writeTable(b *bytes.Buffer, s section) {
	rows := [][]string{s.Columns}
	for _, row := range s.Rows {
		escaped := make([]string, len(row))
		for i, c := range row {
			escaped[i] = ui.Escape(c)
		}
		rows = append(rows, escaped)
	}
	width := make([]int, len(s.Columns))
	for _, row := range rows {
		for i, c := range row {
			width[i] = max(width[i], len([]rune(c)))
		}
	}
	for _, row := range rows {
		var line strings.Builder
		for i, c := range row {
			if width[i] > 0 {
				fmt.Fprintf(&line, "  %-*s", width[i], c)
			}
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
}

// page is static: no script, nothing from elsewhere, and a policy that says so. The
// template escapes for the place that each text stands in.
var page = template.Must(template.New("report").Parse(`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>sbxcron report</title>
<style>
body { font: 14px sans-serif; margin: 2em }
table { border-collapse: collapse }
th, td { border: 1px solid #bbb; padding: 2px 6px; text-align: left; vertical-align: top; font-family: monospace; overflow-wrap: anywhere }
</style>
</head>
<body>
<h1>sbxcron report</h1>
<table>
{{range .Head}}<tr><th>{{index . 0}}</th><td>{{index . 1}}</td></tr>
{{end}}</table>
{{range .Sections}}<h2>{{.Title}}</h2>
{{if .Rows}}<table>
<tr>{{range .Columns}}<th>{{.}}</th>{{end}}</tr>
{{range .Rows}}<tr>{{range .}}<td>{{.}}</td>{{end}}</tr>
{{end}}</table>
{{else}}<p>none</p>
{{end}}{{end}}</body>
</html>
`))

// HTML is the report for a browser.
func (r *Report) HTML() ([]byte, error) {
	head, sections := r.head(), r.sections()
	for i := range head {
		head[i][1] = ui.Escape(head[i][1])
	}
	for _, s := range sections {
		for _, row := range s.Rows {
			for i := range row {
				row[i] = ui.Escape(row[i])
			}
		}
	}
	var b bytes.Buffer
	err := page.Execute(&b, struct {
		Head     [][2]string
		Sections []section
	}{head, sections})
	return b.Bytes(), err
}
