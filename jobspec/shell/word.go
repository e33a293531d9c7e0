package shell

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// word gives the literal value of a word, or its source where it has none.
func (w *walker) word(in *syntax.Word) Word {
	if in == nil {
		return Word{}
	}
	var b strings.Builder
	dynamic, pattern := false, false
	for i, part := range in.Parts {
		switch p := part.(type) {
		case *syntax.Lit:
			text, special := unquoted(p.Value)
			pattern = pattern || special || i == 0 && strings.HasPrefix(p.Value, "~") || w.dialect == Zsh && i == 0 && strings.HasPrefix(p.Value, "=")
			b.WriteString(text)
		case *syntax.SglQuoted:
			b.WriteString(w.single(p))
		case *syntax.DblQuoted:
			if !double(&b, p) {
				dynamic = true
			}
		default:
			dynamic = true
		}
	}
	text := b.String()
	if dynamic {
		return Word{Text: w.source(in), Dynamic: true}
	}
	return Word{Text: text, Dynamic: pattern && text != "[" && text != "[["}
}

func (w *walker) single(p *syntax.SglQuoted) string {
	if p.Dollar {
		return ansi(p.Value)
	}
	return p.Value
}

// double appends what stands between double quotes and reports whether all of
// it is literal.
func double(b *strings.Builder, p *syntax.DblQuoted) bool {
	for _, part := range p.Parts {
		lit, ok := part.(*syntax.Lit)
		if !ok {
			return false
		}
		for i := 0; i < len(lit.Value); i++ {
			if lit.Value[i] == '\\' && i+1 < len(lit.Value) && strings.IndexByte("$`\"\\\n", lit.Value[i+1]) >= 0 {
				i++
				if lit.Value[i] == '\n' {
					continue
				}
			}
			b.WriteByte(lit.Value[i])
		}
	}
	return true
}

// unquoted takes the backslashes off and says whether the text holds an
// unescaped pattern or brace expansion.
func unquoted(value string) (text string, special bool) {
	var b strings.Builder
	open := false
	for i := 0; i < len(value); i++ {
		c := value[i]
		switch {
		case c == '\\' && i+1 < len(value):
			i++
			if value[i] != '\n' {
				b.WriteByte(value[i])
			}
			continue
		case strings.IndexByte("*?[", c) >= 0:
			special = true
		case c == '{':
			open = true
		case open && (c == ',' || c == '.' && strings.HasPrefix(value[i:], "..")):
			special = true
		}
		b.WriteByte(c)
	}
	return b.String(), special
}

func (w *walker) source(n syntax.Node) string {
	from, to := int(n.Pos().Offset()), int(n.End().Offset())
	if from < 0 || to > len(w.text) || from > to {
		return ""
	}
	return w.text[from:to]
}

// body is the text of a here-document: literal where it is, else its source.
func (w *walker) body(in *syntax.Word) string {
	if in == nil {
		return ""
	}
	var b strings.Builder
	for _, part := range in.Parts {
		if lit, ok := part.(*syntax.Lit); ok {
			b.WriteString(lit.Value)
			continue
		}
		b.WriteString(w.source(part))
	}
	return b.String()
}
