package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestFlagsAndFileGiveTheSameJob(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "job.toml")
	text := "name = \"nightly\"\nschedule = \"30 2 * * *\"\ntimezone = \"Europe/Berlin\"\ncommand = [\"/usr/bin/true\", \"a b\"]\nexpires = \"30d\"\nenv = { A = \"1=2\" }\n[limits]\ntimeout = \"30m\"\noutput = \"2MiB\"\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var ops [][]byte
	for _, args := range [][]string{
		{"add", "-f", file, "--yes"},
		{"add", "nightly", "-f", file, "--yes"},
		line(plainJob, []string{"--yes", "--expires", "30d", "--env", "A=1=2", "--timeout", "30m", "--limit", "output=2MiB", "--", "/usr/bin/true", "a b"}),
	} {
		b := newBench(t)
		if code := b.run(args...); code != 0 {
			t.Fatalf("%q: exit %d\n%s", args, code, b.err.String())
		}
		ops = append(ops, b.svc.submitted[0].Op)
	}
	for _, op := range ops[1:] {
		if string(op) != string(ops[0]) {
			t.Errorf("%s\n%s", ops[0], op)
		}
	}
	b := newBench(t)
	if b.run("add", "-f", file, "--yes"); b.site.bases[0] != dir {
		t.Errorf("relative names of the file begin at %q, want %q", b.site.bases[0], dir)
	}
}

func TestCommandLinesThatDoNotGoTogetherAreRefused(t *testing.T) {
	file := filepath.Join(t.TempDir(), "job.toml")
	if err := os.WriteFile(file, []byte("name = \"nightly\"\nschedule = \"@daily\"\ncommand = [\"/usr/bin/true\"]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"add"}, {"add", "a", "b", "--", "x"}, {"add", "Bad", "--schedule", "@daily", "--", "x"},
		{"add", "-f", file, "--cwd", "/srv"}, {"add", "-f", file, "--", "x"}, {"add", "other", "-f", file},
		line(plainJob, []string{"--env", "NOVALUE"}, command), line(plainJob, []string{"--env", "A=1", "--env", "A=2"}, command),
		line(plainJob, []string{"--limit", "nonsense=1"}, command), line(plainJob, []string{"--limit", "pids=0"}, command),
		line(plainJob, []string{"--limit", "output=-1"}, command), line(plainJob, []string{"--limit", "pids"}, command),
		line(plainJob, []string{"--timeout", "soon"}, command), line(plainJob, []string{"--timeout", "500ms"}, command),
		line(plainJob, []string{"--limit", "output=512"}, command), line(plainJob, []string{"--principal", "bob"}, command),
		{"init"}, {"init", "--principal", "a"}, {"init", "--principal", "A B", "--key", "k"}, {"init", "--principal", "a", "--key", "k", "--new-key", "k"},
		{"init", "--principal", "a", "--key", "k", "--no-passphrase"},
		{"plan"}, {"plan", "add", "x", "--", "y"}, {"plan", "remove", "x"}, {"apply", "one"}, {"sign"},
		{"list", "more"}, {"show"}, {"show", "No Name"}, {"next", "-n", "0"}, {"next", "a", "--expr", "@daily"}, {"next", "--from", "yesterday"},
		{"history", "--outcome", "fine"}, {"history", "--limit", "0"}, {"history", "--since", "-1h"},
		{"logs"}, {"logs", "x", "--stream", "in"}, {"logs", "x", "-f"}, {"explain"}, {"explain", "x", "-f", file},
		{"cancel", "nightly"}, {"run"}, {"audit"}, {"audit", "export"}, {"audit", "report"}, {"audit", "report", "--since", "1d", "--sign", "x"}, {"audit", "export", "--format", "xml"}, {"audit", "export", "--ops", "x", "--job", "y"}, {"trust"}, {"trust", "revoke"}, {"policy"}, {"policy", "show", "roof"}, {"policy", "show", "--effective"}, {"policy", "show", "floor", "--for", "a"}, {"policy", "check", "--policy", "x"}, {"policy", "check", "--replay", "x"}, {"policy", "check", "--replay", "--runs", "-1"}, {"schema"}, {"schema", "op"},
		{"daemon", "--log-format", "xml"}, {"daemon", "--max-parallel", "-1"}, {"daemon", "extra"}, {"help", "nothing"},
		{"renew"}, {"renew", "No Name"}, {"rebind"}, {"edit"}, {"diff"}, {"import-crontab"}, {"review"}, {"try"}, {"events"}, {"backend"}, {"backend", "list", "x"}, {"backend", "check", "podman"}, {"store"}, {"store", "check", "x"}, {"store", "backup"}, {"store", "restore"},
		{"rebase"}, {"web"}, {"completion", "bash"}, {"man"}, {"notify"}, {"notify", "test"}, {"notify", "check", "x"}, {"service"}, {"--nonsense"}, {"list", "--nonsense"},
	} {
		b := newBench(t)
		status := b.run(line([]string{"--json"}, args)...)
		if e := b.errorDoc(); status != 64 || e.Exit != 64 || e.Class != "usage" || e.Message == "" || e.Help == "" || b.key.used != 0 || len(b.svc.submitted) > 0 {
			t.Errorf("%q: exit %d, %+v", args, status, e)
		}
	}
}

func TestWordsOfOtherToolsAreRefusedByName(t *testing.T) {
	for _, word := range []string{"full", "yolo", "elevated", "auto", "guarded", "local", "host", "off"} {
		b := newBench(t)
		status := b.run(line([]string{"--json"}, plainJob, []string{"--yes", "--tier", word}, command)...)
		if e := b.errorDoc(); status == 0 || !strings.Contains(e.Message, word) || e.Help == "" || b.key.used != 0 {
			t.Errorf("--tier %s: exit %d, %+v", word, status, e)
		}
	}
}
