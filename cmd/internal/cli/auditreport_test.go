package cli

import (
	"archive/tar"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sbxcron/sbxcron/cmd/internal/retell"
	"github.com/sbxcron/sbxcron/jobspec/record"
	"github.com/sbxcron/sbxcron/signing/signingtest"
)

// smallBundle holds one line of the ledger, with text of a job in it.
func smallBundle(t *testing.T) string {
	t.Helper()
	l := &record.Leaf{Host: testHost, Kind: record.Boot, Time: record.Stamp(noon.Add(-1)), Version: "\u009b\u202e=1"}
	line, err := l.Encode()
	if err != nil {
		t.Fatal(err)
	}
	line = append(line, '\n')
	path := filepath.Join(t.TempDir(), "bundle.tar")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	w := tar.NewWriter(f)
	err = w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: "state/ledger/2026-11.jsonl", Mode: 0o600, Size: int64(len(line)), Format: tar.FormatUSTAR})
	_, writeErr := w.Write(line)
	if err := errors.Join(err, writeErr, w.Close(), f.Close()); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestStockSSHKeygenAcceptsASignedReport(t *testing.T) {
	signingtest.Tool(t, "ssh-keygen")
	b := newBench(t)
	owner := signingtest.FixedKey(t, "alice", "alice", retell.ReportNamespace)
	b.key.key = owner
	dir := t.TempDir()
	out, list := filepath.Join(dir, "report.html"), filepath.Join(dir, "signers")
	if err := os.WriteFile(list, signingtest.AllowedSigners(t, owner), 0o600); err != nil {
		t.Fatal(err)
	}
	if status := b.run("audit", "report", "--since", "7d", "--format", "html", "--out", out, "--sign", "key", smallBundle(t)); status != 0 {
		t.Fatalf("exit %d\n%s", status, b.err.String())
	}
	verify := func(text []byte) error {
		cmd := exec.Command("ssh-keygen", "-Y", "verify", "-f", list, "-I", "alice", "-n", "report.v1@sbxcron", "-s", out+".sig")
		cmd.Stdin = strings.NewReader(string(text))
		return cmd.Run()
	}
	text, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	if err := verify(text); err != nil {
		t.Errorf("stock ssh-keygen refuses it: %v", err)
	}
	if verify(append(text, ' ')) == nil {
		t.Error("stock ssh-keygen accepts another report")
	}
	if status := b.run("audit", "report", "--since", "7d", "--out", out, smallBundle(t)); status != 65 {
		t.Errorf("a file was written over: exit %d", status)
	}
}

func TestLinesAndReportsOfABundle(t *testing.T) {
	b := newBench(t)
	path := smallBundle(t)
	for _, args := range [][]string{{"export", "--format", "csv"}, {"export", "--format", "jsonl", "--since", "7d"}, {"report", "--since", "7d"}} {
		if status := b.run(append(append([]string{"audit"}, args...), path)...); status != 0 || !strings.Contains(b.out.String(), "boot") {
			t.Errorf("%q: exit %d\n%s%s", args, status, b.out.String(), b.err.String())
		}
	}
	b.run("--json", "audit", "report", "--since", "7d", path)
	if !strings.HasPrefix(b.out.String(), `{"schema":"sbxcron.report/v1","item":{`) {
		t.Errorf("%s", b.out.String())
	}
	if status := b.run("audit", "report", "--since", "7d", "--format", "pdf", path); status != 64 {
		t.Errorf("exit %d", status)
	}
}

func TestASelftestThatCouldTryNothingIsNotGood(t *testing.T) {
	b := newBench(t)
	if status := b.run("audit", "selftest", smallBundle(t)); status == 0 || !strings.Contains(b.out.String(), "not tried") {
		t.Errorf("exit %d\n%s%s", status, b.out.String(), b.err.String())
	}
}
