package jobtoml

import (
	"cmp"
	"encoding/json"
	"maps"
	"reflect"
	"strings"

	"github.com/sbxcron/sbxcron/jobspec"
)

// SchemaJob is the JSON Schema of job.toml, made from the structs that read it.
// A schema knows form, not rights: Decide has the last word.
func SchemaJob() []byte {
	s := typeSchema(reflect.TypeFor[jobFile](), "", "")
	markLater(s)
	return written("job.toml", s, []string{"name"})
}

// SchemaPolicy is the JSON Schema of policy.toml and of the files beside it.
func SchemaPolicy() []byte {
	return written("policy.toml", typeSchema(reflect.TypeFor[policyFile](), "", ""), []string{"serial"})
}

func written(title string, s map[string]any, required []string) []byte {
	s["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	s["title"] = title
	s["required"] = required
	b, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		panic(err) // maps, slices and strings only: cannot happen
	}
	return append(b, '\n')
}

// forms are the patterns of texts with a form of their own.
func forms(form string) map[string]any {
	pattern := map[string]string{
		"name":   `^[a-z0-9][a-z0-9._-]{0,62}$`,
		"span":   `^([1-9][0-9]*w)?([1-9][0-9]*d)?([1-9][0-9]*h)?([1-9][0-9]*m)?([1-9][0-9]*s)?$`,
		"size":   `^[1-9][0-9]*(B|KiB|MiB|GiB|TiB)$`,
		"cpus":   `^[0-9]{1,4}(\.[0-9]{1,2})?$`,
		"window": `^([A-Z][A-Za-z,-]* )?[0-2][0-9]:[0-5][0-9]-[0-2][0-9]:[0-5][0-9]( [A-Za-z0-9_+/-]+)?$`,
	}[form]
	if pattern == "" {
		return nil
	}
	return map[string]any{"pattern": pattern, "minLength": 1}
}

func typeSchema(t reflect.Type, enum, form string) map[string]any {
	if t == reflect.TypeFor[argItem]() {
		return map[string]any{"anyOf": []any{map[string]any{"type": "string"}, typeSchema(reflect.TypeFor[argTable](), "", "")}}
	}
	switch t.Kind() {
	case reflect.Pointer:
		s := typeSchema(t.Elem(), enum, form)
		if s["type"] == "integer" {
			s["minimum"] = 1
		}
		return s
	case reflect.String:
		s := map[string]any{"type": "string"}
		if enum != "" {
			s["enum"] = strings.Split(enum, ",")
		}
		if each := choices(enum); each != nil {
			s["oneOf"] = each
		}
		maps.Copy(s, forms(form))
		return s
	case reflect.Bool:
		s := map[string]any{"type": "boolean"}
		if enum == "true" {
			s["enum"] = []bool{true}
		}
		return s
	case reflect.Slice:
		return map[string]any{"type": "array", "items": typeSchema(t.Elem(), enum, form)}
	case reflect.Map:
		return map[string]any{"type": "object", "additionalProperties": typeSchema(t.Elem(), enum, form)}
	case reflect.Struct:
		return map[string]any{"type": "object", "additionalProperties": false, "properties": properties(t)}
	default:
		return map[string]any{"type": "integer"}
	}
}

// choices says of each weaker choice what it costs.
func choices(enum string) []any {
	var all []any
	for word := range strings.SplitSeq(enum, ",") {
		if text := jobspec.WeakerText(word); text != "" {
			all = append(all, map[string]any{"const": word, "description": text})
		}
	}
	return all
}

func properties(t reflect.Type) map[string]any {
	all := map[string]any{}
	for i := range t.NumField() {
		f := t.Field(i)
		s := typeSchema(f.Type, f.Tag.Get("enum"), f.Tag.Get("form"))
		s["description"] = f.Tag.Get("doc")
		all[f.Tag.Get("toml")] = s
	}
	return all
}

// refusedForNow is the annotation of a key whose work this version does not do.
// It says which values are refused; "any" where every one is.
const refusedForNow = "x-refused-for-now"

// markLater annotates the keys of job.toml that are read, and refused by name.
func markLater(s map[string]any) {
	for _, field := range jobspec.LaterFields() {
		key, values, _ := strings.Cut(field, " ")
		p := property(s, strings.Split(key, "."))
		if p == nil {
			panic("the schema of job.toml has no " + key) // a test walks the table
		}
		values = cmp.Or(values, "any")
		if before, marked := p[refusedForNow].(string); marked {
			values = before + ", " + values
		}
		p[refusedForNow] = values
	}
}

// property follows a dotted key; nil where there is none.
func property(s map[string]any, key []string) map[string]any {
	for _, part := range key {
		if items, ok := s["items"].(map[string]any); ok {
			s = items
		}
		all, ok := s["properties"].(map[string]any)
		if !ok {
			return nil
		}
		if s, ok = all[part].(map[string]any); !ok {
			return nil
		}
	}
	return s
}
