//go:build linux

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sbxcron/sbxcron/cmd/internal/api"
	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/signing/signingtest"
)

// everyAction leaves a chain that holds each action once: genesis, add, replace,
// disable, enable, remove, and an add of the removed name.
func everyAction(h *house) {
	h.t.Helper()
	for _, args := range [][]string{
		{"add", "j", "--schedule", never, "--", "/bin/true"},
		{"replace", "j", "--schedule", "1 0 1 1 *", "--", "/bin/true"},
		{"disable", "j"}, {"enable", "j"}, {"remove", "j"},
		{"add", "j", "--schedule", never, "--", "/bin/true"},
	} {
		h.must(append([]string{args[0], args[1], "--yes"}, args[2:]...)...)
	}
}

func TestStockKeygenAcceptsEveryExportedOpWithThePrintedLine(t *testing.T) {
	signingtest.Tool(t, "ssh-keygen")
	h := newHouse(t)
	everyAction(h)
	export := filepath.Join(h.dir, "it's an export")
	lines := strings.Split(strings.TrimSpace(h.must("audit", "export", "--ops", export)), "\n")
	if len(lines) != 7 {
		t.Fatalf("%d lines, want one for each of 7 ops:\n%s", len(lines), strings.Join(lines, "\n"))
	}
	for _, line := range lines {
		if out, err := signingtest.Run(t, nil, nil, "sh", "-c", line); err != nil || !strings.Contains(out, `Good "`) {
			t.Errorf("%s\n%s: %v", line, out, err)
		}
	}
	spoilExport(t, export, lines)
}

// spoilExport shows that the lines check something: with one byte changed none
// of them passes.
func spoilExport(t *testing.T, export string, lines []string) {
	t.Helper()
	ops, err := filepath.Glob(filepath.Join(export, "op-*.json"))
	if err != nil || len(ops) != len(lines) {
		t.Fatalf("%d op files, %v", len(ops), err)
	}
	for i, file := range ops {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, append(b, ' '), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := signingtest.Run(t, nil, nil, "sh", "-c", lines[i]); err == nil {
			t.Errorf("the line accepts a changed op: %s", lines[i])
		}
	}
}

func TestHistoryStaysVerifiableAfterItsKeyIsRotatedOrRevoked(t *testing.T) {
	signingtest.Tool(t, "ssh-keygen")
	for _, how := range []string{"rotated", "revoked"} {
		t.Run(how, func(t *testing.T) {
			h := newHouse(t)
			h.must("add", "j", "--yes", "--schedule", never, "--", "/bin/true")
			next := signingtest.NewKey(t, "alice", jobspec.RootNamespace, jobspec.ManageNamespace)
			old, err := os.ReadFile(h.dirs().AllowedSigners())
			if err != nil {
				t.Fatal(err)
			}
			if how == "rotated" { // the old line is taken out
				h.write(h.dirs().AllowedSigners(), []byte(next.Line(t)))
			} else {
				fields := strings.Fields(string(old))
				h.write(h.dirs().RevokedKeys(), []byte(strings.Join(fields[len(fields)-2:], " ")+"\n"))
			}
			export := filepath.Join(h.dir, "export")
			for _, line := range strings.Split(strings.TrimSpace(h.must("audit", "export", "--ops", export)), "\n") {
				if out, err := signingtest.Run(t, nil, nil, "sh", "-c", line); err != nil {
					t.Errorf("%s\n%s: %v", line, out, err)
				}
			}
			if r := h.run("audit", "verify"); r.code != 0 {
				t.Errorf("audit verify: exit %d\n%s%s", r.code, r.out, r.err)
			}
		})
	}
}

func TestApplyAcceptsWhatStockKeygenSigned(t *testing.T) {
	signingtest.Tool(t, "ssh-keygen")
	h := newHouse(t)
	agent := signingtest.Agent(t)
	signingtest.AgentAdd(t, agent, h.key)
	public := h.key + ".pub"
	for i, c := range []struct {
		name, key string
		env       []string
	}{
		{"file", h.key, nil},
		{"agent", public, []string{"SSH_AUTH_SOCK=" + agent}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.name == "agent" { // so that nobody else can have signed
				hidden := h.key + ".away"
				if err := os.Rename(h.key, hidden); err != nil {
					t.Fatal(err)
				}
				defer os.Rename(hidden, h.key)
			}
			file := filepath.Join(h.dir, c.name+".json")
			lines := strings.Split(h.must("plan", "add", c.name, "--out", file, "--schedule", never, "--", "/bin/true"), "\n")
			line := strings.Replace(lines[1], " KEY ", " "+c.key+" ", 1)
			if out, err := signingtest.Run(t, nil, c.env, "sh", "-c", line); err != nil {
				t.Fatalf("%s\n%s: %v", line, out, err)
			}
			done := item[api.Accepted](h, "apply", file, file+".sig")
			if done.Seq != int64(i+1) || string(done.Job) != c.name {
				t.Errorf("accepted %+v", done)
			}
		})
	}
	if r := h.run("audit", "verify"); r.code != 0 {
		t.Errorf("audit verify: exit %d\n%s%s", r.code, r.out, r.err)
	}
}

func TestApplyRefusesAnotherNamespaceOrChangedBytes(t *testing.T) {
	signingtest.Tool(t, "ssh-keygen")
	h := newHouse(t)
	file := filepath.Join(h.dir, "op.json")
	h.must("plan", "add", "j", "--out", file, "--schedule", never, "--", "/bin/true")
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	good := signingtest.StockSign(t, nil, h.key, "scratch.none.v1@sbxcron", raw)
	file2 := signingtest.File(t, "other.json", append(append([]byte{}, raw...), '\n'))
	for _, c := range []struct {
		name, file string
		sig        []byte
		exit       int
	}{
		{"git", file, signingtest.StockSign(t, nil, h.key, "git", raw), 11},
		{"file", file, signingtest.StockSign(t, nil, h.key, "file", raw), 11},
		{"upper case", file, signingtest.StockSign(t, nil, h.key, "SCRATCH.none.v1@sbxcron", raw), 11},
		{"higher tier", file, signingtest.StockSign(t, nil, h.key, "workspace.none.v1@sbxcron", raw), 11},
		{"a line break more", file2, good, 10},
		{"text after the signature", file, append(append([]byte{}, good...), "more\n"...), 10},
		{"text before the signature", file, append([]byte("Good \"file\" signature\n"), good...), 10},
		{"two signatures", file, append(append([]byte{}, good...), good...), 10},
		{"empty", file, nil, 10},
	} {
		sig := signingtest.File(t, "sig", c.sig)
		if e := h.failure("apply", c.file, sig); e.Exit != c.exit {
			t.Errorf("%s: %s, exit %d, want %d: %s", c.name, e.ErrCode, e.Exit, c.exit, e.Message)
		}
	}
	if n := len(h.entries()); n != 1 {
		t.Errorf("%d ops in the chain, want genesis alone", n)
	}
	h.must("apply", file, signingtest.File(t, "good", good))
}
