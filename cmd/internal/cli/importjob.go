package cli

import (
	"cmp"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sbxcron/sbxcron/cmd/internal/crontab"
	"github.com/sbxcron/sbxcron/cmd/internal/ui"
	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/jobtoml"
	"github.com/sbxcron/sbxcron/scheduler/calendar"
)

// Codes of lines that cannot be taken over, beside those of package crontab.
const (
	codeZoneUnknown     = "timezone_unknown"
	codeShellRelative   = "shell_not_absolute"
	codeProgramRelative = "program_relative"
)

// importer turns entries into drafts, each with a name of its own.
type importer struct {
	importOptions
	digest jobspec.Digest
	names  map[string]bool
}

func newImporter(o importOptions, raw []byte) *importer {
	return &importer{importOptions: o, digest: jobspec.DigestOf(raw), names: map[string]bool{}}
}

// items are the lines of a table in their order.
func (m *importer) items(t *crontab.Table) []importItem {
	var all []importItem
	for _, p := range t.Problems {
		all = append(all, importItem{Line: p.Line, Code: p.Code, Detail: p.Detail, Hint: p.Hint})
	}
	for _, s := range t.Settings {
		if code, detail, hint := lost(s); code != "" {
			all = append(all, importItem{Line: s.Line, Code: code, Detail: detail, Hint: hint})
		}
	}
	for _, e := range t.Entries {
		all = append(all, m.item(e))
	}
	slices.SortStableFunc(all, func(a, b importItem) int { return cmp.Compare(a.Line, b.Line) })
	return all
}

// item is the file of an entry, or why there is none.
func (m *importer) item(e crontab.Entry) importItem {
	d := &jobspec.Draft{Cron: e.Schedule, Stdin: e.Stdin, RunAs: e.User, Timezone: cmp.Or(e.Var("CRON_TZ"), m.timezone)}
	notes := slices.Clone(e.Notes)
	for _, step := range []func(*jobspec.Draft, crontab.Entry) ([]string, *crontab.Problem){schedule, account, environment, mail, commandOf} {
		more, p := step(d, e)
		if p != nil {
			return importItem{Line: e.Line, Code: p.Code, Detail: p.Detail, Hint: p.Hint}
		}
		notes = append(notes, more...)
	}
	d.Name = m.name(d, e.Line)
	text := m.file(d, e, notes)
	if _, err := jobtoml.ReadJob(text); err != nil || len(text) > jobspec.MaxOpBytes {
		delete(m.names, string(d.Name))
		return importItem{Line: e.Line, Code: crontab.CodeTooLong, Detail: "the command does not fit into a job.toml", Hint: "put it into a script of its own"}
	}
	return importItem{Line: e.Line, Name: d.Name, File: filepath.Join(m.out, string(d.Name)+".toml"), Notes: notes, draft: d, text: text}
}

// file is the job.toml, with what a reviewer must know above it. Text of the
// crontab stands quoted on one line, so that none of it begins a line of TOML.
func (m *importer) file(d *jobspec.Draft, e crontab.Entry, notes []string) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "# Line %d of a crontab with digest %s.\n# %s\n", e.Line, m.digest, jobspec.Quote(e.Text))
	fmt.Fprintln(&b, "# crond gives a job the network, all files of its account, no end and its home as folder.")
	fmt.Fprintln(&b, "# This one has no network, is ended after 15m, and sees what the keys below open.")
	for _, n := range notes {
		fmt.Fprintf(&b, "# note: %s\n", ui.Escape(n))
	}
	b.WriteString("\n")
	b.Write(jobtoml.WriteJob(d))
	return []byte(b.String())
}

func schedule(d *jobspec.Draft, e crontab.Entry) ([]string, *crontab.Problem) {
	if d.Timezone == "" {
		return nil, &crontab.Problem{Code: codeZoneUnknown, Detail: "the machine's time zone has no name and the crontab gives none", Hint: "name it with --timezone"}
	}
	c, err := calendar.Parse(d.Cron, d.Timezone)
	if err != nil {
		hint := "write it as the error says"
		if h, ok := err.(interface{ Hint() string }); ok {
			hint = cmp.Or(h.Hint(), hint)
		}
		return nil, &crontab.Problem{Code: string(jobspec.CodeScheduleInvalid), Detail: err.Error(), Hint: hint}
	}
	var notes []string
	for _, w := range c.Warnings() {
		notes = append(notes, fmt.Sprint(w))
	}
	if tz := e.Var("TZ"); tz != "" && tz != d.Timezone {
		notes = append(notes, fmt.Sprintf("TZ is %q for the command only; the schedule is meant in %s, as with crond", tz, d.Timezone))
	}
	return append(notes, delay(d, c, e.Var("RANDOM_DELAY"))...), nil
}

// account refuses root by its name; other names of uid 0 are refused at add.
func account(d *jobspec.Draft, _ crontab.Entry) ([]string, *crontab.Problem) {
	if d.RunAs != "root" {
		return nil, nil
	}
	return nil, &crontab.Problem{Code: string(jobspec.CodeRunAsForbidden), Detail: "it runs as root, which no job does",
		Hint: "name an account that owns what the job needs, or leave the line to a unit of the system"}
}

// environment takes over what a job may set. What it may not is listed once, by
// the line of the setting.
func environment(d *jobspec.Draft, e crontab.Entry) ([]string, *crontab.Problem) {
	var notes []string
	for _, s := range e.Env {
		code, _, _ := lost(s)
		switch {
		case code != "":
			notes = append(notes, fmt.Sprintf("%s = %q of line %d was left out", s.Name, s.Value, s.Line))
		case !isCronds(s.Name):
			if d.Env == nil {
				d.Env = map[string]string{}
			}
			d.Env[s.Name] = s.Value
		}
	}
	return notes, nil
}

// name is made from the program, since a line has none. Where two lines run the
// same program, the later one has a number.
func (m *importer) name(d *jobspec.Draft, line int) jobspec.Name {
	base := wordName(programOf(d))
	if base == "" {
		base = fmt.Sprintf("line-%d", line)
	}
	name := base
	for n := 2; m.names[name]; n++ {
		name = fmt.Sprintf("%s-%d", base, n)
	}
	m.names[name] = true
	return jobspec.Name(name)
}

// wordName is the part of a path that can stand in a name, "" for none.
func wordName(program string) string {
	base := path.Base(program)
	switch ext := path.Ext(base); ext {
	case ".sh", ".bash", ".py", ".pl", ".rb", ".php", ".js":
		base = strings.TrimSuffix(base, ext)
	}
	base = strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '.' || r == '_' {
			return r
		}
		return '-'
	}, strings.ToLower(base))
	base = strings.Trim(base[:min(len(base), 50)], "-._")
	if _, err := jobspec.ParseName(base); err != nil {
		return ""
	}
	return base
}
