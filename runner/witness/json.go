package witness

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"
)

// maxDepth bounds how deep a result may nest.
const maxDepth = 64

// values reads all JSON values of a text, one behind the other. It is strict
// where encoding/json is not: a key that stands twice, a key in another case, or
// bytes that are no UTF-8 could make two readers see two results.
func values(text []byte) ([]any, error) {
	if !utf8.Valid(text) {
		return nil, errors.New("it is not UTF-8")
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	var all []any
	for {
		v, err := value(dec, 0)
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, fmt.Errorf("it is not JSON at byte %d", dec.InputOffset())
		}
		all = append(all, v)
	}
}

func value(dec *json.Decoder, depth int) (any, error) {
	t, err := dec.Token()
	if err != nil {
		return nil, err
	}
	if depth > maxDepth {
		return nil, errors.New("too deep")
	}
	switch t {
	case json.Delim('{'):
		return object(dec, depth)
	case json.Delim('['):
		return array(dec, depth)
	}
	return t, nil
}

func object(dec *json.Decoder, depth int) (any, error) {
	all := map[string]any{}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return nil, inside(err)
		}
		name, _ := key.(string)
		if _, twice := all[name]; twice {
			return nil, errors.New("a key stands twice")
		}
		if all[name], err = value(dec, depth+1); err != nil {
			return nil, inside(err)
		}
	}
	_, err := dec.Token()
	return all, inside(err)
}

func array(dec *json.Decoder, depth int) (any, error) {
	all := []any{}
	for dec.More() {
		v, err := value(dec, depth+1)
		if err != nil {
			return nil, inside(err)
		}
		all = append(all, v)
	}
	_, err := dec.Token()
	return all, inside(err)
}

// inside makes the end of the text within a value an error of its own: io.EOF is
// the good end, between two values.
func inside(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// The readers of fields give the zero value for what is absent or of another kind.

func text(v any, key string) string {
	m, _ := v.(map[string]any)
	s, _ := m[key].(string)
	return s
}

func member(v any, key string) map[string]any {
	m, _ := v.(map[string]any)
	inner, _ := m[key].(map[string]any)
	return inner
}
