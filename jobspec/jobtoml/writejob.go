package jobtoml

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sbxcron/sbxcron/jobspec"
)

// WriteJob is a draft as a job.toml: what was typed and nothing else, in the
// order of the schema. ReadJob reads the same draft from it.
func WriteJob(d *jobspec.Draft) []byte {
	w := &jobWriter{}
	for _, t := range jobTables() {
		w.head(t.name)
		for _, k := range t.keys {
			w.value(k.name, k.of(d))
		}
		if t.each != nil {
			t.each(w, d)
		}
	}
	return []byte(w.out.String())
}

// jobTable is a table of the file: its plain keys, and what each writes beside
// them. The keys of the file itself come first, as TOML wants it.
type jobTable struct {
	name string
	keys []jobKey
	each func(w *jobWriter, d *jobspec.Draft)
}

// jobKey is a key and what a draft has for it. A zero value was not typed.
type jobKey struct {
	name string
	of   func(d *jobspec.Draft) any
}

func jobTables() []jobTable {
	return []jobTable{
		{name: "", keys: []jobKey{
			{"name", func(d *jobspec.Draft) any { return string(d.Name) }},
			{"note", func(d *jobspec.Draft) any { return d.Note }},
			{"schedule", func(d *jobspec.Draft) any { return d.Cron }},
			{"every", func(d *jobspec.Draft) any { return d.Every }},
			{"at", func(d *jobspec.Draft) any { return d.At }},
			{"timezone", func(d *jobspec.Draft) any { return d.Timezone }},
			{"jitter", func(d *jobspec.Draft) any { return d.Jitter }},
			{"missed", func(d *jobspec.Draft) any { return d.Missed }},
			{"start_deadline", func(d *jobspec.Draft) any { return d.StartDeadline }},
			{"overlap", func(d *jobspec.Draft) any { return d.Overlap }},
			{"retries", func(d *jobspec.Draft) any { return d.Retries }},
			{"expires", func(d *jobspec.Draft) any { return d.Expires }},
			{"tier", func(d *jobspec.Draft) any { return d.Tier }},
			{"cwd", func(d *jobspec.Draft) any { return d.Cwd }},
			{"command", func(d *jobspec.Draft) any { return d.Command }},
			{"stdin", func(d *jobspec.Draft) any { return d.Stdin }},
			{"files", func(d *jobspec.Draft) any { return d.Files }},
			{"run_as", func(d *jobspec.Draft) any { return d.RunAs }},
			{"state_dir", func(d *jobspec.Draft) any { return d.StateDir }},
			{"result", func(d *jobspec.Draft) any { return d.Result }},
			{"weaker", func(d *jobspec.Draft) any { return d.Weaker }},
		}},
		{name: "script", keys: []jobKey{
			{"interpreter", func(d *jobspec.Draft) any { return d.Script.Interpreter }},
			{"body", func(d *jobspec.Draft) any { return d.Script.Body }},
		}},
		{name: "env", each: writeEnv},
		{name: "fs", each: writeBinds, keys: []jobKey{
			{"read", func(d *jobspec.Draft) any { return d.Read }},
			{"write", func(d *jobspec.Draft) any { return d.Write }},
			{"deny", func(d *jobspec.Draft) any { return d.Deny }},
			{"git", func(d *jobspec.Draft) any { return d.Git }},
			{"may_create", func(d *jobspec.Draft) any { return d.MayCreate }},
		}},
		{name: "net", each: writeCredentials, keys: []jobKey{
			{"mode", func(d *jobspec.Draft) any { return d.Net }},
			{"allow", func(d *jobspec.Draft) any { return d.NetAllow }},
			{"deny", func(d *jobspec.Draft) any { return d.NetDeny }},
			{"forward", func(d *jobspec.Draft) any { return d.Forward }},
			{"sockets", func(d *jobspec.Draft) any { return d.Sockets }},
		}},
		{name: "limits", each: func(w *jobWriter, d *jobspec.Draft) {
			d.Limits.Each(func(name string, n int64) { w.line(jobspec.LimitText(name, n)) })
		}},
		{name: "denials", each: writeExpected, keys: []jobKey{
			{"on_denial", func(d *jobspec.Draft) any { return d.Denials.OnDenial }},
			{"max", func(d *jobspec.Draft) any { return d.Denials.Max }},
		}},
		{name: "backend", keys: []jobKey{
			{"any_of", func(d *jobspec.Draft) any { return d.Backend.AnyOf }},
			{"require", func(d *jobspec.Draft) any { return d.Backend.Require }},
			{"devices", func(d *jobspec.Draft) any { return d.Backend.Devices }},
			{"image", func(d *jobspec.Draft) any { return d.Backend.Image }},
			{"host", func(d *jobspec.Draft) any { return d.Backend.Host }},
			{"user", func(d *jobspec.Draft) any { return d.Backend.User }},
			{"port", func(d *jobspec.Draft) any { return d.Backend.Port }},
		}},
		{name: "notify", keys: []jobKey{{"on", func(d *jobspec.Draft) any { return d.Notify }}}},
	}
}

func writeEnv(w *jobWriter, d *jobspec.Draft) {
	for _, name := range slices.Sorted(maps.Keys(d.Env)) {
		w.line(quoted(name), quoted(d.Env[name]))
	}
}

func writeBinds(w *jobWriter, d *jobspec.Draft) {
	for _, b := range d.Bind {
		w.row("bind", "source", b.Source, "target", b.Target, "mode", b.Mode)
	}
}

func writeCredentials(w *jobWriter, d *jobspec.Draft) {
	for _, c := range d.Credentials {
		w.row("credential", "name", c.Name, "as", c.As)
	}
}

func writeExpected(w *jobWriter, d *jobspec.Draft) {
	for _, e := range d.Denials.Expected {
		w.row("denials.expected", "code", string(e.Code), "target", e.Target)
	}
}

type jobWriter struct {
	out   strings.Builder
	table string // heading that is written before its first key
}

func (w *jobWriter) head(table string) { w.table = table }

// row writes an entry of an array of tables: keys and texts in turn.
func (w *jobWriter) row(table string, pairs ...string) {
	w.table = ""
	fmt.Fprintf(&w.out, "\n[[%s]]\n", table)
	for i := 0; i < len(pairs); i += 2 {
		w.line(pairs[i], quoted(pairs[i+1]))
	}
}

func (w *jobWriter) line(key, value string) {
	if w.table != "" {
		fmt.Fprintf(&w.out, "\n[%s]\n", w.table)
		w.table = ""
	}
	fmt.Fprintf(&w.out, "%s = %s\n", key, value)
}

// value writes a key in the form of its type, and nothing for a zero value.
func (w *jobWriter) value(key string, v any) {
	if zero := reflect.ValueOf(v); zero.IsZero() || zero.Kind() == reflect.Slice && zero.Len() == 0 {
		return
	}
	switch v := v.(type) {
	case string:
		w.line(key, quoted(v))
	case fmt.Stringer:
		w.line(key, quoted(stringOf(v)))
	case int64:
		w.line(key, strconv.FormatInt(v, 10))
	case bool:
		w.line(key, "true")
	case []string:
		all := make([]string, len(v))
		for i, s := range v {
			all[i] = quoted(s)
		}
		w.line(key, "["+strings.Join(all, ", ")+"]")
	default:
		panic(fmt.Sprintf("key %q has a %T", key, v)) // a row of the table is wrong; the tests write every key
	}
}

// stringOf is a span or an instant as files have them, and a word as it is.
func stringOf(v fmt.Stringer) string {
	switch v := v.(type) {
	case time.Duration:
		return jobspec.FormatSpan(v)
	case time.Time:
		return v.Format(time.RFC3339)
	}
	return v.String()
}

// quoted is a basic string of TOML. Everything that is not plain ASCII stands as
// an escape, so that what is read is what was written.
func quoted(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r >= ' ' && r <= '~':
			b.WriteRune(r)
		case r > 0xFFFF:
			fmt.Fprintf(&b, `\U%08X`, r)
		default:
			fmt.Fprintf(&b, `\u%04X`, r)
		}
	}
	b.WriteByte('"')
	return b.String()
}
