package crontab

import (
	"bytes"
	"slices"
	"strings"
	"unicode/utf8"
)

const blanks = " \t"

// Read reads a crontab. In the system form, that of /etc/crontab and /etc/cron.d,
// a field with an account stands before the command. The error is a *LimitError.
func Read(text []byte, system bool) (*Table, error) {
	if len(text) > MaxBytes {
		return nil, tooLarge("%d bytes, at most %d are read", len(text), MaxBytes)
	}
	r := &reader{system: system, table: &Table{}}
	if rest, ok := bytes.CutPrefix(text, []byte("\xef\xbb\xbf")); ok {
		text = rest
		r.note("it begins with a byte order mark, which was left out")
	}
	if bytes.Contains(text, []byte("\r\n")) {
		text = bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n"))
		r.note("its lines end with CR LF; each CR was left out, while crond makes it a part of the command")
	}
	for number, line := range strings.Split(string(text), "\n") {
		if r.line(number+1, line); len(r.table.Entries) > maxEntries {
			return nil, tooLarge("more than %d entries", maxEntries)
		}
	}
	if n := len(r.table.Entries); n > 0 && len(text) > 0 && text[len(text)-1] != '\n' && r.table.Entries[n-1].Line == bytes.Count(text, []byte("\n"))+1 {
		r.table.Entries[n-1].Notes = append(r.table.Entries[n-1].Notes, "it is the last line and does not end with a line end: crond never ran it")
	}
	return r.table, nil
}

// reader holds what is in force at the line that is read.
type reader struct {
	system bool
	env    []Setting // never changed, only replaced: entries share it
	table  *Table
}

func (r *reader) note(text string) { r.table.Notes = append(r.table.Notes, text) }

func (r *reader) refuse(line int, code, hint, detail string) {
	r.table.Problems = append(r.table.Problems, Problem{Line: line, Code: code, Detail: detail, Hint: hint})
}

func (r *reader) line(number int, text string) {
	text = strings.TrimLeft(text, blanks)
	switch {
	case text == "" || text[0] == '#':
		return
	case len(text) > maxLine:
		r.refuse(number, CodeTooLong, "put the command into a script of its own", "the line is longer than 64 KiB")
		return
	case !utf8.ValidString(text) || strings.ContainsFunc(text, isControl):
		r.refuse(number, CodeNotText, "retype the line; look at it with cat -A", "the line holds control characters or is not UTF-8")
		return
	}
	if name, value, ok := parseSetting(text); ok {
		r.set(Setting{number, name, value})
		return
	}
	r.entry(number, text)
}

func isControl(c rune) bool { return c < ' ' && c != '\t' || c == 0x7f }

// set puts a variable in force. The list is made anew, because entries above hold
// the old one.
func (r *reader) set(s Setting) {
	r.table.Settings = append(r.table.Settings, s)
	env := slices.DeleteFunc(slices.Clone(r.env), func(old Setting) bool { return old.Name == s.Name })
	if len(env) >= maxVariables {
		r.refuse(s.Line, CodeTooMany, "set it in the command", "more than 128 variables are in force")
		return
	}
	r.env = append(env, s)
}

// parseSetting reads NAME = VALUE with blanks and quotes where crond takes them.
func parseSetting(text string) (name, value string, ok bool) {
	name, rest, ok := settingName(text)
	if !ok {
		return "", "", false
	}
	rest, ok = strings.CutPrefix(strings.TrimLeft(rest, blanks), "=")
	if !ok {
		return "", "", false
	}
	value, ok = settingValue(strings.Trim(rest, blanks))
	return name, value, ok
}

func settingName(text string) (name, rest string, ok bool) {
	if q := text[0]; q == '"' || q == '\'' {
		name, rest, ok = strings.Cut(text[1:], string(q))
		return name, rest, ok && name != "" && !strings.Contains(name, "=")
	}
	end := strings.IndexAny(text, blanks+"=")
	if end <= 0 {
		return "", "", false
	}
	return text[:end], text[end:], true
}

// settingValue takes one pair of quotes off. What follows the second one makes
// the line no setting.
func settingValue(text string) (string, bool) {
	if text == "" || text[0] != '"' && text[0] != '\'' {
		return text, true
	}
	value, rest, ok := strings.Cut(text[1:], text[:1])
	return value, ok && rest == ""
}
