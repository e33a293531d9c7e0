//go:build linux

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sbxcron/sbxcron/cmd/internal/api"
	"github.com/sbxcron/sbxcron/jobspec/jobtoml"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// The walk: whatever is set to whatever word, where there is no sandbox nothing
// starts. What a word may turn on there is an exact list, and it is empty.

// walker is a house with the shipped program and one job that leaves a canary.
type walker struct {
	shipped
	dir string
}

func newWalker(t *testing.T) walker {
	h := newHouse(t)
	dir := h.script("ws", canary)
	w := walker{h.ship(), dir}
	h.put(filepath.Join(h.dir, "crontab"), "* * * * * "+filepath.Join(dir, "job.sh")+"\n", 0o644)
	h.policyFile(w.policy())
	h.add("job", dir, "workspace", "./job.sh")
	return w
}

// policy has room for all jobs of the walk.
func (w walker) policy() map[string]any {
	alice := map[string]any{"max_tier": "workspace", "max_jobs": 5000}
	if os.Getuid() == 0 {
		alice["run_as"] = []any{jobUser}
	}
	return map[string]any{"serial": 1, "enabled_platforms": []any{"linux"}, "principals": map[string]any{"alice": alice}}
}

// refused calls the program with something that starts a job if anything does.
func (w walker) refused(what string, env []string, args ...string) {
	w.h.t.Helper()
	if r := w.run(env, args...); r.code == 0 {
		w.h.t.Errorf("%s: %q ended with 0\n%s%s", what, args, r.out, r.err)
	}
	if n := w.h.starts(w.dir); n != 0 {
		w.h.t.Fatalf("%s: the payload began %d times", what, n)
	}
}

// unstarted looks at the whole history, too: no row tells of a start.
func (w walker) unstarted(least int) {
	w.h.t.Helper()
	rows := items[api.Run](w.h, "history", "--limit", "100000")
	if len(rows) < least {
		w.h.t.Errorf("%d rows, want at least %d: the walk did not ask for runs", len(rows), least)
	}
	for _, row := range rows {
		if row.Outcome != "refused" || row.StartedAt != nil || len(row.Reasons) == 0 {
			w.h.t.Errorf("a row of a run that cannot have been: %+v", row)
		}
	}
}

func TestWalkOfVariablesStartsNothing(t *testing.T) {
	w := newWalker(t)
	names := w.variables()
	for _, must := range []string{"NOTIFY_SOCKET", "SSH_AUTH_SOCK", "GODEBUG", "TMPDIR", "HOME"} {
		if !slices.Contains(names, must) {
			t.Fatalf("%s is not among the %d names", must, len(names))
		}
	}
	asked := 0
	for i, c := range machines() {
		for _, word := range share(i) {
			what := fmt.Sprintf("%s, every variable %q", c.name, word)
			s := w.under(c, environment(names, word))
			s.ready()
			w.refused(what, environment(names, word), "run", "job", "--wait")
			w.refused(what, nil, "run", "job")
			s.kill()
			asked += 2
		}
	}
	w.unstarted(asked)
}

// environment sets every name to a word. A kernel takes no zero byte, and the Go
// runtime ends at once with a memory limit that it cannot read: that one has
// only its own words.
func environment(names []string, word string) []string {
	var env []string
	for _, n := range names {
		if n != "GOMEMLIMIT" {
			env = append(env, n+"="+word)
		}
	}
	return append(env, "GOMEMLIMIT=off")
}

func TestWalkOfFlagsAndJobKeysStartsNothing(t *testing.T) {
	w := newWalker(t)
	tried := w.everyFlag() + w.everyJobKey()
	jobs := items[api.Job](w.h, "list")
	t.Logf("%d settings tried, %d jobs accepted", tried, len(jobs))
	if len(jobs) < 10 {
		t.Errorf("only %d jobs were accepted: the walk shows little", len(jobs))
	}
	if made, err := filepath.Glob(filepath.Join(w.h.dir, "flag-*", "job.toml")); err != nil || len(made) == 0 {
		t.Errorf("no crontab was imported: %v", err)
	}
	for _, c := range machines() {
		s := w.under(c, nil)
		s.ready()
		for _, j := range jobs {
			w.refused(c.name+", job "+string(j.Job), nil, "run", string(j.Job))
		}
		w.runFlags(c)
		s.kill()
		w.tryFlags(c)
		w.daemonFlags(c)
	}
	w.unstarted(len(jobs) * len(machines()))
}

// everyFlag calls every command once for each of its flags and each word,
// while no service is there; what is accepted lies in the chain then.
func (w walker) everyFlag() int {
	n := 0
	for _, c := range commands() {
		if c.Name() == "daemon" || c.Name() == "run" || c.Name() == "try" {
			continue // with each condition
		}
		for _, f := range flagsOf(c) {
			if !c.HasParent() && f.Name == "root" {
				continue // another installation has no job
			}
			tried := share(n / 2)
			if c.Name() == "import-crontab" {
				tried = words() // some of them import, whichever flags other commands have
			}
			for _, word := range tried {
				n++
				w.run(nil, flagLine(c, f, word, fmt.Sprintf("flag-%d", n), w.dir)...)
			}
		}
	}
	return n
}

// flagLine is a command line of c with one flag set to a word.
func flagLine(c *cobra.Command, f *pflag.Flag, word, name, dir string) []string {
	set := "--" + f.Name + "=" + word
	args := pathOf(c)
	switch words := strings.Fields(c.Use); {
	case len(words) > 1 && strings.Contains(c.Use, "COMMAND ["):
		if c.Name() == "replace" {
			name = "job"
		}
		return append(args, name, "--schedule", "@yearly", "--cwd", dir, "--tier", "workspace", "--yes", set, "--", "./job.sh")
	case c.Name() == "import-crontab":
		args = append(args, "crontab", "--out", name)
	case len(words) > 1 && words[1] == "NAME":
		args = append(args, "job")
	case len(words) > 1 && strings.ToUpper(words[1]) == words[1]:
		args = append(args, "thing")
	}
	return append(args, set)
}

// everyJobKey adds a job for each key of job.toml and each word.
func (w walker) everyJobKey() int {
	n := 0
	for _, k := range keys(w.h.t, jobtoml.SchemaJob()) {
		for _, word := range share(n / 2) {
			n++
			base := map[string]any{"name": fmt.Sprintf("key-%d", n), "schedule": "@yearly", "tier": "workspace", "cwd": w.dir, "command": []any{"./job.sh"}}
			switch k.path[0] {
			case "every", "at":
				delete(base, "schedule")
			case "script":
				delete(base, "command")
				base["script"] = map[string]any{"interpreter": "/bin/sh", "body": canary}
			}
			file := filepath.Join(w.h.dir, "job.toml")
			if err := os.WriteFile(file, []byte(toml(k.set(base, "any", k.value(word)))), 0o644); err != nil {
				w.h.t.Fatal(err)
			}
			w.run(nil, "add", "-f", file, "--yes")
		}
	}
	return n
}

func (w walker) runFlags(c condition) {
	w.h.t.Helper()
	for _, cmd := range commands() {
		if cmd.Name() != "run" {
			continue
		}
		for i, f := range append(flagsOf(cmd), flagsOf(cmd.Root())...) {
			for _, word := range share(i) {
				set := "--" + f.Name + "=" + word
				if f.Name == "help" {
					continue // prints, and asks for nothing
				}
				w.refused(c.name+", run "+set, nil, "run", "job", set)
			}
		}
	}
}

// tryFlags runs try itself on the machine: it is its own service.
func (w walker) tryFlags(c condition) {
	w.h.t.Helper()
	for _, cmd := range commands() {
		if cmd.Name() != "try" {
			continue
		}
		for i, f := range append(flagsOf(cmd), flagsOf(cmd.Root())...) {
			if f.Name == "help" {
				continue // prints, and asks for nothing
			}
			for _, word := range share(i) {
				set := "--" + f.Name + "=" + word
				args := []string{"try", "--cwd", w.dir, "--tier", "workspace"}
				if os.Getuid() == 0 {
					args = append(args, "--run-as", jobUser)
				}
				r := w.on(c, append(args, set, "--", "./job.sh")...)
				if n := w.h.starts(w.dir); r.code == 0 || n != 0 {
					w.h.t.Fatalf("%s, try %s: exit %d, the payload began %d times\n%s%s", c.name, set, r.code, n, r.out, r.err)
				}
			}
		}
	}
}

func (w walker) daemonFlags(c condition) {
	w.h.t.Helper()
	for _, cmd := range commands() {
		if cmd.Name() != "daemon" {
			continue
		}
		for i, f := range append(flagsOf(cmd), flagsOf(cmd.Root())...) {
			for _, word := range share(i) {
				set := "--" + f.Name + "=" + word
				s := w.under(c, nil, set)
				if s.answers() {
					w.refused(c.name+", daemon "+set, nil, "run", "job")
				}
				s.kill()
			}
		}
	}
}

// answers waits until the service answers or has ended.
func (s *service) answers() bool {
	for !s.ended() {
		if s.reachable() {
			return true
		}
		time.Sleep(10 * time.Millisecond)
	}
	return false
}

func TestWalkOfPolicyKeysStartsNothing(t *testing.T) {
	w := newWalker(t)
	asked := 0
	for _, c := range machines() {
		s := w.under(c, nil)
		s.ready()
		for i, k := range keys(t, jobtoml.SchemaPolicy()) {
			for _, word := range share(i) {
				w.h.policyFile(k.set(w.policy(), "alice", k.value(word)))
				w.refused(fmt.Sprintf("%s, policy %s = %q", c.name, k, word), nil, "run", "job")
				asked++
			}
		}
		s.kill()
	}
	w.h.policyFile(w.policy())
	w.unstarted(asked)
}
