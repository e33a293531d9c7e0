package runnertest

import (
	"fmt"
	"os"
	"strings"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/testdata/programs"
)

// modelServer has a model that wants a command run in the cwd.
func modelServer(l *Lab, cwd string) (*offer, error) {
	l.file(cwd+"/notes.txt", "one two three\n", 0o644)
	o, err := l.model(cwd, "wc -w <notes.txt | tee count.txt")
	if err != nil {
		return nil, err
	}
	o.after = func() error {
		if got, err := os.ReadFile(cwd + "/count.txt"); err != nil || strings.TrimSpace(string(got)) != "3" {
			return fmt.Errorf("the agent's command left %q, %v", got, err)
		}
		return nil
	}
	return o, nil
}

// modelSudo has a model that wants more than a job may do.
func modelSudo(l *Lab, cwd string) (*offer, error) { return l.model(cwd, "sudo -n true") }

// model serves one, whose key the agent has as a credential.
func (l *Lab) model(cwd, command string) (*offer, error) {
	o, err := l.secured(cwd, programs.Model(command))
	if err != nil {
		return nil, err
	}
	o.credentials = []jobspec.Credential{{Name: "model", As: "env:MODEL_KEY"}}
	o.values = map[string]string{"model": programs.Key}
	return o, nil
}
