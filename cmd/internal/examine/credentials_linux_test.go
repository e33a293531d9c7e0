package examine_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sbxcron/sbxcron/cmd/internal/config"
	"github.com/sbxcron/sbxcron/cmd/internal/examine"
	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/runner/throwaway"
)

// secretly is a job with a credential in two forms, and where its value lies.
func secretly(t *testing.T) (l *lab, op *jobspec.Op, file string) {
	t.Helper()
	l = newLab(t)
	d := l.draft()
	d.Credentials = []jobspec.Credential{{Name: "db", As: "file"}, {Name: "db", As: "env:DB"}}
	op, err := l.candidate(t, d)
	if err != nil {
		t.Fatal(err)
	}
	file = l.Site.CredentialFile("db")
	if err := os.Mkdir(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	return l, op, file
}

func (l *lab) facts(t *testing.T, phase jobspec.Phase, op *jobspec.Op, has ...string) (fact jobspec.CredentialFact, kept int) {
	t.Helper()
	e, err := l.Examine(t.Context(), phase, examine.Subject{Op: op, Credentials: has}, throwaway.First)
	if err != nil {
		t.Fatal(err)
	}
	if len(e.Input.Credentials) != 1 {
		t.Fatalf("%+v", e.Input.Credentials)
	}
	kept = len(e.Secrets)
	for _, s := range e.Secrets {
		defer func() {
			if len(s.Reveal()) != 0 {
				t.Error("a value outlives its examination")
			}
		}()
	}
	e.Close()
	return e.Input.Credentials[0], kept
}

func TestOnlyATriggerKeepsTheValueOfACredential(t *testing.T) {
	l, op, file := secretly(t)
	put(t, file, "a good value\n", 0o600)
	for phase, want := range map[jobspec.Phase]int{jobspec.PhaseAdd: 0, jobspec.PhaseExplain: 0, jobspec.PhaseTrigger: 1} {
		if f, kept := l.facts(t, phase, op); f.Problem != "" || kept != want {
			t.Errorf("phase %d: %+v, %d values", phase, f, kept)
		}
	}
	put(t, file, "a value with \x00", 0o600) // a file may have it, a variable not
	if f, kept := l.facts(t, jobspec.PhaseTrigger, op); f.Problem != jobspec.CodeCredentialUnusable || kept != 0 || strings.Contains(f.Detail, "a value") {
		t.Errorf("%+v, %d values", f, kept)
	}
}

// Who adds a job may see less than the service: the service says what it has.
func TestAtAddTheServiceKnowsWhatTheCallerCannotSee(t *testing.T) {
	l, op, file := secretly(t)
	missing := func(what string) {
		t.Helper()
		if f, _ := l.facts(t, jobspec.PhaseAdd, op, "other"); f.Problem != jobspec.CodeCredentialMissing {
			t.Errorf("%s, the service has another: %+v", what, f)
		}
		if f, _ := l.facts(t, jobspec.PhaseAdd, op, "db"); f.Problem != "" {
			t.Errorf("%s, the service has it: %+v", what, f)
		}
	}
	missing("no file")
	if f, _ := l.facts(t, jobspec.PhaseTrigger, op, "db"); f.Problem != jobspec.CodeCredentialMissing {
		t.Errorf("a trigger takes somebody's word: %+v", f)
	}
	put(t, file, "a good value\n", 0o644) // what can be seen is judged, whatever the service says
	if f, _ := l.facts(t, jobspec.PhaseAdd, op, "db"); f.Problem != jobspec.CodeCredentialUnsafe {
		t.Errorf("%+v", f)
	}
	if os.Getuid() == 0 {
		return // nothing is hidden from root
	}
	put(t, file, "a good value\n", 0o600)
	t.Cleanup(func() { _ = os.Chmod(filepath.Dir(file), 0o700) })
	if err := os.Chmod(filepath.Dir(file), 0); err != nil {
		t.Fatal(err)
	}
	missing("a folder that cannot be searched")
}

func TestCredentialsOfAJobAreBoundedTogether(t *testing.T) {
	l := newLab(t)
	d := l.draft()
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		d.Credentials = append(d.Credentials, jobspec.Credential{Name: name, As: "file"})
	}
	op, err := l.candidate(t, d)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(l.Site.Conf, config.CredentialDir), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, c := range d.Credentials {
		put(t, l.Site.CredentialFile(c.Name), strings.Repeat(c.Name, 60<<10), 0o600)
	}
	e, err := l.Examine(t.Context(), jobspec.PhaseTrigger, examine.Subject{Op: op}, throwaway.First)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	for i, f := range e.Input.Credentials {
		if (f.Problem != "") != (i == 4) {
			t.Errorf("%+v", f)
		}
	}
}
