package jobtoml

import (
	"fmt"
	"maps"
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
	w.text("name", string(d.Name))
	w.text("note", d.Note)
	w.text("schedule", d.Cron)
	w.span("every", d.Every)
	if !d.At.IsZero() {
		w.text("at", d.At.Format(time.RFC3339))
	}
	w.text("timezone", d.Timezone)
	w.span("jitter", d.Jitter)
	w.text("missed", d.Missed)
	w.span("start_deadline", d.StartDeadline)
	w.text("overlap", d.Overlap)
	w.number("retries", d.Retries)
	w.span("expires", d.Expires)
	if d.Tier != jobspec.NoTier {
		w.text("tier", d.Tier.String())
	}
	w.text("cwd", d.Cwd)
	w.list("command", d.Command)
	w.text("stdin", d.Stdin)
	w.list("files", d.Files)
	w.text("run_as", d.RunAs)
	w.flag("state_dir", d.StateDir)
	w.text("result", d.Result)
	w.list("weaker", d.Weaker)
	w.tables(d)
	return []byte(w.out.String())
}

type jobWriter struct {
	out   strings.Builder
	table string // heading that is written before its first key
}

// tables follow the plain keys, as TOML wants it.
func (w *jobWriter) tables(d *jobspec.Draft) {
	w.head("script")
	w.text("interpreter", d.Script.Interpreter)
	w.text("body", d.Script.Body)
	w.head("env")
	for _, name := range slices.Sorted(maps.Keys(d.Env)) {
		w.line(quoted(name), quoted(d.Env[name]))
	}
	w.head("fs")
	w.list("read", d.Read)
	w.list("write", d.Write)
	w.list("deny", d.Deny)
	w.text("git", d.Git)
	w.list("may_create", d.MayCreate)
	for _, b := range d.Bind {
		w.row("bind")
		w.line("source", quoted(b.Source))
		w.line("target", quoted(b.Target))
		w.line("mode", quoted(b.Mode))
	}
	w.head("net")
	if d.Net != jobspec.NoNet {
		w.text("mode", d.Net.String())
	}
	w.list("allow", d.NetAllow)
	w.list("deny", d.NetDeny)
	w.list("forward", d.Forward)
	w.list("sockets", d.Sockets)
	for _, c := range d.Credentials {
		w.row("credential")
		w.line("name", quoted(c.Name))
		w.line("as", quoted(c.As))
	}
	w.head("limits")
	d.Limits.Each(func(name string, n int64) { w.line(jobspec.LimitText(name, n)) })
	w.denials(d.Denials)
	w.head("backend")
	w.list("any_of", d.Backend.AnyOf)
	w.list("require", d.Backend.Require)
	w.list("devices", d.Backend.Devices)
	w.text("image", d.Backend.Image)
	w.text("host", d.Backend.Host)
	w.text("user", d.Backend.User)
	w.number("port", d.Backend.Port)
	w.head("notify")
	w.list("on", d.Notify)
}

func (w *jobWriter) denials(d jobspec.DenialRules) {
	w.head("denials")
	w.text("on_denial", d.OnDenial)
	w.number("max", d.Max)
	for _, e := range d.Expected {
		w.row("denials.expected")
		w.line("code", quoted(string(e.Code)))
		w.line("target", quoted(e.Target))
	}
}

func (w *jobWriter) head(table string) { w.table = table }

// row begins an entry of an array of tables.
func (w *jobWriter) row(table string) {
	w.table = ""
	fmt.Fprintf(&w.out, "\n[[%s]]\n", table)
}

func (w *jobWriter) line(key, value string) {
	if w.table != "" {
		fmt.Fprintf(&w.out, "\n[%s]\n", w.table)
		w.table = ""
	}
	fmt.Fprintf(&w.out, "%s = %s\n", key, value)
}

func (w *jobWriter) text(key, s string) {
	if s != "" {
		w.line(key, quoted(s))
	}
}

func (w *jobWriter) list(key string, items []string) {
	if len(items) == 0 {
		return
	}
	all := make([]string, len(items))
	for i, s := range items {
		all[i] = quoted(s)
	}
	w.line(key, "["+strings.Join(all, ", ")+"]")
}

func (w *jobWriter) span(key string, d time.Duration) {
	if d != 0 {
		w.line(key, quoted(jobspec.FormatSpan(d)))
	}
}

func (w *jobWriter) number(key string, n int64) {
	if n != 0 {
		w.line(key, strconv.FormatInt(n, 10))
	}
}

func (w *jobWriter) flag(key string, on bool) {
	if on {
		w.line(key, "true")
	}
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
