package jobtoml

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"

	"github.com/sbxcron/sbxcron/jobspec"
)

// MaxFileBytes is the size above which a file is not read.
const MaxFileBytes = 1 << 20

// Error refuses a file at one place.
type Error struct {
	Reason       jobspec.Code
	Line, Column int // from 1; 0 when the whole file is meant
	Field        string
	Detail       string
	Remedy       string // "" for the code's own
}

func (e *Error) Error() string {
	var b strings.Builder
	if e.Line > 0 {
		fmt.Fprintf(&b, "line %d, column %d: ", e.Line, e.Column)
	}
	if e.Field != "" {
		b.WriteString(e.Field + ": ")
	}
	return b.String() + e.Detail
}

// Code is the reason.
func (e *Error) Code() string { return string(e.Reason) }

// Hint says what to write instead.
func (e *Error) Hint() string {
	if e.Remedy != "" {
		return e.Remedy
	}
	return e.Reason.Remedy()
}

// codes are the reasons that a kind of file gives.
type codes struct {
	syntax, unknown, duplicate, value jobspec.Code
}

// place is where a key stands.
type place struct{ line, column int }

// file is a text that was decoded, with the place of each of its keys.
type file struct {
	codes codes
	at    map[string]place
	lines []int // offset of each line's first byte
}

// decode reads data strictly into out, a pointer to a struct with toml tags.
func decode(data []byte, out any, c codes) (*file, error) {
	f := &file{codes: c, at: map[string]place{}}
	switch {
	case len(data) > MaxFileBytes:
		return nil, f.whole("%d bytes, at most %d are read", len(data), MaxFileBytes)
	case !utf8.Valid(data):
		return nil, f.whole("the text is not valid UTF-8")
	case bytes.HasPrefix(data, []byte("\xef\xbb\xbf")):
		return nil, f.whole("the text begins with a byte order mark")
	}
	if err := toml.Unmarshal(data, out); err != nil {
		return nil, f.syntax(err)
	}
	if err := f.index(data, reflect.TypeOf(out).Elem()); err != nil {
		return nil, err
	}
	return f, nil
}

func (f *file) whole(format string, args ...any) error {
	return &Error{Reason: f.codes.syntax, Detail: fmt.Sprintf(format, args...)}
}

// syntax tells go-toml's error in our form. It has no type for duplicates.
func (f *file) syntax(err error) error {
	var d *toml.DecodeError
	if !errors.As(err, &d) {
		return f.whole("%s", strings.TrimPrefix(err.Error(), "toml: "))
	}
	line, column := d.Position()
	e := &Error{Reason: f.codes.syntax, Line: line, Column: column, Field: strings.Join(d.Key(), "."), Detail: strings.TrimPrefix(d.Error(), "toml: ")}
	if m := wrongKind.FindStringSubmatch(e.Detail); m != nil {
		e.Detail = fmt.Sprintf("a TOML %s stands here, want %s", m[1], kindWords(m[2]))
	}
	if strings.Contains(e.Detail, "already") || strings.Contains(e.Detail, "duplicate") {
		e.Reason = f.codes.duplicate
	}
	return e
}

// wrongKind is go-toml's message about a value of another kind; it names types
// of Go, which nobody who writes the file has heard of.
var wrongKind = regexp.MustCompile(`^cannot decode TOML (\S+) into .* of type (\S+)$`)

func kindWords(goType string) string {
	switch {
	case goType == "string":
		return "a text in quotes"
	case goType == "bool":
		return "true or false"
	case strings.HasPrefix(goType, "int"):
		return "a whole number"
	case strings.HasPrefix(goType, "[]"):
		return "a list"
	default:
		return "something else, see the schema"
	}
}

// refuse names a field of the file and where it stands.
func (f *file) refuse(field string, code jobspec.Code, remedy, format string, args ...any) error {
	p := f.at[field]
	return &Error{Reason: code, Line: p.line, Column: p.column, Field: field, Detail: fmt.Sprintf(format, args...), Remedy: remedy}
}

// value refuses a field for err, keeping its code and hint where it has them.
func (f *file) value(field string, err error) error {
	code, remedy := f.codes.value, ""
	if c := jobspec.CodeOf(err); c != jobspec.CodeInternal {
		code = c
	}
	var hinted interface{ Hint() string }
	if errors.As(err, &hinted) {
		remedy = hinted.Hint()
	}
	return f.refuse(field, code, remedy, "%v", err)
}

// index walks the text once more, for two things that the decoder does not do:
// it holds each key against the exact spelling of the field (go-toml takes any
// case) and remembers where the key stands.
func (f *file) index(data []byte, top reflect.Type) error {
	p := &unstable.Parser{}
	p.Reset(data)
	f.lines = []int{0}
	for i, c := range data {
		if c == '\n' {
			f.lines = append(f.lines, i+1)
		}
	}
	prefix, table := "", top
	counts := map[string]int{}
	for p.NextExpression() {
		var err error
		switch n := p.Expression(); n.Kind {
		case unstable.Table:
			prefix, table, err = f.path(n, "", top, counts)
		case unstable.ArrayTable:
			if prefix, table, err = f.path(n, "", top, counts); err == nil {
				counts[prefix]++
				prefix, table = f.last(prefix, counts), element(table)
			}
		case unstable.KeyValue:
			err = f.keyValue(n, prefix, table)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// last names the newest table of an array; it stands where its array's name does.
func (f *file) last(name string, counts map[string]int) string {
	table := item(name, max(0, counts[name]-1))
	if _, seen := f.at[table]; !seen {
		f.at[table] = f.at[name]
	}
	return table
}

func item(prefix string, i int) string { return fmt.Sprintf("%s[%d]", prefix, i) }

func element(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Slice || t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t
}

func (f *file) keyValue(n *unstable.Node, prefix string, table reflect.Type) error {
	name, t, err := f.path(n, prefix, table, nil)
	if err != nil {
		return err
	}
	if v := n.Value(); v.Kind == unstable.String && len(v.Data) == 0 && !mayBeEmpty(name) {
		return f.refuse(name, f.codes.value, "leave the key out or give it a value", "it is empty")
	}
	return f.nested(n.Value(), name, t)
}

// mayBeEmpty lists the keys whose empty text says something: nothing on standard
// input, no note, a variable that is set to nothing.
func mayBeEmpty(name string) bool {
	return name == "stdin" || name == "note" || strings.HasPrefix(name, "env.")
}

// nested looks into arrays and inline tables.
func (f *file) nested(v *unstable.Node, name string, t reflect.Type) error {
	i := 0
	for it := v.Children(); it.Next(); {
		child := it.Node()
		var err error
		switch {
		case v.Kind == unstable.InlineTable && child.Kind == unstable.KeyValue:
			err = f.keyValue(child, name, t)
		case v.Kind == unstable.Array && child.Kind != unstable.Comment:
			err = f.nested(child, item(name, i), element(t))
			i++
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// path follows the parts of a dotted key through the types. With counts, a part
// that names an array of tables means its last table.
func (f *file) path(n *unstable.Node, prefix string, t reflect.Type, counts map[string]int) (string, reflect.Type, error) {
	name := prefix
	for it := n.Key(); it.Next(); {
		key := it.Node()
		part := string(key.Data)
		if t.Kind() == reflect.Slice {
			name = f.last(name, counts)
		}
		next, ok := field(element(t), part)
		name = strings.TrimPrefix(name+"."+part, ".")
		f.at[name] = f.place(int(key.Raw.Offset))
		if !ok {
			return "", nil, f.refuse(name, f.codes.unknown, "", "there is no such key")
		}
		t = next
	}
	return name, t, nil
}

// place finds the line of an offset. The parser's own way counts from the
// beginning of the file each time, which takes minutes for a large one.
func (f *file) place(offset int) place {
	line := sort.SearchInts(f.lines, offset+1)
	return place{line, offset - f.lines[line-1] + 1}
}

// field finds a key by its exact spelling. Maps take any key.
func field(t reflect.Type, key string) (reflect.Type, bool) {
	if t == reflect.TypeFor[argItem]() {
		t = reflect.TypeFor[argTable]()
	}
	switch t.Kind() {
	case reflect.Map:
		return t.Elem(), true
	case reflect.Struct:
		for i := range t.NumField() {
			if t.Field(i).Tag.Get("toml") == key {
				return t.Field(i).Type, true
			}
		}
	}
	return nil, false
}
