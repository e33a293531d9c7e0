package jobspec

import (
	"errors"
	"strings"
)

// A shell text is read only to find more reasons to deny or to ask, never to
// find a reason to allow: the shell that runs it has the last word on what it
// means. What this reader does not follow it calls dynamic.

// shellWord is one word of a shell text with its quotes taken off.
type shellWord struct {
	text    string
	dynamic bool // holds an expansion whose value only the shell knows
	quoted  bool
	sep     bool // an operator that ends a command
	here    bool // no word: the command is fed by a here-document or here-string
}

// maxSubstitutions bounds how deep substitutions nest, so that reading a hostile
// text takes no more time than its length is worth.
const maxSubstitutions = 16

// errShellText says that a text ends inside a quotation, or nests too deeply.
var errShellText = errors.New("the text ends inside a quotation or nests too deeply")

// shellReader walks a text byte by byte.
type shellReader struct {
	text    string
	pos     int
	depth   int // substitutions around the text
	words   []shellWord
	pending []string // delimiters of here-documents that begin at the next line
}

// shellWords cuts text into words and separators. Substitutions are read too:
// $( ... ) and `...` yield their commands as words of their own.
func shellWords(text string, depth int) ([]shellWord, error) {
	if depth > maxSubstitutions {
		return nil, errShellText
	}
	r := &shellReader{text: text, depth: depth}
	for r.pos < len(r.text) {
		if err := r.step(); err != nil {
			return nil, err
		}
	}
	return r.words, nil
}

func (r *shellReader) step() error {
	c := r.text[r.pos]
	switch {
	case c == '\n':
		r.pos++
		r.separator("\n")
		r.skipHereDocuments()
	case c == ' ' || c == '\t' || c == '\r':
		r.pos++
	case c == '\\' && strings.HasPrefix(r.text[r.pos:], "\\\n"):
		r.pos += 2
	case c == '#':
		r.skipLine()
	case strings.IndexByte(";&|()", c) >= 0:
		r.operator()
	case c == '<' || c == '>':
		return r.redirection()
	default:
		return r.word()
	}
	return nil
}

func (r *shellReader) separator(s string) {
	r.words = append(r.words, shellWord{text: s, sep: true})
}

func (r *shellReader) skipLine() {
	if i := strings.IndexByte(r.text[r.pos:], '\n'); i >= 0 {
		r.pos += i
		return
	}
	r.pos = len(r.text)
}

// operator takes one of ; ;; & && | || |& ( and ). In &>FILE the ampersand
// belongs to the redirection.
func (r *shellReader) operator() {
	if strings.HasPrefix(r.text[r.pos:], "&>") {
		r.pos++
		return
	}
	for _, op := range []string{";;&", ";;", ";&", "&&", "||", "|&", ";", "&", "|", "(", ")"} {
		if strings.HasPrefix(r.text[r.pos:], op) {
			r.pos += len(op)
			r.separator(op)
			return
		}
	}
}

// redirection drops the operator and its target, and remembers a here-document.
// Where the file may be is decided by the mounts, not here.
func (r *shellReader) redirection() error {
	if strings.HasPrefix(r.text[r.pos:], "<(") || strings.HasPrefix(r.text[r.pos:], ">(") {
		r.pos++
		return nil // the parenthesis begins a command
	}
	fed := strings.HasPrefix(r.text[r.pos:], "<<")
	document := fed && !strings.HasPrefix(r.text[r.pos:], "<<<")
	for r.pos < len(r.text) && strings.IndexByte("<>&-|", r.text[r.pos]) >= 0 {
		r.pos++
	}
	for r.pos < len(r.text) && (r.text[r.pos] == ' ' || r.text[r.pos] == '\t') {
		r.pos++
	}
	at := len(r.words)
	if r.pos < len(r.text) && strings.IndexByte("\n;&|()<>", r.text[r.pos]) < 0 {
		if err := r.word(); err != nil {
			return err
		}
	}
	target := append([]shellWord(nil), r.words[at:]...)
	r.words = r.words[:at]
	if len(target) > 0 && !target[0].sep {
		if document {
			r.pending = append(r.pending, target[0].text)
		}
		target = target[1:]
	}
	r.words = append(r.words, target...) // commands inside a substitution stay
	if fed {
		r.words = append(r.words, shellWord{here: true})
	}
	return nil
}

// skipHereDocuments passes over the bodies, which are data.
func (r *shellReader) skipHereDocuments() {
	for _, end := range r.pending {
		for r.pos < len(r.text) {
			line, _, _ := strings.Cut(r.text[r.pos:], "\n")
			r.pos = min(len(r.text), r.pos+len(line)+1)
			if strings.TrimLeft(line, "\t") == end {
				break
			}
		}
	}
	r.pending = nil
}

// word takes one word. Commands found in substitutions follow it.
func (r *shellReader) word() error {
	var w shellWord
	var out []byte
	var inner []string
	for r.pos < len(r.text) && strings.IndexByte(" \t\r\n;&|()<>", r.text[r.pos]) < 0 {
		var err error
		switch c := r.text[r.pos]; c {
		case '\'':
			w.quoted = true
			out, err = r.single(out)
		case '"':
			w.quoted = true
			out, inner, err = r.double(out, inner, &w)
		case '\\':
			out = r.backslash(out)
		case '$', '`':
			out, inner, err = r.expansion(out, inner, &w)
		default:
			w.dynamic = w.dynamic || strings.IndexByte("*?[{~", c) >= 0
			out = append(out, c)
			r.pos++
		}
		if err != nil {
			return err
		}
	}
	if isDigits(string(out)) && r.pos < len(r.text) && (r.text[r.pos] == '<' || r.text[r.pos] == '>') {
		return nil // the descriptor number of a redirection
	}
	w.text = string(out)
	if w.text == "{" || w.text == "[" || w.text == "[[" {
		w.dynamic = false // a name, not a pattern
	}
	r.words = append(r.words, w)
	return r.substituted(inner)
}

// substituted appends the commands of substitutions, set off by parentheses so
// that they do not end the command around them.
func (r *shellReader) substituted(inner []string) error {
	for _, text := range inner {
		words, err := shellWords(text, r.depth+1)
		if err != nil {
			return err
		}
		r.words = append(r.words, shellWord{text: "$(", sep: true})
		r.words = append(r.words, words...)
		r.words = append(r.words, shellWord{text: "$)", sep: true})
	}
	return nil
}

func (r *shellReader) single(out []byte) ([]byte, error) {
	end := strings.IndexByte(r.text[r.pos+1:], '\'')
	if end < 0 {
		return nil, errShellText
	}
	out = append(out, r.text[r.pos+1:r.pos+1+end]...)
	r.pos += end + 2
	return out, nil
}

func (r *shellReader) double(out []byte, inner []string, w *shellWord) ([]byte, []string, error) {
	for r.pos++; r.pos < len(r.text); {
		var err error
		switch c := r.text[r.pos]; c {
		case '"':
			r.pos++
			return out, inner, nil
		case '\\':
			out = r.backslash(out)
		case '$', '`':
			if out, inner, err = r.expansion(out, inner, w); err != nil {
				return nil, nil, err
			}
		default:
			out = append(out, c)
			r.pos++
		}
	}
	return nil, nil, errShellText
}

func (r *shellReader) backslash(out []byte) []byte {
	if r.pos+1 >= len(r.text) {
		r.pos++
		return append(out, '\\')
	}
	c := r.text[r.pos+1]
	r.pos += 2
	if c == '\n' {
		return out
	}
	return append(out, c)
}

// expansion takes $NAME, ${...}, $(...), $'...' and `...`. A word that holds
// one is dynamic; a substitution's text is handed on to be read.
func (r *shellReader) expansion(out []byte, inner []string, w *shellWord) ([]byte, []string, error) {
	w.dynamic = true
	rest := r.text[r.pos:]
	switch {
	case rest[0] == '`':
		end := strings.IndexByte(rest[1:], '`')
		if end < 0 {
			return nil, nil, errShellText
		}
		r.pos += end + 2
		return append(out, rest[:end+2]...), append(inner, rest[1:end+1]), nil
	case strings.HasPrefix(rest, "$("):
		end := closing(rest, 1, '(', ')')
		if end < 0 {
			return nil, nil, errShellText
		}
		r.pos += end + 1
		return append(out, rest[:end+1]...), append(inner, rest[2:end]), nil
	case strings.HasPrefix(rest, "${"):
		end := closing(rest, 1, '{', '}')
		if end < 0 {
			return nil, nil, errShellText
		}
		r.pos += end + 1
		return append(out, rest[:end+1]...), inner, nil
	default:
		r.pos++
		return append(out, '$'), inner, nil
	}
}

// closing finds the end of a bracket that opens at s[at], passing over quotes.
// It returns -1 when there is none.
func closing(s string, at int, open, end byte) int {
	depth := 0
	for i := at; i < len(s); i++ {
		switch c := s[i]; c {
		case '\\':
			i++
		case '\'':
			j := strings.IndexByte(s[i+1:], '\'')
			if j < 0 {
				return -1
			}
			i += j + 1
		case open:
			depth++
		case end:
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}

func isDigits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}
