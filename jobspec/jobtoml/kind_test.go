package jobtoml

import (
	"strings"
	"testing"
)

func TestAValueOfTheWrongKindIsToldWithoutTypesOfGo(t *testing.T) {
	for text, want := range map[string]string{
		"[limits]\ncpus = 1.5\n":   "limits.cpus: a TOML float stands here, want a text in quotes",
		"[limits]\npids = \"x\"\n": "want a whole number",
		"state_dir = \"yes\"\n":    "want true or false",
		"name = 7\n":               "want a text in quotes",
		"command = \"true\"\n":     "want a list",
	} {
		_, err := ReadJob([]byte(text))
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "jobtoml") {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}
