package jobtoml

import (
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/pelletier/go-toml/v2"

	"github.com/sbxcron/sbxcron/jobspec"
)

// valid is as much of JSON Schema as ours use.
func valid(s map[string]any, v any, at string) error {
	if kinds, has := s["anyOf"].([]any); has {
		for _, one := range kinds {
			if valid(one.(map[string]any), v, at) == nil {
				return nil
			}
		}
		return fmt.Errorf("%s: fits none", at)
	}
	switch s["type"] {
	case "string":
		text, ok := v.(string)
		if !ok {
			return fmt.Errorf("%s: %T is no string", at, v)
		}
		if p, has := s["pattern"].(string); has && !regexp.MustCompile(p).MatchString(text) {
			return fmt.Errorf("%s: %q does not match", at, text)
		}
		if e, has := s["enum"].([]any); has && !slices.Contains(e, any(text)) {
			return fmt.Errorf("%s: %q is not in %v", at, text, e)
		}
	case "integer":
		if _, ok := v.(int64); !ok {
			return fmt.Errorf("%s: %T is no integer", at, v)
		}
	case "boolean":
		if _, ok := v.(bool); !ok {
			return fmt.Errorf("%s: %T is no boolean", at, v)
		}
		if e, has := s["enum"].([]any); has && !slices.Contains(e, v) {
			return fmt.Errorf("%s: %v is not in %v", at, v, e)
		}
	case "array":
		items, ok := v.([]any)
		if !ok {
			return fmt.Errorf("%s: %T is no array", at, v)
		}
		for i, x := range items {
			if err := valid(s["items"].(map[string]any), x, fmt.Sprintf("%s[%d]", at, i)); err != nil {
				return err
			}
		}
	case "object":
		return validObject(s, v, at)
	default:
		return fmt.Errorf("%s: type %v", at, s["type"])
	}
	return nil
}

func validObject(s map[string]any, v any, at string) error {
	m, ok := v.(map[string]any)
	if !ok {
		return fmt.Errorf("%s: %T is no object", at, v)
	}
	for k, x := range m {
		known, _ := s["properties"].(map[string]any)
		p, ok := known[k].(map[string]any)
		if !ok {
			if p, ok = s["additionalProperties"].(map[string]any); !ok {
				return fmt.Errorf("%s.%s is unknown", at, k)
			}
		}
		if err := valid(p, x, at+"."+k); err != nil {
			return err
		}
	}
	required, _ := s["required"].([]any)
	for _, k := range required {
		if _, ok := m[k.(string)]; !ok {
			return fmt.Errorf("%s.%s is missing", at, k)
		}
	}
	return nil
}

func load(t *testing.T, schema, text []byte) (map[string]any, map[string]any) {
	t.Helper()
	var s, doc map[string]any
	if err := json.Unmarshal(schema, &s); err != nil {
		t.Fatal(err)
	}
	if err := toml.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	return s, doc
}

func TestTheExamplesFitTheirSchemas(t *testing.T) {
	job, err := os.ReadFile("testdata/job.toml")
	if err != nil {
		t.Fatal(err)
	}
	s, doc := load(t, SchemaJob(), job)
	if err := valid(s, doc, "job"); err != nil {
		t.Error(err)
	}
	s, doc = load(t, SchemaPolicy(), []byte(wholePolicy))
	if err := valid(s, doc, "policy"); err != nil {
		t.Error(err)
	}
	s, doc = load(t, SchemaPolicy(), WritePolicy(NewPolicy{Principal: "alice"}))
	if err := valid(s, doc, "first policy"); err != nil {
		t.Error(err)
	}
}

func TestTheSchemaRefusesWhatTheReaderRefuses(t *testing.T) {
	for _, text := range []string{"name = \"A\"", "name = \"a\"\nx = 1", "name = \"a\"\nexpires = \"0s\"", "name = \"a\"\ntier = \"full\"",
		"name = \"a\"\nretries = \"1\"", "schedule = \"@daily\"", "name = \"a\"\n[limits]\noutput = \"1MB\"", "name = \"a\"\nweaker = [\"x\"]"} {
		s, doc := load(t, SchemaJob(), []byte(text))
		if err := valid(s, doc, "job"); err == nil {
			t.Errorf("%q fits", text)
		}
	}
}

func TestEveryKeyIsExplained(t *testing.T) {
	var walk func(rt reflect.Type, at string)
	walk = func(rt reflect.Type, at string) {
		for rt.Kind() == reflect.Slice || rt.Kind() == reflect.Map || rt.Kind() == reflect.Pointer {
			rt = rt.Elem()
		}
		if rt.Kind() != reflect.Struct {
			return
		}
		for i := range rt.NumField() {
			f := rt.Field(i)
			key := at + "." + f.Tag.Get("toml")
			if f.Tag.Get("toml") == "" || !strings.HasSuffix(f.Tag.Get("doc"), ".") {
				t.Errorf("%s has no key or no sentence", key)
			}
			if f.Tag.Get("toml") == "weaker" && !strings.Contains(f.Tag.Get("doc"), "reduces security: ") {
				t.Errorf("%s does not say that it reduces security", key)
			}
			walk(f.Type, key)
		}
	}
	walk(reflect.TypeFor[jobFile](), "job")
	walk(reflect.TypeFor[policyFile](), "policy")
}

// What the reader knows and the decision refuses by name is marked, and nothing
// else is.
func TestTheSchemaMarksWhatIsRefusedForNow(t *testing.T) {
	s, _ := load(t, SchemaJob(), nil)
	for _, field := range jobspec.LaterFields() {
		key, values, _ := strings.Cut(field, " ")
		p := property(s, strings.Split(key, "."))
		if p == nil {
			t.Fatalf("the schema has no %s", key)
		}
		mark, _ := p["x-refused-for-now"].(string)
		if mark != "any" && !strings.Contains(mark, values) || mark == "" {
			t.Errorf("%s is marked %q", field, mark)
		}
	}
	marked := strings.Count(string(SchemaJob()), "x-refused-for-now")
	keys := map[string]bool{}
	for _, field := range jobspec.LaterFields() {
		key, _, _ := strings.Cut(field, " ")
		keys[key] = true
	}
	if marked != len(keys) {
		t.Errorf("%d marks for %d keys", marked, len(keys))
	}
}

func TestEachWeakerChoiceSaysWhatItCosts(t *testing.T) {
	for _, schema := range [][]byte{SchemaJob(), SchemaPolicy()} {
		s, _ := load(t, schema, nil)
		items := property(s, []string{"weaker"})["items"].(map[string]any)
		said := map[string]string{}
		for _, one := range items["oneOf"].([]any) {
			one := one.(map[string]any)
			said[one["const"].(string)] = one["description"].(string)
		}
		for _, name := range jobspec.WeakerChoices() {
			if !strings.HasPrefix(said[name], "reduces security: ") {
				t.Errorf("%s: %q", name, said[name])
			}
		}
		if len(said) != len(jobspec.WeakerChoices()) {
			t.Errorf("%v", said)
		}
	}
}
