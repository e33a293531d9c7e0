package jobspec_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/sbxcron/sbxcron/jobspec"
)

const vectorDir = "../testdata/vectors/op"

// vectors are the frozen bytes of ops, one file each without a line end, beside
// a list in the form that sha256sum -c reads. They stay for ever: what was signed
// under this type must mean the same to every later version.
func vectors(t testing.TB) map[string][]byte {
	t.Helper()
	list, err := os.ReadFile(filepath.Join(vectorDir, "SHA256SUMS"))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string][]byte{}
	for line := range strings.SplitSeq(strings.TrimSpace(string(list)), "\n") {
		sum, name, ok := strings.Cut(line, "  ")
		if !ok {
			t.Fatalf("line %q", line)
		}
		b, err := os.ReadFile(filepath.Join(vectorDir, name))
		if err != nil {
			t.Fatal(err)
		}
		if got := jobspec.DigestOf(b).String(); got != "sha256:"+sum {
			t.Errorf("%s was changed: %s, frozen as %s", name, got, sum)
		}
		all[strings.TrimSuffix(name, ".json")] = b
	}
	return all
}

func TestFrozenOpsMeanWhatTheyMeant(t *testing.T) {
	got := vectors(t)
	want := map[string]*jobspec.Op{}
	for name, op := range frozen() {
		want[name] = op
	}
	if len(got) != len(want) {
		t.Errorf("%d vectors, %d ops", len(got), len(want))
	}
	for name, b := range got {
		op, err := jobspec.DecodeOp(b)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if !reflect.DeepEqual(op, want[name]) {
			t.Errorf("%s is read as\n%+v\nwant\n%+v", name, op, want[name])
		}
		again, err := op.Encode()
		if err != nil || !bytes.Equal(again, b) {
			t.Errorf("%s is written as\n%s (%v)\nwant\n%s", name, again, err, b)
		}
	}
}

// Each field of the form stands in one vector at least, so none can change unseen.
func TestEveryFieldIsFrozen(t *testing.T) {
	var all strings.Builder
	for _, b := range vectors(t) {
		all.Write(b)
	}
	var walk func(rt reflect.Type)
	seen := map[reflect.Type]bool{}
	walk = func(rt reflect.Type) {
		for rt.Kind() == reflect.Pointer || rt.Kind() == reflect.Slice {
			rt = rt.Elem()
		}
		if rt.Kind() != reflect.Struct || seen[rt] {
			return
		}
		seen[rt] = true
		for i := range rt.NumField() {
			f := rt.Field(i)
			name := f.Tag.Get("json")
			if name == "" {
				continue
			}
			if !strings.Contains(all.String(), fmt.Sprintf("%q:", name)) {
				t.Errorf("%s.%s stands in no vector", rt.Name(), name)
			}
			walk(f.Type)
		}
	}
	walk(reflect.TypeFor[jobspec.Op]())
}

func TestOpsInOtherSpellingsAreRefused(t *testing.T) {
	add := string(vectors(t)["add-whole"])
	for _, c := range []struct{ name, old, new string }{
		{"duplicate at the top", `"seq":7,`, `"seq":7,"seq":7,`},
		{"duplicate in the spec", `"stdin":"yes\u000a"`, `"stdin":"yes\u000a","stdin":"yes\u000a"`},
		{"duplicate in the schedule", `"missed":"once"`, `"missed":"once","missed":"once"`},
		{"duplicate in a limit", `"pids":64`, `"pids":64,"pids":64`},
		{"duplicate in a bound file", `"role":"executable"`, `"role":"executable","role":"executable"`},
		{"duplicate variable", `"REPORT_LANG":"de"`, `"REPORT_LANG":"de","REPORT_LANG":"de"`},
		{"second spec", `"checkpoint":`, `"spec":{"argv":["id"]},"checkpoint":`},
		{"second argv", `"script":`, `"argv":["id"],"script":`},
		{"member in capitals", `"principal"`, `"Principal"`},
		{"member in the spec in capitals", `"cwd"`, `"CWD"`},
		{"unknown at the top", `"checkpoint"`, `"approved":true,"checkpoint"`},
		{"unknown in the spec", `"note"`, `"elevated":true,"note"`},
		{"unknown in the limits", `"timeout_seconds"`, `"unlimited":true,"timeout_seconds"`},
		{"null", `"seq":7`, `"seq":null`},
		{"float", `"seq":7`, `"seq":7.0`},
		{"exponent", `"seq":7`, `"seq":7e0`},
		{"number as text", `"seq":7`, `"seq":"7"`},
		{"beyond 2^53", `"seq":7`, `"seq":9007199254740993`},
		{"leading zero", `"seq":7`, `"seq":07`},
		{"written zero", `"pids":64`, `"pids":0`},
		{"written false", `"state_dir":true`, `"state_dir":false`},
		{"escaped letter", `"action":"add"`, `"action":"\u0061dd"`},
		{"short escape", `yes\u000a`, `yes\n`},
		{"escape in capitals", `yes\u000a`, `yes\u000A`},
		{"surrogates", `yes\u000a`, `\ud83d\ude00`},
		{"not UTF-8", `yes\u000a`, "yes\xff"},
		{"raw line end", `yes\u000a`, "yes\n"},
		{"blank", `"seq":7`, `"seq": 7`},
		{"members swapped", `"tier":"workspace","net":"proxy"`, `"net":"proxy","tier":"workspace"`},
		{"digest in capitals", `"prev":"sha256:0aee`, `"prev":"sha256:0AEE`},
		{"digest of another kind", `"prev":"sha256:`, `"prev":"sha512:`},
		{"time with an offset", `"created":"2026-11-30T12:00:00Z"`, `"created":"2026-11-30T13:00:00+01:00"`},
		{"time with fractions", `"created":"2026-11-30T12:00:00Z"`, `"created":"2026-11-30T12:00:00.0Z"`},
		{"time that does not exist", `"created":"2026-11-30T12:00:00Z"`, `"created":"2026-11-31T12:00:00Z"`},
		{"tier of other tools", `"tier":"workspace"`, `"tier":"full"`},
		{"tier in capitals", `"tier":"workspace"`, `"tier":"Workspace"`},
		{"net of other tools", `"net":"proxy"`, `"net":"host"`},
		{"denial code that is unknown", `"code":"net_denied_domain"`, `"code":"all"`},
		{"a comma at the end", `"--full"]`, `"--full",]`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if !strings.Contains(add, c.old) {
				t.Fatalf("the vector does not hold %q", c.old)
			}
			refused(t, []byte(strings.Replace(add, c.old, c.new, 1)))
		})
	}
	for name, b := range map[string]string{"blank after": add + " ", "line end after": add + "\n", "blank before": " " + add, "byte order mark": "\xef\xbb\xbf" + add,
		"two ops": add + add, "cut": add[:len(add)-1], "nothing": "", "empty object": "{}", "a list": "[" + add + "]",
		"too large": strings.Replace(add, "shown, never used", strings.Repeat("x", jobspec.MaxOpBytes), 1)} {
		t.Run(name, func(t *testing.T) { refused(t, []byte(b)) })
	}
}

func refused(t *testing.T, b []byte) {
	t.Helper()
	op, err := jobspec.DecodeOp(b)
	if err == nil {
		t.Fatalf("read as %+v", op)
	}
	if code := jobspec.CodeOf(err); code != jobspec.CodeSpecMalformed && code != jobspec.CodeSpecSchemaUnsupported {
		t.Errorf("code %s: %v", code, err)
	}
}

func TestAnotherTypeIsRefusedByName(t *testing.T) {
	b := bytes.Replace(vectors(t)["remove"], []byte("sbxcron.op/v1"), []byte("sbxcron.op/v2"), 1)
	if _, err := jobspec.DecodeOp(b); jobspec.CodeOf(err) != jobspec.CodeSpecSchemaUnsupported {
		t.Errorf("error %v", err)
	}
}

// A flipped bit is refused, or is another op with another identity.
func TestAFlippedBitIsNeverTheSameOp(t *testing.T) {
	for name, b := range vectors(t) {
		want, err := jobspec.DecodeOp(b)
		if err != nil {
			t.Fatal(err)
		}
		for i := range len(b) * 8 {
			flipped := bytes.Clone(b)
			flipped[i/8] ^= 1 << (i % 8)
			got, err := jobspec.DecodeOp(flipped)
			if err == nil && reflect.DeepEqual(got, want) {
				t.Fatalf("%s: bit %d changes nothing", name, i)
			}
		}
	}
}

func TestAnOpThatIsTooLargeIsNotWritten(t *testing.T) {
	op := frozen()["add-least"]
	op.Spec.Note = strings.Repeat("x", jobspec.MaxOpBytes)
	if b, err := op.Encode(); err == nil {
		t.Errorf("%d bytes", len(b))
	}
}

func FuzzDecodeOp(f *testing.F) {
	for _, b := range vectors(f) {
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		op, err := jobspec.DecodeOp(data)
		if err != nil {
			return
		}
		again, err := op.Encode()
		if err != nil || !bytes.Equal(again, data) {
			t.Errorf("%q was read and is written as %q, %v", data, again, err)
		}
		jobspec.Summary(op)
		jobspec.OpensOf(op)
	})
}
