package runner

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/record"
)

// captured runs chunks through a capture and returns what it says and kept.
func captured(t *testing.T, keep int64, chunks ...string) (record.Captured, string) {
	t.Helper()
	path := t.TempDir() + "/out"
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	c := NewCapture("out", f, keep, nil)
	for _, chunk := range chunks {
		if n, err := c.Write([]byte(chunk)); n != len(chunk) || err != nil {
			t.Fatalf("write: %d, %v", n, err)
		}
	}
	got, err := c.Finish()
	if err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got.Kept != int64(len(raw)) || got.KeptSHA != jobspec.Digest(sha256.Sum256(raw)) {
		t.Errorf("%d bytes kept with another digest than the file's %d", got.Kept, len(raw))
	}
	return got, string(raw)
}

func TestCaptureKeepsHeadAndTailWithinItsBound(t *testing.T) {
	for _, c := range []struct {
		keep   int64
		chunks []string
		want   string
	}{
		{10, nil, ""},
		{10, []string{"hello"}, "hello"},
		{10, []string{"0123456789"}, "0123456789"},
		{10, []string{"01234", "5678", "9"}, "0123456789"},
		{10, []string{"0123456789a"}, "01234\n[sbxcron: 1 bytes not kept]\n6789a"},
		{10, []string{"0123", "45678", "9abc", "d"}, "01234\n[sbxcron: 4 bytes not kept]\n9abcd"},
		{10, []string{"0", "123456789abcdefghijklmnop"}, "01234\n[sbxcron: 16 bytes not kept]\nlmnop"},
		{5, []string{"abcdefgh"}, "abc\n[sbxcron: 3 bytes not kept]\ngh"},
		{1, []string{"ab"}, "a\n[sbxcron: 1 bytes not kept]\n"},
		{0, []string{"ab"}, "\n[sbxcron: 2 bytes not kept]\n"},
		{-3, []string{"ab"}, "\n[sbxcron: 2 bytes not kept]\n"},
	} {
		got, kept := captured(t, c.keep, c.chunks...)
		whole := strings.Join(c.chunks, "")
		if kept != c.want || got.Truncated != strings.Contains(c.want, "[sbxcron") {
			t.Errorf("keep %d of %q: %q, truncated %v", c.keep, c.chunks, kept, got.Truncated)
		}
		if got.Stream != "out" || got.Bytes != int64(len(whole)) || got.SHA256 != jobspec.Digest(sha256.Sum256([]byte(whole))) {
			t.Errorf("keep %d of %q: %+v", c.keep, c.chunks, got)
		}
	}
}

func TestCaptureKeepsTheSameHoweverTheStreamIsCut(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 150 {
		whole := make([]byte, r.IntN(300))
		for i := range whole {
			whole[i] = byte('a' + i%26)
		}
		keep := int64(r.IntN(120))
		want, wantKept := captured(t, keep, string(whole))
		var chunks []string
		for rest := whole; len(rest) > 0; {
			n := 1 + r.IntN(len(rest))
			chunks, rest = append(chunks, string(rest[:n])), rest[n:]
		}
		if got, kept := captured(t, keep, chunks...); got != want || kept != wantKept {
			t.Fatalf("keep %d of %q cut as %q: %q, want %q", keep, whole, chunks, kept, wantKept)
		}
	}
}

func TestTenMegabytesOfOneLineBlockNothing(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	line := bytes.Repeat([]byte("0123456789abcdef"), 10<<20/16)
	go func() {
		defer w.Close()
		w.Write(line)
	}()
	path := t.TempDir() + "/out"
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	c := NewCapture("err", f, 1<<20, nil)
	if n, err := io.Copy(c, r); n != int64(len(line)) || err != nil {
		t.Fatalf("drained %d, %v", n, err)
	}
	got, err := c.Finish()
	if err != nil {
		t.Fatal(err)
	}
	if got.Bytes != 10<<20 || got.SHA256 != jobspec.Digest(sha256.Sum256(line)) || !got.Truncated {
		t.Errorf("%+v", got)
	}
	if over := got.Kept - 1<<20; over < 0 || over > 64 {
		t.Errorf("%d bytes kept", got.Kept)
	}
	raw, err := os.ReadFile(path)
	if err != nil || !bytes.HasPrefix(raw, line[:1<<19]) || !bytes.HasSuffix(raw, line[:1<<19]) {
		t.Errorf("head or tail is missing: %v", err)
	}
}

func TestHeadIsInTheFileWhileTheJobRuns(t *testing.T) {
	path := t.TempDir() + "/out"
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	c := NewCapture("out", f, 100, nil)
	fmt.Fprint(c, "early")
	if raw, err := os.ReadFile(path); string(raw) != "early" {
		t.Errorf("file holds %q, %v", raw, err)
	}
	if _, err := c.Finish(); err != nil {
		t.Error(err)
	}
}

// /dev/full answers each write with ENOSPC, full(4).
func TestFullDiskIsReportedAndTheStreamStillDrained(t *testing.T) {
	f, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("/dev/full is missing")
	}
	c := NewCapture("out", f, 10, nil)
	whole := strings.Repeat("x", 1000)
	if n, err := io.Copy(c, strings.NewReader(whole)); n != 1000 || err != nil {
		t.Fatalf("drained %d, %v", n, err)
	}
	got, err := c.Finish()
	if !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("got %v", err)
	}
	if got.Bytes != 1000 || got.SHA256 != jobspec.Digest(sha256.Sum256([]byte(whole))) || got.Kept != 0 || !got.Truncated {
		t.Errorf("%+v", got)
	}
}

func TestMemoryOfAQuietStreamIsSmall(t *testing.T) {
	c := NewCapture("out", nil, 1<<40, nil)
	if n := cap(c.tail.buf); n != 0 {
		t.Errorf("%d bytes held for nothing", n)
	}
}
