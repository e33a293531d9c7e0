package witness

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/runner/shim"
)

func TestEventsAreReadBackAndNothingElseIs(t *testing.T) {
	var wire bytes.Buffer
	want := []Event{{jobspec.CodeEscSudo, "sudo id", 1}, {jobspec.CodeAskAgentDenied, "", 1<<31 - 1}, {jobspec.CodeResultUnreadable, strings.Repeat("x", MaxTarget), 7}}
	for _, e := range want {
		b, err := e.Encode()
		if err != nil || len(b) != EventSize {
			t.Fatalf("%+v: %d bytes, %v", e, len(b), err)
		}
		wire.Write(b)
	}
	for _, w := range want {
		if got, err := Read(&wire); err != nil || got != w {
			t.Errorf("read %+v, %v", got, err)
		}
	}
	if _, err := Read(&wire); !errors.Is(err, io.EOF) {
		t.Errorf("at the end: %v", err)
	}
}

func TestAWitnessThatSendsAnythingElseIsNotBelieved(t *testing.T) {
	good, err := Event{jobspec.CodeEscSudo, "sudo", 1}.Encode()
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(b []byte){
		"unknown code":       func(b []byte) { b[0] = 0xff },
		"length":             func(b []byte) { b[1] = 0xff },
		"count 0":            func(b []byte) { b[2] = 0 },
		"count over 31 bits": func(b []byte) { b[5] = 0x80 },
		"control character":  func(b []byte) { b[eventHead] = 0x1b },
		"not ASCII":          func(b []byte) { b[eventHead] = 0xc3 },
		"bytes behind":       func(b []byte) { b[EventSize-1] = 1 },
	} {
		b := bytes.Clone(good)
		change(b)
		if e, err := Read(bytes.NewReader(b)); err == nil {
			t.Errorf("%s: read %+v", name, e)
		}
	}
	if _, err := Read(bytes.NewReader(good[:100])); err == nil || errors.Is(err, io.EOF) {
		t.Errorf("half an event: %v", err)
	}
	for _, e := range []Event{{jobspec.CodeNetDeniedDomain, "x", 1}, {jobspec.CodeEscSudo, "a\nb", 1}, {jobspec.CodeEscSudo, "x", 0}, {}} {
		if _, err := e.Encode(); err == nil {
			t.Errorf("%+v was written", e)
		}
	}
}

func TestWordsAreQuotedInASCIIAndCut(t *testing.T) {
	for want, argv := range map[string][]string{
		"sudo -n /bin/x":                        {"sudo", "-n", "/bin/x"},
		`sudo "two words" ""`:                   {"sudo", "two words", ""},
		`sudo "a\nb" "\u202e" "\x1b[2J"`:        {"sudo", "a\nb", "\u202e", "\x1b[2J"},
		`x ` + strings.Repeat("y", 195) + "...": {"x", strings.Repeat("y", 300)},
	} {
		if got := Words(argv); got != want || len(got) > MaxTarget {
			t.Errorf("%q: %s", argv, got)
		}
	}
}

func TestAFloodOfKindsIsCountedInFewEvents(t *testing.T) {
	var tl tally
	for i := range 10000 {
		tl.add(shim.Attempt{Code: jobspec.CodeEscSudo, Argv: []string{"sudo", fmt.Sprint(i)}})
	}
	var n int64
	for _, e := range tl.list {
		n += e.Count
	}
	if len(tl.list) > maxKinds+len(shim.Codes()) || n != 10000 {
		t.Errorf("%d kinds, %d in all", len(tl.list), n)
	}
}
