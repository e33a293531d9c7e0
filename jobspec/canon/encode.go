package canon

import (
	"encoding"
	"errors"
	"fmt"
	"reflect"
	"sort"
	"strconv"
	"strings"
	"unicode/utf8"
)

// MaxInteger is the largest magnitude of an integer in canonical form, the
// largest that every JSON reader keeps exactly.
const MaxInteger = 1<<53 - 1

// Marshal returns the canonical form of v, which must be a struct or a pointer
// to one whose fields carry json tags. It reports an error that names the field
// for anything that the form cannot hold.
func Marshal(v any) ([]byte, error) {
	rv := reflect.Indirect(reflect.ValueOf(v))
	if rv.Kind() != reflect.Struct {
		return nil, fmt.Errorf("canonical form of %T: not a struct", v)
	}
	return appendStruct(nil, rv)
}

func appendStruct(dst []byte, v reflect.Value) ([]byte, error) {
	dst = append(dst, '{')
	first := true
	for i := range v.NumField() {
		if isZero(v.Field(i)) { // first: most are, and to find a name takes longer
			continue
		}
		name, ok := memberName(v.Type().Field(i))
		if !ok {
			continue
		}
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = append(appendQuoted(dst, name), ':')
		var err error
		if dst, err = appendValue(dst, v.Field(i)); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return append(dst, '}'), nil
}

// memberName gives a field's name in JSON; unexported and untagged fields have none.
func memberName(f reflect.StructField) (string, bool) {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name, name != "" && name != "-"
}

// isZero tells whether a value is left out. An empty list or map is absent too:
// the form has no way to tell it from a missing one, and neither has a reader.
func isZero(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Slice, reflect.Map:
		return v.Len() == 0
	default:
		return v.IsZero()
	}
}

func appendValue(dst []byte, v reflect.Value) ([]byte, error) {
	if t, ok := v.Interface().(encoding.TextMarshaler); ok && v.Kind() != reflect.Pointer {
		text, err := t.MarshalText()
		if err != nil {
			return nil, err
		}
		return appendString(dst, string(text))
	}
	switch v.Kind() {
	case reflect.String:
		return appendString(dst, v.String())
	case reflect.Bool:
		return strconv.AppendBool(dst, v.Bool()), nil
	case reflect.Int, reflect.Int64, reflect.Int32:
		return appendInt(dst, v.Int())
	case reflect.Struct:
		return appendStruct(dst, v)
	case reflect.Pointer:
		return appendValue(dst, v.Elem())
	case reflect.Slice:
		return appendSlice(dst, v)
	case reflect.Map:
		return appendMap(dst, v)
	default:
		return nil, fmt.Errorf("type %s has no canonical form", v.Type())
	}
}

func appendInt(dst []byte, n int64) ([]byte, error) {
	if n > MaxInteger || n < -MaxInteger {
		return nil, fmt.Errorf("integer %d is beyond 2^53", n)
	}
	return strconv.AppendInt(dst, n, 10), nil
}

func appendSlice(dst []byte, v reflect.Value) ([]byte, error) {
	dst = append(dst, '[')
	for i := range v.Len() {
		if i > 0 {
			dst = append(dst, ',')
		}
		var err error
		if dst, err = appendValue(dst, v.Index(i)); err != nil {
			return nil, fmt.Errorf("item %d: %w", i, err)
		}
	}
	return append(dst, ']'), nil
}

func appendMap(dst []byte, v reflect.Value) ([]byte, error) {
	m, ok := v.Interface().(map[string]string)
	if !ok {
		return nil, fmt.Errorf("type %s has no canonical form", v.Type())
	}
	keys := make([]string, 0, len(m))
	for k := range m {
		if !isASCII(k) {
			return nil, fmt.Errorf("key %q is not ASCII", k)
		}
		keys = append(keys, k)
	}
	sort.Strings(keys)
	dst = append(dst, '{')
	for i, k := range keys {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(appendQuoted(dst, k), ':')
		var err error
		if dst, err = appendString(dst, m[k]); err != nil {
			return nil, fmt.Errorf("key %q: %w", k, err)
		}
	}
	return append(dst, '}'), nil
}

func isASCII(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r >= utf8.RuneSelf }) < 0
}

var errNotUTF8 = errors.New("text is not valid UTF-8")

func appendString(dst []byte, s string) ([]byte, error) {
	if !utf8.ValidString(s) {
		return nil, errNotUTF8
	}
	return appendQuoted(dst, s), nil
}

func appendQuoted(dst []byte, s string) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c < 0x20:
			dst = append(dst, `\u00`...)
			dst = append(dst, hex[c>>4], hex[c&15])
		default:
			dst = append(dst, c)
		}
	}
	return append(dst, '"')
}
