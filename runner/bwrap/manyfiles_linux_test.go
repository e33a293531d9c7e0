package bwrap

import (
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/sbxcron/sbxcron/runner/internal/ends"
	"golang.org/x/sys/unix"
)

// programFile is a memory file that says "not bwrap" when it is executed.
func programFile(t *testing.T) *os.File {
	t.Helper()
	fd, err := unix.MemfdCreate("job", unix.MFD_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	f := os.NewFile(uintptr(fd), "job")
	t.Cleanup(func() { f.Close() })
	if _, err := f.WriteString("#!/bin/echo not bwrap\n"); err != nil {
		t.Fatal(err)
	}
	return f
}

// The files of a job take numbers in the child between fork and exec, some of
// them for a moment only. However many they are, none of them may be executed in
// place of bwrap: outside of the sandbox, with bytes that the job chose.
func TestNoFileOfAJobIsStartedInPlaceOfBwrap(t *testing.T) {
	b := open(t)
	prog, err := b.program()
	if err != nil {
		t.Fatal(err)
	}
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	var all []*os.File
	for len(all) < 600 {
		all = append(all, programFile(t))
	}
	for n := 0; n <= len(all); n += 20 {
		ours, theirs, err := ends.Pipe("version", true)
		if err != nil {
			t.Fatal(err)
		}
		files := append([]*os.File{null, theirs, null}, all[len(all)-n:]...)
		proc, err := b.spawn.start(prog, []string{"bwrap", "--version"}, files, credential(canaryAccount()))
		theirs.Close()
		if err != nil {
			t.Fatal(err)
		}
		if err := ours.SetReadDeadline(time.Now().Add(setupTime)); err != nil {
			t.Fatal(err)
		}
		said, err := io.ReadAll(ours)
		ours.Close()
		if _, werr := proc.Wait(); err != nil || werr != nil {
			t.Fatal(err, werr)
		}
		if !strings.HasPrefix(string(said), "bubblewrap ") {
			t.Errorf("with %d files something else was started: %.80q", n, said)
		}
	}
}
