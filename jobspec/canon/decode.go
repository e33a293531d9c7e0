package canon

import (
	"bytes"
	"encoding"
	"errors"
	"fmt"
	"reflect"
	"strconv"
)

// maxDepth bounds nesting, far above what any type of ours needs.
const maxDepth = 16

// ErrNotCanonical says that bytes are readable but are not the ones that
// Marshal would have written.
var ErrNotCanonical = errors.New("not in canonical form")

// Unmarshal reads data into out, a pointer to a struct that must be at its zero
// value, and accepts only canonical form of at most limit bytes. The size is
// looked at before anything else. After an error out holds nothing of use.
func Unmarshal(data []byte, out any, limit int) error {
	if len(data) > limit {
		return fmt.Errorf("%d bytes, at most %d are read", len(data), limit)
	}
	rv := reflect.ValueOf(out)
	if rv.Kind() != reflect.Pointer || rv.Elem().Kind() != reflect.Struct {
		return fmt.Errorf("canonical form into %T: not a pointer to a struct", out)
	}
	d := decoder{data: data}
	if err := d.structure(rv.Elem(), 0); err != nil {
		return fmt.Errorf("byte %d: %w", d.pos, err)
	}
	if d.pos != len(data) {
		return fmt.Errorf("byte %d: text after the object", d.pos)
	}
	again, err := Marshal(out)
	if err != nil {
		return err
	}
	if !bytes.Equal(again, data) {
		return ErrNotCanonical
	}
	return nil
}

type decoder struct {
	data []byte
	pos  int
}

func (d *decoder) next() byte {
	if d.pos >= len(d.data) {
		return 0
	}
	return d.data[d.pos]
}

func (d *decoder) expect(c byte) error {
	if d.pos >= len(d.data) || d.data[d.pos] != c {
		return fmt.Errorf("expected %q", c)
	}
	d.pos++
	return nil
}

// list walks the comma-separated items between open and end, which must not be empty.
func (d *decoder) list(open, end byte, item func() error) error {
	if err := d.expect(open); err != nil {
		return err
	}
	if d.next() == end {
		d.pos++
		return nil
	}
	for {
		if err := item(); err != nil {
			return err
		}
		if d.next() == end {
			d.pos++
			return nil
		}
		if err := d.expect(','); err != nil {
			return err
		}
	}
}

func (d *decoder) structure(v reflect.Value, depth int) error {
	if depth > maxDepth {
		return errors.New("nested too deeply")
	}
	next := 0
	return d.list('{', '}', func() error {
		name, err := d.text()
		if err != nil {
			return err
		}
		if err := d.expect(':'); err != nil {
			return err
		}
		i, ok := fieldFrom(v.Type(), name, next)
		if !ok {
			return fmt.Errorf("member %q is unknown, repeated or out of order", name)
		}
		next = i + 1
		if err := d.value(v.Field(i), depth+1); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		return nil
	})
}

// fieldFrom finds a member among the fields from the index on. Members stand in
// the order of the fields, so one that lies further back was seen already.
func fieldFrom(t reflect.Type, name string, from int) (int, bool) {
	for i := from; i < t.NumField(); i++ {
		if n, ok := memberName(t.Field(i)); ok && n == name {
			return i, true
		}
	}
	return 0, false
}

func (d *decoder) value(v reflect.Value, depth int) error {
	if v.Kind() == reflect.Pointer {
		v.Set(reflect.New(v.Type().Elem()))
		return d.value(v.Elem(), depth)
	}
	if t, ok := v.Addr().Interface().(encoding.TextUnmarshaler); ok {
		s, err := d.text()
		if err != nil {
			return err
		}
		return t.UnmarshalText([]byte(s))
	}
	switch v.Kind() {
	case reflect.String:
		s, err := d.text()
		v.SetString(s)
		return err
	case reflect.Bool:
		return d.boolean(v)
	case reflect.Int, reflect.Int64, reflect.Int32:
		return d.integer(v)
	case reflect.Struct:
		return d.structure(v, depth)
	case reflect.Slice:
		return d.list('[', ']', func() error {
			item := reflect.New(v.Type().Elem()).Elem()
			if err := d.value(item, depth+1); err != nil {
				return err
			}
			v.Set(reflect.Append(v, item))
			return nil
		})
	case reflect.Map:
		return d.stringMap(v)
	default:
		return fmt.Errorf("type %s has no canonical form", v.Type())
	}
}

func (d *decoder) boolean(v reflect.Value) error {
	const word = "true" // false is the zero value and is never written
	if !bytes.HasPrefix(d.data[d.pos:], []byte(word)) {
		return errors.New("expected true")
	}
	d.pos += len(word)
	v.SetBool(true)
	return nil
}

func (d *decoder) integer(v reflect.Value) error {
	start := d.pos
	for c := d.next(); c == '-' || (c >= '0' && c <= '9'); c = d.next() {
		d.pos++
	}
	n, err := strconv.ParseInt(string(d.data[start:d.pos]), 10, 64)
	if err != nil || v.OverflowInt(n) {
		return errors.New("expected an integer")
	}
	v.SetInt(n)
	return nil
}

func (d *decoder) stringMap(v reflect.Value) error {
	m := map[string]string{}
	v.Set(reflect.ValueOf(m))
	return d.list('{', '}', func() error {
		key, err := d.text()
		if err != nil {
			return err
		}
		if err := d.expect(':'); err != nil {
			return err
		}
		m[key], err = d.text()
		return err
	})
}

// text reads a string. Only the escapes that the encoder writes are known; the
// comparison in Unmarshal refuses the ones among them that it would not write.
func (d *decoder) text() (string, error) {
	if err := d.expect('"'); err != nil {
		return "", err
	}
	plain := bytes.IndexAny(d.data[d.pos:], `"\`)
	if plain < 0 {
		return "", errors.New("unterminated string")
	}
	out := d.data[d.pos : d.pos+plain : d.pos+plain]
	for d.pos += plain; d.pos < len(d.data); {
		c := d.data[d.pos]
		d.pos++
		switch {
		case c == '"':
			return string(out), nil
		case c == '\\':
			r, err := d.escape()
			if err != nil {
				return "", err
			}
			out = append(out, r)
		default:
			out = append(out, c)
		}
	}
	return "", errors.New("unterminated string")
}

func (d *decoder) escape() (byte, error) {
	switch c := d.next(); c {
	case '"', '\\':
		d.pos++
		return c, nil
	case 'u':
		if d.pos+5 > len(d.data) {
			return 0, errors.New("unfinished escape")
		}
		n, err := strconv.ParseUint(string(d.data[d.pos+1:d.pos+5]), 16, 16)
		if err != nil || n >= 0x20 {
			return 0, errors.New("unexpected escape")
		}
		d.pos += 5
		return byte(n), nil
	default:
		return 0, errors.New("unexpected escape")
	}
}
