package pin

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/sbxcron/sbxcron/jobspec"
)

func TestTypedNamesResolveToRealPaths(t *testing.T) {
	dir := folder(t)
	first, second := dir+"/first", dir+"/second"
	tool := put(t, second+"/tool", "x", 0o755)
	put(t, first+"/plain", "x", 0o644)
	plain2 := put(t, second+"/plain", "x", 0o755)
	if err := os.MkdirAll(first+"/tool", 0o755); err != nil {
		t.Fatal(err)
	}
	alias := link(t, tool, dir+"/alias")
	hidden := put(t, dir+"/only-here", "x", 0o755)
	dirs := []string{first, second}
	accounts := []Account{{}}
	if os.Getuid() == 0 {
		accounts = append(accounts, dropped())
	}
	for _, c := range []struct {
		typed, cwd, want string
		code             jobspec.Code
	}{
		{"tool", dir, tool, ""},    // a folder of that name comes first and is no program
		{"plain", dir, plain2, ""}, // nor is a file that cannot be executed
		{"./alias", dir, tool, ""},
		{alias, "", tool, ""},
		{"../" + "second/tool", first, tool, ""},
		{"./only-here", dir, hidden, ""},
		{"only-here", dir, "", jobspec.CodeDriftExecMissing}, // bare names are never looked for in the cwd
		{"./only-here", "", "", jobspec.CodeDriftExecMissing},
		{"nothing", dir, "", jobspec.CodeDriftExecMissing},
		{"", dir, "", jobspec.CodeDriftExecMissing},
		{"a\x00b", dir, "", jobspec.CodeDriftExecMissing},
		{dir + "/nothing", "", "", jobspec.CodeDriftExecMissing},
	} {
		for _, acct := range accounts {
			got, err := Resolve(soon(t), acct, c.typed, c.cwd, dirs)
			var f *Failure
			if got != c.want || (err != nil) != (c.code != "") || err != nil && (!errors.As(err, &f) || f.Reason != c.code) {
				t.Errorf("drop %v: %q in %q: %q, %v; want %q %q", acct.Drop, c.typed, c.cwd, got, err, c.want, c.code)
			}
		}
	}
}

func TestResolvingUsesTheAccountsRights(t *testing.T) {
	asRoot(t)
	for _, path := range secrets(t) {
		var f *Failure
		_, err := Resolve(soon(t), dropped(), path, "", nil)
		if !errors.As(err, &f) || f.Reason != jobspec.CodePathUnreachable {
			t.Errorf("%q: %v", path, err)
		}
	}
}

func TestShebangIsReadAsTheKernelReadsIt(t *testing.T) {
	long := "/" + strings.Repeat("x", 300)
	for _, c := range []struct {
		text, interp, arg string
		ok                bool
	}{
		{"#!/bin/sh\necho", "/bin/sh", "", true},
		{"#! \t/bin/sh -eu\n", "/bin/sh", "-eu", true},
		{"#!/usr/bin/env python3 -u  \nx", "/usr/bin/env", "python3 -u", true},
		{"#!/bin/sh", "/bin/sh", "", true},
		{"#!/bin/sh\t\n", "/bin/sh", "", true},
		{"#!sh\n", "sh", "", true},
		{"#!\n", "", "", false},
		{"#!", "", "", false},
		{"#!   \n", "", "", false},
		{" #!/bin/sh\n", "", "", false},
		{"\x7fELF", "", "", false},
		{"", "", "", false},
		{"#!" + long + "\n", long[:254], "", false},
		{"#!/bin/sh " + long + "\n", "/bin/sh", long[:245], true},
	} {
		interp, arg, ok := Shebang(strings.NewReader(c.text))
		if ok != c.ok || ok && (interp != c.interp || arg != c.arg) {
			t.Errorf("%.30q: %q %q %v, want %q %q %v", c.text, interp, arg, ok, c.interp, c.arg, c.ok)
		}
	}
}

func TestProgramBringsEveryInterpreter(t *testing.T) {
	dir := folder(t)
	bin := dir + "/bin"
	env := put(t, bin+"/env", "\x7fELF", 0o755)
	py := put(t, bin+"/python9", "\x7fELF", 0o755)
	wrapper := put(t, bin+"/wrapper", "#!"+bin+"/env python9\n", 0o755)
	write := func(name, first string) string { return put(t, dir+"/"+name, first+"\nrest\n", 0o755) }
	loop := dir + "/loop"
	write("loop", "#!"+loop)
	for _, c := range []struct {
		typed string
		want  []string
		code  jobspec.Code
	}{
		{py, []string{py}, ""},
		{write("direct", "#!"+py+" -u"), []string{py}, ""},
		{write("by-env", "#!"+env+" python9"), []string{env, py}, ""},
		{write("by-env-s", "#!"+env+" -S python9 -u"), []string{env, py}, ""},
		{write("nested", "#!"+wrapper), []string{wrapper, env, py}, ""},
		{write("assign", "#!"+env+" -S A=b python9"), nil, jobspec.CodeBindAmbiguous},
		{write("option", "#!"+env+" -i python9"), nil, jobspec.CodeBindAmbiguous},
		{write("two-words", "#!"+env+" python9 -u"), nil, jobspec.CodeBindAmbiguous},
		{write("bare-env", "#!"+env), nil, jobspec.CodeBindAmbiguous},
		{write("relative", "#!bin/python9"), nil, jobspec.CodeBindAmbiguous},
		{loop, nil, jobspec.CodeBindAmbiguous},
		{write("gone", "#!"+dir+"/gone"), nil, ""},
		{write("unknown", "#!"+env+" nowhere"), nil, jobspec.CodeDriftExecMissing},
	} {
		all, err := Program(soon(t), Account{}, c.typed, dir, []string{bin})
		var f *Failure
		if c.code != "" && (!errors.As(err, &f) || f.Reason != c.code) {
			t.Errorf("%s: %v, want %q", c.typed, err, c.code)
		}
		if c.want == nil {
			if err == nil && c.code == "" && c.typed != loop {
				t.Errorf("%s: %+v", c.typed, all)
			}
			continue
		}
		if err != nil || all[0].Role != jobspec.RoleExecutable {
			t.Errorf("%s: %v", c.typed, err)
			continue
		}
		var got []string
		for _, one := range all[1:] {
			if one.Role != jobspec.RoleInterpreter {
				t.Errorf("%s: %+v", c.typed, one)
			}
			got = append(got, one.Real)
		}
		want := c.want
		if c.typed == py {
			want = nil
		}
		if strings.Join(got, " ") != strings.Join(want, " ") {
			t.Errorf("%s: interpreters %q, want %q", c.typed, got, want)
		}
	}
}
