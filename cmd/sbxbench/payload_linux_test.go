package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

func TestThePayloadTellsWhenItRan(t *testing.T) {
	code, err := payload()
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(t.TempDir(), "payload")
	if err := os.WriteFile(program, code, 0o755); err != nil {
		t.Fatal(err)
	}
	begun, err := monotonic()
	if err != nil {
		t.Fatal(err)
	}
	wrote, err := exec.Command(program).Output()
	if err != nil {
		t.Fatal(err)
	}
	ended, err := monotonic()
	if err != nil {
		t.Fatal(err)
	}
	at, err := since(begun, wrote)
	if err != nil {
		t.Fatal(err)
	}
	if all := float64(ended-begun) / float64(time.Millisecond); at < 0 || at > all {
		t.Errorf("ran after %.3f ms of %.3f", at, all)
	}
	if _, err := since(begun, wrote[:8]); err == nil {
		t.Error("half an answer is an answer")
	}
}

// Both architectures get a program; only this machine's can be tried.
func TestThePayloadIsOneSegmentBehindItsHeaders(t *testing.T) {
	for name, code := range map[string][]byte{"amd64": amd64Code(), "arm64": arm64Code()} {
		file := elf(62, code)
		if len(file) != 64+56+len(code) || string(file[:4]) != "\x7fELF" || string(file[120:]) != string(code) {
			t.Errorf("%s: %d bytes for %d of code", name, len(file), len(code))
		}
	}
}
