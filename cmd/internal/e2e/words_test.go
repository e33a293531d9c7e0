//go:build linux

package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// words are what somebody might write who wants a job to run without its
// sandbox. Without the long loops only some are tried.
func words() []string {
	few := []string{"", "1", "true", "off", "none", "unsandboxed"}
	if !soak() {
		return few
	}
	return append(few, "0", "false", "on", "no", "yes", "never", "null", "nil", "disable", "disabled", "host", "local", "full", "yolo",
		"auto", "elevated", "allow", "always", "bypass", "danger-full-access", "landlock", "proxy", "*", "-1", "18446744073709551616",
		"weaker_backend_landlock", "\x01\xff garbage ';--", strings.Repeat("a", 200))
}

// share is what of the words the n-th setting is tried with: all in the long
// loops, else two, so that the settings together see each.
func share(n int) []string {
	all := words()
	if soak() {
		return all
	}
	return []string{all[n%len(all)], all[(n+3)%len(all)]}
}

// machines are the conditions of the walk.
func machines() []condition {
	var list []condition
	for _, c := range conditions() {
		walked := c.name == "bwrap-absent" || c.name == "no-userns" || c.name == "no-landlock" || c.name == "false-seccomp" && soak()
		if walked && (!c.root || os.Getuid() == 0) {
			list = append(list, c)
		}
	}
	return list
}

// variables are all names that may be those of variables in the program: every
// literal of that form in the source of what is linked into it, every run of
// such characters in its bytes, and what people might hope for.
func (p shipped) variables() []string {
	p.h.t.Helper()
	text, err := os.ReadFile(p.path)
	if err != nil {
		p.h.t.Fatal(err)
	}
	found := map[string]bool{"LD_PRELOAD": true, "LD_LIBRARY_PATH": true, "http_proxy": true, "SBXCRON_SANDBOX": true, "SBXCRON_NO_SANDBOX": true,
		"SBXCRON_BACKEND": true, "SBXCRON_BWRAP": true, "SBXCRON_UNSAFE": true, "SBXCRON_ROOT": true, "SBXCRON_DEBUG": true, "SBXCRON_POLICY": true, "NO_SANDBOX": true}
	literal := regexp.MustCompile("[\"`]([A-Z_][A-Z0-9_]{2,40})[=\"`]")
	for _, file := range linkedSources(p.h.t) {
		source, err := os.ReadFile(file)
		if err != nil {
			p.h.t.Fatal(err)
		}
		for _, m := range literal.FindAllSubmatch(source, -1) {
			if _, known := found[string(m[1])]; !known {
				found[string(m[1])] = bytes.Contains(text, m[1])
			}
		}
	}
	for _, run := range capitals(text) {
		found[string(run)] = true
	}
	maps.DeleteFunc(found, func(_ string, linked bool) bool { return !linked })
	return slices.Sorted(maps.Keys(found))
}

// capitals are the runs of 4 to 41 bytes of capitals, digits and at least one
// underscore that begin with a capital.
func capitals(text []byte) [][]byte {
	var all [][]byte
	begin, under := 0, false
	for i, c := range text {
		if c == '_' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' {
			under = under || c == '_'
			continue
		}
		if n := i - begin; under && n >= 4 && n <= 41 && text[begin] >= 'A' {
			all = append(all, text[begin:i])
		}
		begin, under = i+1, false
	}
	return all
}

func linkedSources(t *testing.T) []string {
	t.Helper()
	tool, dir := goTool(t)
	list := exec.Command(tool, "list", "-deps", "-f", `{{$d := .Dir}}{{range .GoFiles}}{{$d}}/{{.}}{{"\n"}}{{end}}`, ".")
	list.Dir = dir
	out, err := list.Output()
	if err != nil {
		t.Fatalf("list what is linked: %v", err)
	}
	return strings.Fields(string(out))
}

// key is a place in a TOML file that can hold a value.
type key struct {
	path []string // "[]" stands for an entry of a list of tables, "*" for any name
	kind string   // string, array, boolean, integer, map
}

func (k key) String() string { return strings.Join(k.path, ".") }

// keys lists the places of a JSON Schema.
func keys(t *testing.T, schema []byte) []key {
	t.Helper()
	var doc map[string]any
	if err := json.Unmarshal(schema, &doc); err != nil {
		t.Fatal(err)
	}
	return keysBelow(doc, nil)
}

func keysBelow(s map[string]any, path []string) []key {
	kind, _ := s["type"].(string)
	if inner, ok := s["additionalProperties"].(map[string]any); ok {
		if inner["type"] == "string" {
			return []key{{path, "map"}}
		}
		return keysBelow(inner, extend(path, "*"))
	}
	if items, ok := s["items"].(map[string]any); ok && items["type"] == "object" {
		return keysBelow(items, extend(path, "[]"))
	}
	if kind != "object" {
		return []key{{path, kind}}
	}
	var all []key
	props, _ := s["properties"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(props)) {
		all = append(all, keysBelow(props[name].(map[string]any), extend(path, name))...)
	}
	return all
}

func extend(path []string, name string) []string { return append(slices.Clone(path), name) }

// value is a word in the form that the key takes, where it has one.
func (k key) value(word string) any {
	switch k.kind {
	case "array":
		return []any{word}
	case "map":
		return map[string]any{"SBXCRON_SANDBOX": word}
	case "boolean":
		if b, err := strconv.ParseBool(word); err == nil {
			return b
		}
	case "integer":
		if n, err := strconv.ParseInt(word, 10, 64); err == nil {
			return n
		}
	}
	return word
}

// set puts a value at a key of a tree, and makes what lies between.
func (k key) set(tree map[string]any, name string, v any) map[string]any {
	return setBelow(tree, k.path, name, v).(map[string]any)
}

func setBelow(node any, path []string, name string, v any) any {
	if len(path) == 0 {
		return v
	}
	if path[0] == "[]" {
		return []any{setBelow(nil, path[1:], name, v)}
	}
	out := map[string]any{}
	if m, ok := node.(map[string]any); ok {
		out = maps.Clone(m)
	}
	at := path[0]
	if at == "*" {
		at = name
	}
	out[at] = setBelow(out[at], path[1:], name, v)
	return out
}

// toml writes a tree, one key of the top a line.
func toml(tree map[string]any) string {
	var b strings.Builder
	for _, k := range slices.Sorted(maps.Keys(tree)) {
		fmt.Fprintf(&b, "%s = %s\n", k, tomlValue(tree[k]))
	}
	return b.String()
}

func tomlValue(v any) string {
	switch v := v.(type) {
	case []any:
		var all []string
		for _, e := range v {
			all = append(all, tomlValue(e))
		}
		return "[" + strings.Join(all, ", ") + "]"
	case map[string]any:
		var all []string
		for _, k := range slices.Sorted(maps.Keys(v)) {
			all = append(all, k+" = "+tomlValue(v[k]))
		}
		return "{ " + strings.Join(all, ", ") + " }"
	case string:
		b, _ := json.Marshal(v) // a string: cannot be refused
		return string(b)
	}
	return fmt.Sprint(v)
}

// policyFile replaces the policy of the house.
func (h *house) policyFile(tree map[string]any) {
	h.t.Helper()
	path := filepath.Join(h.root, "conf", "policy.toml")
	if err := os.WriteFile(path, []byte(toml(tree)), 0o644); err != nil {
		h.t.Fatal(err)
	}
}
