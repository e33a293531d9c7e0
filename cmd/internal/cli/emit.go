package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"reflect"

	"github.com/sbxcron/sbxcron/cmd/internal/ui"
)

// document is what every --json command prints: one thing, or a list.
type document struct {
	Schema string `json:"schema"`
	Item   any    `json:"item,omitempty"`
	Items  any    `json:"items,omitempty"`
}

// items prints a document with a list.
func (a *App) items(what string, items any) error {
	return a.emit(document{Schema: schema(what), Items: items})
}

// item prints a document with one thing.
func (a *App) item(what string, item any) error {
	return a.emit(document{Schema: schema(what), Item: item})
}

func schema(what string) string { return "sbxcron." + what + "/v1" }

func (a *App) emit(d document) error {
	if err := writeJSON(a.UI.Out, d); err != nil {
		return fmt.Errorf("write answer: %w", err)
	}
	return nil
}

// writeJSON writes one document on one line. Absent lists are written as [],
// never as null.
func writeJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc.Encode(filled(reflect.ValueOf(v)).Interface())
}

var bytesType = reflect.TypeFor[[]byte]()

// filled returns a copy of v in which every nil list is an empty one. Bytes stay
// as they are: they are written as text.
func filled(v reflect.Value) reflect.Value {
	switch v.Kind() {
	case reflect.Interface, reflect.Pointer:
		return filledPointer(v)
	case reflect.Map:
		return filledMap(v)
	case reflect.Slice:
		if v.Type() == bytesType {
			return v
		}
		out := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		for i := range v.Len() {
			out.Index(i).Set(filled(v.Index(i)))
		}
		return out
	case reflect.Struct:
		out := reflect.New(v.Type()).Elem()
		out.Set(v)
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				out.Field(i).Set(filled(v.Field(i)))
			}
		}
		return out
	default:
		return v
	}
}

func filledPointer(v reflect.Value) reflect.Value {
	if v.IsNil() {
		return v
	}
	inner := filled(v.Elem())
	if v.Kind() == reflect.Interface {
		return inner
	}
	out := reflect.New(v.Type().Elem())
	out.Elem().Set(inner)
	return out
}

func filledMap(v reflect.Value) reflect.Value {
	out := reflect.MakeMap(v.Type())
	for _, k := range v.MapKeys() {
		out.SetMapIndex(k, filled(v.MapIndex(k)))
	}
	return out
}

// say writes a line for the person; -q silences it.
func (a *App) say(format string, args ...any) {
	if !a.flags.quiet {
		a.note(format, args...)
	}
}

// note writes a line for the person that -q does not silence. Like line it
// escapes the whole line, so no caller can forget to.
func (a *App) note(format string, args ...any) {
	fmt.Fprintln(a.UI.Err, ui.Escape(fmt.Sprintf(format, args...)))
}

// line writes a line of the answer.
func (a *App) line(format string, args ...any) {
	fmt.Fprintln(a.UI.Out, ui.Escape(fmt.Sprintf(format, args...)))
}
