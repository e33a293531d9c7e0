package jobspec_test

import (
	"flag"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sbxcron/sbxcron/jobspec"
)

var update = flag.Bool("update", false, "write the golden files of summaries anew")

// The summaries are goldens because people sign what they say: a change of a
// word must be seen by a reviewer.
func TestSummariesSayEverythingInWords(t *testing.T) {
	for name, b := range vectors(t) {
		op, err := jobspec.DecodeOp(b)
		if err != nil {
			t.Fatal(err)
		}
		got := strings.Join(jobspec.Summary(op), "\n") + "\n"
		path := "testdata/summary/" + name + ".txt"
		if *update {
			if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// Every text of a spec can be seen in its summary, and none can do anything to a
// terminal or pass for another line.
func TestNoTextOfASpecHidesFromItsSummary(t *testing.T) {
	op := frozen()["add-whole"]
	n := 0
	var mark func(v reflect.Value)
	var marks []string
	mark = func(v reflect.Value) {
		switch v.Kind() {
		case reflect.String:
			if v.Type() == reflect.TypeFor[jobspec.Code]() {
				return // only known ones are decoded
			}
			n++
			m := "mark" + strings.Repeat("x", n)
			marks = append(marks, m+`\x1b`)
			v.SetString(m + "\x1b[2J\u202e\n")
		case reflect.Struct:
			for i := range v.NumField() {
				if v.Type().Field(i).IsExported() {
					mark(v.Field(i))
				}
			}
		case reflect.Slice:
			for i := range v.Len() {
				mark(v.Index(i))
			}
		}
	}
	mark(reflect.ValueOf(op.Spec).Elem())
	op.Spec.Coverage = map[string]string{"imports\x1b": "unbound"}
	marks = append(marks, `imports\x1b may change`)
	op.Spec.Env = map[string]string{"K\x1b": "value\x1b"}
	text := strings.Join(jobspec.Summary(op), "\n")
	for _, m := range append(marks, `"K\x1b"`, `"value\x1b"`) {
		if !strings.Contains(text, m) {
			t.Errorf("%q is not in the summary", m)
		}
	}
	for i := range len(text) {
		if c := text[i]; c != '\n' && (c < 0x20 || c > 0x7e) {
			t.Fatalf("byte %#x in the summary", c)
		}
	}
}

func TestWhatAJobOpens(t *testing.T) {
	op := frozen()["add-whole"]
	want := jobspec.Opens{Read: []string{"/srv/data", "/etc/app.toml", "/srv/ops/backup.sh", "/usr/bin/dash"}, Write: []string{"/srv/ops", "/srv/out"},
		Hosts: []string{"api.example.org:443", "db.internal:5432"}, Credentials: []string{"db-password"}, Sockets: []string{"/run/x.sock"}}
	if diff := cmp.Diff(want, jobspec.OpensOf(op)); diff != "" {
		t.Error(diff)
	}
	op.Tier, op.Net = jobspec.ReadOnly, jobspec.NetNone
	if o := jobspec.OpensOf(op); len(o.Hosts) != 0 || o.Read[0] != "/srv/ops" {
		t.Errorf("%+v", o)
	}
	if o := jobspec.OpensOf(frozen()["remove"]); o.Read == nil || len(o.Read)+len(o.Write) != 0 {
		t.Errorf("%+v", o)
	}
}
