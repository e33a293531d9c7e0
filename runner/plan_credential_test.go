package runner

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/record"
	"github.com/sbxcron/sbxcron/runner/internal/permit"
	"github.com/sbxcron/sbxcron/runner/mask"
	"github.com/sbxcron/sbxcron/runner/seccomp"
)

// credentials gives an order the value in each form.
func credentials(o *Order, value string, forms ...string) {
	for _, as := range forms {
		o.Spec.Credentials = append(o.Spec.Credentials, jobspec.Credential{Name: "db", As: as})
	}
	o.Secrets = []*Secret{NewSecret("db", []byte(value))}
}

func manyCredentials(o *Order, n, size int) {
	for i := range n {
		name := fmt.Sprintf("c%d", i)
		o.Spec.Credentials = append(o.Spec.Credentials, jobspec.Credential{Name: name, As: "file"})
		o.Secrets = append(o.Secrets, NewSecret(name, []byte(strings.Repeat("x", size))))
	}
}

func TestNoTextOfAPlanHoldsAValue(t *testing.T) {
	const value = "s3cr3tvalue"
	o := order(t)
	credentials(&o, value, "file", "path:~/.pgpass", "env:PGPASSWORD", "env:GIT_ASKPASS")
	p, err := PlanUnsigned(permit.New(), o)
	if err != nil {
		t.Fatal(err)
	}
	m := Machine{Arch: seccomp.AMD64, LandlockABI: 7, HardNoFile: 4096, HardNProc: 4096, HardFSize: 1 << 40, HardMemlock: 8 << 20}
	table, err := p.Steps(m)
	if err != nil {
		t.Fatal(err)
	}
	b := p.Blueprint()
	j, err := json.Marshal(b.Secrets)
	if err != nil {
		t.Fatal(err)
	}
	for what, text := range map[string]string{"dump": b.Dump(), "table": table.Dump(), "json": string(j), "v": fmt.Sprintf("%v", *b), "+v": fmt.Sprintf("%+v", *b),
		"#v": fmt.Sprintf("%#v %#v %q %x %s", b.Secrets, b.Mounts, b.Secrets, b.Secrets[0], b.SecretEnv), "order": fmt.Sprintf("%+v", o)} {
		if strings.Contains(text, value) || strings.Contains(text, fmt.Sprintf("%x", value)) || strings.Contains(text, fmt.Sprint([]byte(value))) {
			t.Errorf("%s holds the value: %s", what, text)
		}
	}
	for _, want := range []string{"mount credential /.sbxcron/credentials/db", "mount credential /home/job/.pgpass", `env "PGPASSWORD" from credential db`,
		"access read-file /home/job/.pgpass", `"CREDENTIALS_DIRECTORY=/.sbxcron/credentials"`} {
		if !strings.Contains(b.Dump(), want) {
			t.Errorf("%q is not in\n%s", want, b.Dump())
		}
	}
	if strings.Contains(b.Dump(), "GIT_ASKPASS=") {
		t.Error("a variable stands in the plan twice")
	}
	if image, err := table.Encode(); err != nil || !strings.Contains(string(image), "\x00PGPASSWORD="+value+"\x00") {
		t.Errorf("the table lacks the variable: %v", err)
	}
	table.Clear()
	if image, err := table.Encode(); err != nil || strings.Contains(string(image), value) {
		t.Errorf("the cleared table holds the value: %v", err)
	}
	before := p.Digest()
	o.Secrets[0] = NewSecret("db", []byte("another-value"))
	if again, err := PlanUnsigned(permit.New(), o); err != nil || again.Digest() != before {
		t.Errorf("another value gives another plan: %v", err)
	}
}

func TestAClearedSecretIsGone(t *testing.T) {
	value := []byte("s3cr3tvalue")
	s := NewSecret("db", value)
	s.Clear()
	s.Clear()
	if len(s.Reveal()) != 0 || strings.Trim(string(value), "\x00") != "" {
		t.Errorf("%q is left", value)
	}
	(*Secret)(nil).Clear()
}

func TestVariablesLoseTheLineEndOfAFile(t *testing.T) {
	for value, want := range map[string]string{"secret\n": "secret", "secret\r\n": "secret", "secret": "secret", "secret\n\n": "secret\n"} {
		if got := string(variable([]byte(value))); got != want {
			t.Errorf("%q becomes %q", value, got)
		}
	}
}

// Every text of a run's end is either masked or none of the job's.
func TestEveryTextThatAJobCanSpeakInARecordIsMasked(t *testing.T) {
	const value = "s3cr3tvalue"
	notTheJobs := []string{
		"Outcome", "Reasons.Code", "Denials.Code", // closed lists
		"Signal", "Outputs.Stream", "Denials.Certainty", // our words
		"Denials.FirstAt",              // a time
		"Denials.Rule", "Reasons.Rule", // the owner's or the policy's
		"Reasons.Layer",
		"Connections.Rule", "Connections.Upstream", // the owner's or the policy's
		"Connections.Address", // numbers that the resolver gave
	}
	var end record.End
	var fill func(v reflect.Value, name string, visit func(reflect.Value, string))
	fill = func(v reflect.Value, name string, visit func(reflect.Value, string)) {
		switch {
		case v.Kind() == reflect.String:
			visit(v, name)
		case v.Kind() == reflect.Slice:
			if v.Len() == 0 {
				v.Set(reflect.MakeSlice(v.Type(), 1, 1))
			}
			for i := range v.Len() {
				fill(v.Index(i), name, visit)
			}
		case v.Kind() == reflect.Struct && v.Type().PkgPath() != "time":
			for i := range v.NumField() {
				fill(v.Field(i), strings.TrimPrefix(name+"."+v.Type().Field(i).Name, "."), visit)
			}
		}
	}
	fill(reflect.ValueOf(&end).Elem(), "", func(v reflect.Value, _ string) { v.SetString("x " + value) })
	set := mask.New([]mask.Value{{Name: "db", Bytes: []byte(value)}})
	MaskEnd(set, &end)
	fill(reflect.ValueOf(&end).Elem(), "", func(v reflect.Value, name string) {
		if masked := v.String() == "x [credential db]"; masked == slices.Contains(notTheJobs, name) {
			t.Errorf("%s: %q", name, v.String())
		}
	})
}
