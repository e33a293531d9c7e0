package jobtoml

import (
	"encoding/json"
	"reflect"
	"strings"
)

// SchemaJob is the JSON Schema of job.toml, made from the structs that read it.
// A schema knows form, not rights: Decide has the last word.
func SchemaJob() []byte {
	return schemaOf("job.toml", reflect.TypeFor[jobFile](), []string{"name"})
}

// SchemaPolicy is the JSON Schema of policy.toml.
func SchemaPolicy() []byte {
	return schemaOf("policy.toml", reflect.TypeFor[policyFile](), []string{"serial"})
}

func schemaOf(title string, t reflect.Type, required []string) []byte {
	s := typeSchema(t, "")
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
		"name": `^[a-z0-9][a-z0-9._-]{0,62}$`,
		"span": `^([1-9][0-9]*w)?([1-9][0-9]*d)?([1-9][0-9]*h)?([1-9][0-9]*m)?([1-9][0-9]*s)?$`,
		"size": `^[1-9][0-9]*(B|KiB|MiB|GiB|TiB)$`,
		"cpus": `^[0-9]{1,4}(\.[0-9]{1,2})?$`,
	}[form]
	if pattern == "" {
		return nil
	}
	return map[string]any{"pattern": pattern, "minLength": 1}
}

func typeSchema(t reflect.Type, enum string) map[string]any {
	switch t.Kind() {
	case reflect.Pointer:
		s := typeSchema(t.Elem(), enum)
		s["minimum"] = 1
		return s
	case reflect.String:
		s := map[string]any{"type": "string"}
		if enum != "" {
			s["enum"] = strings.Split(enum, ",")
		}
		return s
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	case reflect.Slice:
		return map[string]any{"type": "array", "items": typeSchema(t.Elem(), enum)}
	case reflect.Map:
		return map[string]any{"type": "object", "additionalProperties": typeSchema(t.Elem(), enum)}
	case reflect.Struct:
		return map[string]any{"type": "object", "additionalProperties": false, "properties": properties(t)}
	default:
		return map[string]any{"type": "integer"}
	}
}

func properties(t reflect.Type) map[string]any {
	all := map[string]any{}
	for i := range t.NumField() {
		f := t.Field(i)
		s := typeSchema(f.Type, f.Tag.Get("enum"))
		s["description"] = f.Tag.Get("doc")
		for k, v := range forms(f.Tag.Get("form")) {
			s[k] = v
		}
		all[f.Tag.Get("toml")] = s
	}
	return all
}
