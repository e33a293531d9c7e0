package cmd_test

import (
	"encoding/json"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/sbxcron/sbxcron/jobspec/jobtoml"
)

// docs/policy-file.md explains each key that the reader knows, no other, and
// every word that a key takes.

const policyFileDoc = "../docs/policy-file.md"

func readDoc(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// schemaKey is a key of a file with the words that it takes.
type schemaKey struct {
	path  string
	words []string
}

// keysOf lists the leaves of a schema: NAME stands for any name, [] for an entry
// of a list of tables.
func keysOf(node map[string]any, path string) []schemaKey {
	if inner, ok := node["additionalProperties"].(map[string]any); ok {
		return keysOf(inner, path+".NAME")
	}
	items, _ := node["items"].(map[string]any)
	if items["type"] == "object" {
		return keysOf(items, path+"[]")
	}
	props, _ := node["properties"].(map[string]any)
	if len(props) == 0 {
		return []schemaKey{{strings.TrimPrefix(path, "."), append(wordsOf(node), wordsOf(items)...)}}
	}
	var all []schemaKey
	for _, name := range slices.Sorted(maps.Keys(props)) {
		all = append(all, keysOf(props[name].(map[string]any), path+"."+name)...)
	}
	return all
}

func wordsOf(node map[string]any) []string {
	list, _ := node["enum"].([]any)
	var all []string
	for _, w := range list {
		if s, ok := w.(string); ok {
			all = append(all, s)
		}
	}
	return all
}

func TestPolicyFileDocumentHasEveryKey(t *testing.T) {
	var schema map[string]any
	if err := json.Unmarshal(jobtoml.SchemaPolicy(), &schema); err != nil {
		t.Fatal(err)
	}
	rows := map[string]string{}
	for _, m := range regexp.MustCompile("(?m)^\\| `([^`]+)` \\|(.*)$").FindAllStringSubmatch(readDoc(t, policyFileDoc), -1) {
		if _, twice := rows[m[1]]; twice {
			t.Errorf("key %s has two rows", m[1])
		}
		rows[m[1]] = m[2]
	}
	keys := keysOf(schema, "")
	if len(keys) < 30 {
		t.Fatalf("only %d keys were found in the schema", len(keys))
	}
	for _, k := range keys {
		row, found := rows[k.path]
		if !found {
			t.Errorf("key %s has no row", k.path)
		}
		for _, w := range k.words {
			if !strings.Contains(row, w) {
				t.Errorf("key %s takes %q, which its row does not say", k.path, w)
			}
		}
		delete(rows, k.path)
	}
	for path := range rows {
		t.Errorf("the document explains %s, which is no key", path)
	}
}

func TestPolicyFileDocumentHasAnExampleThatIsRead(t *testing.T) {
	_, text, _ := strings.Cut(readDoc(t, policyFileDoc), "```toml\n")
	text, _, found := strings.Cut(text, "```")
	if !found {
		t.Fatal("there is no example")
	}
	p, err := jobtoml.ReadPolicy([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Principals) != 2 || len(p.Rules) != 2 {
		t.Errorf("the example was read as %+v", p)
	}
}
