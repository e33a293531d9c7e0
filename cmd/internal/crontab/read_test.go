package crontab

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func read(t *testing.T, text string, system bool) *Table {
	t.Helper()
	table, err := Read([]byte(text), system)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

func TestEachEntryHasTheVariablesInForceAtItsLine(t *testing.T) {
	table := read(t, `
# a comment
SHELL=/bin/bash
FOO = "a b"
 'BAR'='  c '
MAILTO=""
	30 2 * * *   /bin/one   --full
CRON_TZ=Europe/Berlin
FOO=  plain value
@daily two
CRON_TZ=UTC
*/5 * * jan-mar mon-fri three # not a comment
`, false)
	want := []Entry{
		{Line: 7, Text: "30 2 * * *   /bin/one   --full", Schedule: "30 2 * * *", Command: "/bin/one   --full",
			Env: []Setting{{3, "SHELL", "/bin/bash"}, {4, "FOO", "a b"}, {5, "BAR", "  c "}, {6, "MAILTO", ""}}},
		{Line: 10, Text: "@daily two", Schedule: "@daily", Command: "two",
			Env: []Setting{{3, "SHELL", "/bin/bash"}, {5, "BAR", "  c "}, {6, "MAILTO", ""}, {8, "CRON_TZ", "Europe/Berlin"}, {9, "FOO", "plain value"}}},
		{Line: 12, Text: "*/5 * * jan-mar mon-fri three # not a comment", Schedule: "*/5 * * jan-mar mon-fri", Command: "three # not a comment",
			Env: []Setting{{3, "SHELL", "/bin/bash"}, {5, "BAR", "  c "}, {6, "MAILTO", ""}, {9, "FOO", "plain value"}, {11, "CRON_TZ", "UTC"}}},
	}
	if diff := cmp.Diff(want, table.Entries); diff != "" {
		t.Error(diff)
	}
	if len(table.Problems)+len(table.Notes) != 0 || len(table.Settings) != 7 {
		t.Errorf("%+v", table)
	}
	if e := table.Entries[1]; e.Var("CRON_TZ") != "Europe/Berlin" || e.Var("NONE") != "" {
		t.Error("a variable is not found by its name")
	}
}

func TestAPercentSignEndsTheCommandAndQuotesDoNotProtectIt(t *testing.T) {
	for text, want := range map[string][2]string{
		`date "+\%H:\%M"`:                 {`date "+%H:%M"`, ""},
		`date "+%H:%M"`:                   {`date "+`, "H:\nM\"\n"},
		`mail -s x bob%Hello%%100\% yes%`: {"mail -s x bob", "Hello\n\n100% yes\n"},
		`cat%`:                            {"cat", ""},
		`cat%%`:                           {"cat", "\n"},
		`printf 'a\\%b\n'`:                {`printf 'a\\`, "b\\n'\n"},
		`grep '\.c$' x`:                   {`grep '\.c$' x`, ""},
		`cat%a\\%b`:                       {"cat", "a\\%b\n"},
		`echo \`:                          {`echo \`, ""},
	} {
		e := read(t, "0 0 * * * "+text+"\n", false).Entries[0]
		if e.Command != want[0] || e.Stdin != want[1] {
			t.Errorf("%s: %q and %q, want %q", text, e.Command, e.Stdin, want)
		}
	}
}

func TestLinesThatCannotBeTakenOverAreToldByTheirNumber(t *testing.T) {
	for _, c := range []struct {
		line   string
		system bool
		code   string
	}{
		{"@reboot /bin/x", false, CodeAtReboot},
		{"@Reboot /bin/x", false, CodeAtReboot},
		{"* */15 * * * * /bin/x", false, CodeSixFields},
		{"0 0 1 1 * 2027 /bin/x", false, CodeSixFields},
		{"0 0 * * * * root /bin/x", true, CodeSixFields},
		{"0 5 * * * root /bin/x", false, CodeUserField},
		{"0 5 * * * /bin/x --full", true, CodeUserField},
		{"0 5 * * * bob:staff /bin/x", true, CodeUserField},
		{"0 5 * * *", false, CodeNoCommand},
		{"0 5 * * *", true, CodeNoCommand},
		{"0 5 * * * bob", true, CodeNoCommand},
		{"0 5 * * * %only input", false, CodeNoCommand},
		{"@daily", false, CodeNoCommand},
		{"hello world", false, CodeNotALine},
		{`FOO="a" b`, false, CodeNotALine},
		{"\x1b[2J * * * * x", false, CodeNotText},
		{"0 0 * * * /bin/x\r -v", false, CodeNotText},
		{"0 0 * * * /bin/\xff", false, CodeNotText},
		{"0 0 * * * " + strings.Repeat("a", 70000), false, CodeTooLong},
	} {
		table := read(t, "\n"+c.line+"\n", c.system)
		if len(table.Problems) != 1 || len(table.Entries) != 0 {
			t.Errorf("%q: %+v", c.line, table)
			continue
		}
		if p := table.Problems[0]; p.Line != 2 || p.Code != c.code || p.Hint == "" || p.Detail == "" {
			t.Errorf("%q: %+v, want %s", c.line, p, c.code)
		}
	}
	if p := read(t, "* */15 * * * * x\n", false).Problems[0]; !strings.Contains(p.Hint, `"*/15 * * * *"`) {
		t.Error(p.Hint)
	}
}

func TestTheSystemFormHasAnAccount(t *testing.T) {
	e := read(t, "17 *\t* * *\treports    cd / && run-parts /etc/x\n@weekly www-data /bin/y\n", true).Entries
	if len(e) != 2 || e[0].User != "reports" || e[0].Command != "cd / && run-parts /etc/x" || e[0].Schedule != "17 * * * *" || e[1].User != "www-data" {
		t.Errorf("%+v", e)
	}
}

func TestWhatAnEditorLeftIsTakenOutWithANote(t *testing.T) {
	table := read(t, "\ufeffFOO=a\r\n0 0 * * * /bin/x\r\n- 1 * * * *", false)
	if len(table.Notes) != 2 || len(table.Entries) != 1 || table.Entries[0].Command != "/bin/x" || table.Entries[0].Var("FOO") != "a" {
		t.Errorf("%+v", table)
	}
	table = read(t, "-0 0 * * * /bin/x\n0 1 * * * /bin/y 'a\\\\b'", false)
	if len(table.Entries) != 2 || len(table.Entries[0].Notes) != 1 || len(table.Entries[1].Notes) != 2 || table.Entries[0].Schedule != "0 0 * * *" {
		t.Errorf("%+v", table)
	}
}

func TestATextThatIsTooLargeIsRefusedAsAWhole(t *testing.T) {
	for name, text := range map[string]string{
		"bytes":   strings.Repeat("#", MaxBytes+1),
		"entries": strings.Repeat("0 0 * * * x\n", maxEntries+1),
	} {
		var e *LimitError
		if _, err := Read([]byte(text), false); !errors.As(err, &e) || e.Hint() == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
	var b strings.Builder
	for i := range 3 * maxVariables {
		fmt.Fprintf(&b, "V%d=x\n0 0 * * * x\n", i)
	}
	table := read(t, b.String(), false)
	if len(table.Problems) != 2*maxVariables || table.Problems[0].Code != CodeTooMany || len(table.Entries[3*maxVariables-1].Env) != maxVariables {
		t.Errorf("%d problems, %d variables", len(table.Problems), len(table.Entries[3*maxVariables-1].Env))
	}
}

// Whatever the text is: no line is lost, and none is both.
func FuzzRead(f *testing.F) {
	f.Add("A=b\n0 0 * * * x%y\n@reboot x\n", false)
	f.Add("0 0 * * * bob x\\%y\n'", true)
	f.Fuzz(func(t *testing.T, text string, system bool) {
		table, err := Read([]byte(text), system)
		if err != nil {
			return
		}
		seen := map[int]bool{}
		for _, e := range table.Entries {
			seen[e.Line] = true
			if e.Command == "" || e.Schedule == "" || strings.ContainsAny(e.Command, "\n\r\x00") || system == (e.User == "") {
				t.Errorf("%+v", e)
			}
		}
		for _, p := range table.Problems {
			if seen[p.Line] {
				t.Errorf("line %d is an entry and a problem", p.Line)
			}
			seen[p.Line] = true
		}
		for _, s := range table.Settings {
			seen[s.Line] = true
		}
		for i, line := range strings.Split(strings.ReplaceAll(strings.TrimPrefix(text, "\ufeff"), "\r\n", "\n"), "\n") {
			if line = strings.TrimLeft(line, blanks); line != "" && line[0] != '#' && !seen[i+1] {
				t.Errorf("line %d is lost: %q", i+1, line)
			}
		}
	})
}
