//go:build linux

package e2e

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sbxcron/sbxcron/cmd/internal/cli"
	"github.com/sbxcron/sbxcron/cmd/internal/ui"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// shipped is the program as it is given to people, used on a house.
type shipped struct {
	h    *house
	path string
}

// goTool finds the go command and the folder of the main package.
func goTool(t *testing.T) (tool, dir string) {
	t.Helper()
	tool, err := exec.LookPath("go")
	if err != nil {
		t.Skip("needs go")
	}
	dir, err = filepath.Abs("../../sbxcron")
	if _, statErr := os.Stat(dir); err != nil || statErr != nil {
		t.Skip("needs the source tree")
	}
	return tool, dir
}

// ship builds it, with symbols, where jobs do not reach.
func (h *house) ship() shipped {
	h.t.Helper()
	tool, dir := goTool(h.t)
	built, err := programs.build(tool, dir, "build", "-trimpath", "-buildvcs=false")
	if err != nil {
		h.t.Fatal(err)
	}
	path := filepath.Join(h.dir, "bin", "sbxcron")
	text, err := os.ReadFile(built)
	must(h.t, err)
	must(h.t, os.MkdirAll(filepath.Dir(path), 0o755))
	must(h.t, os.WriteFile(path, text, 0o755))
	return shipped{h, path}
}

// run calls it with exactly this environment.
func (p shipped) run(env []string, args ...string) result {
	p.h.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, p.path, append([]string{"--root", p.h.root}, args...)...)
	var out, errs bytes.Buffer
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = p.h.dir, append([]string{}, env...), &out, &errs
	err := cmd.Run()
	if ctx.Err() != nil {
		p.h.t.Fatalf("%q hangs\n%s%s", args, out.String(), errs.String())
	}
	return result{exitCode(err), out.String(), errs.String()}
}

// under starts its service on a machine of the condition, with this environment.
func (p shipped) under(c condition, env []string, args ...string) *service {
	p.h.t.Helper()
	s := &service{h: p.h, done: make(chan error, 1), log: &journal{}}
	s.cmd = exec.Command("/proc/self/exe", append([]string{"--root", p.h.root, "daemon"}, args...)...)
	s.cmd.Dir, s.cmd.Stderr = p.h.dir, s.log
	s.cmd.Env = []string{c.env(), envProgram + "=" + p.path, envGiven + "=" + p.h.put(filepath.Join(p.h.dir, "environment"), strings.Join(env, "\x00"), 0o644)}
	if err := s.cmd.Start(); err != nil {
		p.h.t.Fatal(err)
	}
	go func() { s.done <- s.cmd.Wait() }()
	p.h.t.Cleanup(s.kill)
	return s
}

// on calls it on a machine of the condition and waits for its end.
func (p shipped) on(c condition, args ...string) result {
	p.h.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "/proc/self/exe", append([]string{"--root", p.h.root}, args...)...)
	var out, errs bytes.Buffer
	cmd.Dir, cmd.Stdout, cmd.Stderr = p.h.dir, &out, &errs
	cmd.Env = []string{c.env(), envProgram + "=" + p.path}
	err := cmd.Run()
	if ctx.Err() != nil {
		p.h.t.Fatalf("%q hangs\n%s%s", args, out.String(), errs.String())
	}
	return result{exitCode(err), out.String(), errs.String()}
}

// commands lists every command of the tree, hidden ones too.
func commands() []*cobra.Command {
	app := &cli.App{UI: &ui.Streams{}, Now: time.Now, Getenv: os.Getenv, Version: "e2e", Platform: "linux"}
	var all []*cobra.Command
	var walk func(*cobra.Command)
	walk = func(c *cobra.Command) {
		all = append(all, c)
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk(app.Tree())
	return all
}

// flagsOf lists a command's own flags and those that it passes on.
func flagsOf(c *cobra.Command) []*pflag.Flag {
	var all []*pflag.Flag
	add := func(f *pflag.Flag) { all = append(all, f) }
	c.LocalFlags().VisitAll(add)
	return all
}

// words of the command line after the program's name.
func pathOf(c *cobra.Command) []string { return strings.Fields(c.CommandPath())[1:] }

func TestTheShippedProgramHasNoPartsOfTests(t *testing.T) {
	h := emptyHouse(t)
	p := h.ship()
	text, err := os.ReadFile(p.path)
	if err != nil {
		t.Fatal(err)
	}
	for _, word := range []string{"E2E_", "failpoint", "FAILPOINT", "cmd/internal/e2e", "runnertest", "schedulertest", "storetest", "signingtest", "_test.go", "sbxcron-escape/internal", "filter of a test"} {
		if bytes.Contains(text, []byte(word)) {
			t.Errorf("the program holds %q", word)
		}
	}
	tool, _ := goTool(t)
	out, err := exec.Command(tool, "tool", "nm", p.path).Output()
	if err != nil {
		t.Fatalf("read symbols: %v", err)
	}
	if !bytes.Contains(out, []byte("runner/bwrap.(*Backend).Prepare")) {
		t.Fatal("the list of symbols lacks what must be there")
	}
	test := regexp.MustCompile(`(?m)^.* (testing\.|.*sbxcron/.*[/.](failpoint|stepped|shiftedClock|newSteps|weak[A-Z])).*$`)
	for _, line := range test.FindAllString(string(out), 5) {
		t.Errorf("the program has the symbol %s", strings.TrimSpace(line))
	}
}

func TestTheShippedProgramHidesNoFlagAndNoCommand(t *testing.T) {
	p := emptyHouse(t).ship()
	loose := regexp.MustCompile(`sandbox|unsafe|insecure|bypass|force|trust-all|skip|approve|privileged|elevat|backend|probe|weaker|bwrap`)
	n := 0
	for _, c := range commands() {
		if c.Hidden {
			t.Errorf("%q is hidden", c.CommandPath())
		}
		help := p.run(nil, append(pathOf(c), "--help")...).out
		for _, f := range flagsOf(c) {
			n++
			if f.Hidden || !strings.Contains(help, "--"+f.Name) {
				t.Errorf("%q: --%s does not stand in the help", c.CommandPath(), f.Name)
			}
			if loose.MatchString(f.Name) {
				t.Errorf("%q: --%s sounds like a way around the sandbox", c.CommandPath(), f.Name)
			}
		}
	}
	if n < 60 {
		t.Errorf("only %d flags were seen", n)
	}
}

func TestTheShippedProgramReadsFewVariables(t *testing.T) {
	tool, dir := goTool(t)
	const format = `{{if .Module}}{{if eq .Module.Path "github.com/sbxcron/sbxcron"}}{{$d := .Dir}}{{range .GoFiles}}{{$d}}/{{.}}{{"\n"}}{{end}}{{end}}{{end}}`
	list := exec.Command(tool, "list", "-deps", "-f", format, ".")
	list.Dir = dir
	out, err := list.Output()
	if err != nil {
		exit, _ := errors.AsType[*exec.ExitError](err)
		t.Fatalf("list files: %v\n%s", err, exit.Stderr)
	}
	read := regexp.MustCompile(`\b(?:Getenv|LookupEnv)\("?([A-Za-z0-9_]*)`)
	var names []string
	for _, file := range strings.Fields(string(out)) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range read.FindAllStringSubmatch(string(text), -1) {
			names = append(names, m[1])
		}
	}
	slices.Sort(names)
	if got := strings.Join(slices.Compact(names), " "); got != "CREDENTIALS_DIRECTORY NOTIFY_SOCKET SSH_AUTH_SOCK" {
		t.Errorf("our code reads %q", got)
	}
}
