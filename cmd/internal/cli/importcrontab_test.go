package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sbxcron/sbxcron/cmd/internal/crontab"
	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/jobtoml"
)

// imported is one import of a text into a new folder.
type imported struct {
	*bench
	status int
	out    string
	items  []importItem
	drafts map[string]*jobspec.Draft // by name
}

func importOf(t *testing.T, text string, flags ...string) imported {
	t.Helper()
	dir := t.TempDir()
	file, out := filepath.Join(dir, "crontab"), filepath.Join(dir, "jobs")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	i := imported{bench: newBench(t), out: out, drafts: map[string]*jobspec.Draft{}}
	i.status = i.run(append([]string{"--json", "import-crontab", file, "--out", out}, flags...)...)
	var doc struct{ Items []importItem }
	if i.bench.out.Len() > 0 {
		if err := json.Unmarshal(i.bench.out.Bytes(), &doc); err != nil {
			t.Fatal(err)
		}
	}
	i.items = doc.Items
	for _, item := range i.items {
		if item.File == "" {
			continue
		}
		raw, err := os.ReadFile(item.File)
		if err != nil {
			t.Fatal(err)
		}
		d, err := jobtoml.ReadJob(raw)
		if err != nil {
			t.Fatalf("%v\n%s", err, raw)
		}
		i.drafts[string(item.Name)] = d
	}
	return i
}

func TestACrontabBecomesAFileForEachLine(t *testing.T) {
	i := importOf(t, `SHELL=/bin/bash
LANG=de_DE.UTF-8
30 2 * * * /usr/local/bin/Nightly.sh --full /srv/data
CRON_TZ=America/New_York
*/5 * * * * cd /srv/app && ./run.py -v
@daily test -e /srv/x || mail -s "100\% full" ops%Hello%there
0 0 * * mon /usr/local/bin/Nightly.sh
SHELL=/usr/bin/python3
1 1 * * * print(1)
`)
	if i.status != 0 {
		t.Fatalf("exit %d\n%s%s", i.status, i.bench.out.String(), i.err.String())
	}
	env := map[string]string{"LANG": "de_DE.UTF-8"}
	want := map[string]*jobspec.Draft{
		"nightly":   {Name: "nightly", Cron: "30 2 * * *", Timezone: "Europe/Berlin", Command: []string{"/usr/local/bin/Nightly.sh", "--full", "/srv/data"}, Env: env},
		"run":       {Name: "run", Cron: "*/5 * * * *", Timezone: "America/New_York", Cwd: "/srv/app", Command: []string{"./run.py", "-v"}, Env: env},
		"nightly-2": {Name: "nightly-2", Cron: "0 0 * * mon", Timezone: "America/New_York", Command: []string{"/usr/local/bin/Nightly.sh"}, Env: env},
		"mail": {Name: "mail", Cron: "@daily", Timezone: "America/New_York", Env: env, Stdin: "Hello\nthere\n",
			Script: jobspec.Script{Interpreter: "/bin/bash", Body: "test -e /srv/x || mail -s \"100% full\" ops\n"}},
		"print-1": {Name: "print-1", Cron: "1 1 * * *", Timezone: "America/New_York", Env: env,
			Script: jobspec.Script{Interpreter: "/usr/bin/python3", Body: "print(1)\n"}},
	}
	if diff := cmp.Diff(want, i.drafts); diff != "" {
		t.Error(diff)
	}
	raw, err := os.ReadFile(filepath.Join(i.out, "mail.toml"))
	if err != nil || !strings.HasPrefix(string(raw), "# Line 6 of a crontab with digest sha256:") || !bytes.Contains(raw, []byte(`100\\% full`)) {
		t.Errorf("%v\n%s", err, raw)
	}
	if info, err := os.Stat(i.out); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the folder: %v, %v", info, err)
	}
}

// What needs a shell goes to one, whatever it looks like.
func TestOnlyLinesThatNeedNoShellBecomeWords(t *testing.T) {
	for command, script := range map[string]bool{
		"/bin/x a-b c=d +%s": false, "/bin/x a-b c=d 1,2:3@h": false, "x\ty": false, "A=1 /bin/x": true, "/bin/x ~/y": true, "/bin/x *.log": true,
		"/bin/x $HOME": true, "/bin/x 'a b'": true, `/bin/x "a"`: true, "/bin/x >/dev/null 2>&1": true, "/bin/x; y": true, "/bin/x &": true, "a | b": true,
		"/bin/x `y`": true, "(x)": true, "x # y": true, "cd /srv": true, ". /etc/x": true, "exec /bin/x": true, "[ -e x ]": true, "! x": true,
		"x {a,b}": true, "x a?": true, "x \\a": true, "x \u00fc": true, "umask 077": true, "if x": true,
	} {
		i := importOf(t, "0 0 * * * "+strings.ReplaceAll(command, "%", `\%`)+"\n")
		if len(i.drafts) != 1 {
			t.Errorf("%s: exit %d, %+v", command, i.status, i.items)
		}
		for _, d := range i.drafts {
			if isScript := d.Script != (jobspec.Script{}); isScript != script || isScript && strings.TrimSuffix(d.Script.Body, "\n") != command {
				t.Errorf("%s: %+v", command, d)
			}
		}
	}
}

func TestWhatCannotBeImportedIsListedByItsLineWithAHint(t *testing.T) {
	for _, c := range []struct {
		text, code, detail string
	}{
		{"@reboot /bin/x\n", crontab.CodeAtReboot, "boot"},
		{"0 * * * * * /bin/x\n", crontab.CodeSixFields, "six"},
		{"0 22-2 * * * /bin/x\n", string(jobspec.CodeScheduleInvalid), "22-2"},
		{"@every 5m /bin/x\n", string(jobspec.CodeScheduleInvalid), "@every"},
		{"CRON_TZ=Local\n0 0 * * * /bin/x\n", string(jobspec.CodeScheduleInvalid), "Local"},
		{"SHELL=bash\n0 0 * * * /bin/x\n", codeShellRelative, "bash"},
		{"0 0 * * * bin/x\n", codeProgramRelative, "bin/x"},
		{"0 0 * * * ./x -v\n", codeProgramRelative, "./x"},
		{"HOME=/srv\n", string(jobspec.CodeEnvForbidden), "HOME"},
		{"PATH=/opt/bin\n", string(jobspec.CodeEnvForbidden), "PATH"},
		{"LD_PRELOAD=/tmp/x.so\n", string(jobspec.CodeEnvForbidden), "LD_PRELOAD"},
		{"bash_env=x\n", string(jobspec.CodeEnvForbidden), "bash_env"},
		{"USER=bob\n", string(jobspec.CodeEnvForbidden), "USER"},
		{"0 0 * * * x '" + strings.Repeat("\u00fc", 30000) + "'\n", crontab.CodeTooLong, "fit"},
	} {
		i := importOf(t, "@daily /bin/ok\n"+c.text)
		var found []importItem
		for _, item := range i.items {
			if item.Code != "" {
				found = append(found, item)
			}
		}
		if i.status != 3 || len(found) != 1 || found[0].Code != c.code || found[0].Line < 2 || found[0].Hint == "" || !strings.Contains(found[0].Detail, c.detail) || i.drafts["ok"] == nil {
			t.Errorf("%.60q: exit %d, %+v", c.text, i.status, i.items)
		}
	}
	for _, text := range []string{"MAILTO=\"\"\n", "SHELL=/bin/sh\n", "LOGNAME=bob\n", "RANDOM_DELAY=0\n", "TZ=UTC\n", "EDITOR=vi\n"} {
		if i := importOf(t, text+"@daily /bin/ok\n"); i.status != 0 || len(i.items) != 1 {
			t.Errorf("%q: exit %d, %+v", text, i.status, i.items)
		}
	}
}

// What is listed once by the line of the setting stands in each file that it was
// in force for, too.
func TestWhatIsLeftOutStandsInTheFile(t *testing.T) {
	i := importOf(t, "MAILTO=\"ops\\nx\"\n0 0 13 * fri /bin/x\nTZ=Asia/Tokyo\n@daily y\n")
	for name, want := range map[string][]string{
		"x": {"# note: MAILTO is \"ops\\\\nx\": ", "[notify]\non = [\"failed\", ", `starts in an empty folder`},
		"y": {"TZ is ", "Europe/Berlin", `"TZ" = "Asia/Tokyo"`},
	} {
		raw, err := os.ReadFile(filepath.Join(i.out, name+".toml"))
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range want {
			if !strings.Contains(string(raw), w) {
				t.Errorf("%s.toml lacks %q\n%s", name, w, raw)
			}
		}
	}
	if d := i.drafts["y"]; d.Timezone != "Europe/Berlin" || d.Env["TZ"] != "Asia/Tokyo" {
		t.Errorf("%+v", d)
	}
}

func TestTheSystemFormNamesTheAccountAndRefusesRoot(t *testing.T) {
	i := importOf(t, "0 1 * * * reports /bin/x\n0 2 * * * root /bin/y\n", "--system")
	if i.status != 3 || i.drafts["x"].RunAs != "reports" || len(i.items) != 2 || i.items[1].Code != string(jobspec.CodeRunAsForbidden) || !strings.Contains(i.items[1].Detail, "root") {
		t.Errorf("exit %d, %+v", i.status, i.items)
	}
	if i := importOf(t, "0 1 * * * reports /bin/x\n0 2 * * * root /bin/y\n"); i.status != 65 || !strings.Contains(i.errorDoc().Help, "--system") || isThere(i.out) {
		t.Errorf("accounts were taken for programs: exit %d, %+v", i.status, i.items)
	}
	if i := importOf(t, "@daily /bin/x\n"); i.drafts["x"].RunAs != "" {
		t.Errorf("an account that nobody named: %+v", i.drafts["x"])
	}
}

func TestATextWithoutACrontabIsMalformedAndLeavesNothing(t *testing.T) {
	for _, text := range []string{"", "# nothing\n\n", "hello world\n", "\x00\x01\n", "61 * * * * /bin/x\n"} {
		i := importOf(t, text)
		if e := i.errorDoc(); i.status != 65 || e.Help == "" || isThere(i.out) {
			t.Errorf("%q: exit %d, %+v", text, i.status, e)
		}
	}
	if i := importOf(t, "@reboot /bin/x\n"); i.status != 3 || isThere(i.out) || len(i.items) != 1 {
		t.Errorf("nothing to write: exit %d, %+v", i.status, i.items)
	}
}

func TestTheFolderIsMadeWholeOrNotAtAll(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "crontab")
	if err := os.WriteFile(file, []byte("@daily /bin/x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("nowhere", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	for out, want := range map[string]int{dir: 5, file: 5, filepath.Join(dir, "link"): 5, filepath.Join(dir, "no", "such"): 65, "/": 5, ".": 5, "..": 5, filepath.Join(dir, "a\x00b"): 65, filepath.Join(file, "x"): 65} {
		b := newBench(t)
		if got := b.run("--json", "import-crontab", file, "--out", out); got != want || b.errorDoc().Help == "" {
			t.Errorf("--out %s: exit %d, want %d", out, got, want)
		}
	}
	// The second file cannot be written: two names that are one.
	items := []importItem{{File: "a.toml", text: []byte("1")}, {File: "a.toml", text: []byte("2")}}
	if err := writeImported(filepath.Join(dir, "jobs"), items); err == nil {
		t.Error("a file was written over another one")
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 2 {
		t.Errorf("%v, left: %v", err, entries)
	}
}

func TestACrontabIsReadFromStandardInputToo(t *testing.T) {
	out := filepath.Join(t.TempDir(), "jobs")
	b := newBench(t)
	b.typed = "@daily /bin/x\n@reboot /bin/\x1b\n@reboot y\n"
	if code := b.run("import-crontab", "-", "--out", out, "--timezone", "Asia/Tokyo"); code != 3 {
		t.Errorf("exit %d\n%s", code, b.err.String())
	}
	want := fmt.Sprintf("LINE  JOB  SCHEDULE  TIMEZONE    FILE\n1     x    @daily    Asia/Tokyo  %s\nline 2: not_text: ", filepath.Join(out, "x.toml"))
	if got := b.out.String(); !strings.HasPrefix(got, want) || !strings.Contains(got, "line 3: at_reboot: ") || strings.Count(got, "\n  hint: ") != 2 {
		t.Error(got)
	}
	if !strings.Contains(b.err.String(), "sbxcron add -f") {
		t.Error(b.err.String())
	}
}

func TestFlagsOfImportThatAreMissingOrWrongAreNamed(t *testing.T) {
	file := filepath.Join(t.TempDir(), "crontab")
	if err := os.WriteFile(file, []byte("@daily /bin/x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		want int
		args []string
	}{
		{64, []string{file}}, {64, []string{file, "--out", ""}}, {64, []string{file, file, "--out", "x"}},
		{65, []string{file, "--out", filepath.Join(t.TempDir(), "x"), "--timezone", "Local"}},
		{65, []string{filepath.Join(t.TempDir(), "none"), "--out", filepath.Join(t.TempDir(), "x")}},
	} {
		b := newBench(t)
		if got := b.run(append([]string{"--json", "import-crontab"}, c.args...)...); got != c.want || b.errorDoc().Help == "" {
			t.Errorf("%q: exit %d, want %d\n%s", c.args, got, c.want, b.err.String())
		}
	}
}

func TestNamesAreMadeFromWhatRuns(t *testing.T) {
	m := newImporter(importOptions{}, nil)
	for i, c := range []struct{ program, want string }{
		{"/usr/bin/Back Up.sh", "back-up"}, {"/x/back-up.py", "back-up-2"}, {"./...", "line-3"}, {"x", "x"}, {"\u00fc", "line-5"}, {"a.tar.gz", "a.tar.gz"},
		{strings.Repeat("a", 300), strings.Repeat("a", 50)}, {strings.Repeat("a", 400), strings.Repeat("a", 50) + "-2"},
	} {
		got := m.name(&jobspec.Draft{Command: []string{c.program}}, i+1)
		if _, err := jobspec.ParseName(string(got)); string(got) != c.want || err != nil {
			t.Errorf("%q: %q, want %q, %v", c.program, got, c.want, err)
		}
	}
}

// A blank to Unicode is none to crond.
func TestALineOfBlanksThatAreNoneToCrondIsImported(t *testing.T) {
	for _, shell := range []string{"/bin/sh", "/usr/bin/python3"} {
		i := importOf(t, "SHELL="+shell+"\n* * * * * \u00a0\n", "--timezone", "UTC")
		if i.status != 0 || len(i.items) != 1 || i.items[0].Name != "line-2" {
			t.Errorf("%s: exit %d, %+v", shell, i.status, i.items)
		}
	}
}
