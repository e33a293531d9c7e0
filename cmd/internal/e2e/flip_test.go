//go:build linux

package e2e

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/sbxcron/sbxcron/cmd/internal/api"
	"github.com/sbxcron/sbxcron/cmd/internal/client"
	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/store"
)

// flippable has a job of each kind: one in force by its add, one by an enable,
// one removed.
func flippable(t *testing.T) *house {
	t.Helper()
	h := newHouse(t)
	for _, args := range [][]string{
		{"add", "plain", "--schedule", never, "--", "/bin/true"},
		{"add", "again", "--schedule", never, "--", "/bin/true"}, {"disable", "again"}, {"enable", "again"},
		{"add", "gone", "--schedule", never, "--", "/bin/true"}, {"remove", "gone"},
	} {
		h.must(append([]string{args[0], args[1], "--yes"}, args[2:]...)...)
	}
	return h
}

// chainFile is the database as bytes, in which a bit can be changed and put back
// while somebody has it open.
type chainFile struct {
	t    *testing.T
	path string
	text []byte
}

func (h *house) chainFile() *chainFile {
	h.t.Helper()
	path := h.dirs().ChainDB()
	b, err := os.ReadFile(path)
	if err != nil {
		h.t.Fatal(err)
	}
	return &chainFile{h.t, path, b}
}

// flip changes one bit of part, wherever the file has it (a database keeps old
// pages), runs fn and puts the bit back.
func (c *chainFile) flip(part []byte, bit int, fn func()) {
	c.t.Helper()
	changed := flipped(part, bit)[bit/8]
	at := c.places(part)
	c.write(at, bit/8, changed)
	fn()
	c.write(at, bit/8, part[bit/8])
}

func (c *chainFile) places(part []byte) []int {
	c.t.Helper()
	var at []int
	for from := 0; ; {
		i := bytes.Index(c.text[from:], part)
		if i < 0 {
			break
		}
		at = append(at, from+i)
		from += i + 1
	}
	if len(at) == 0 {
		c.t.Fatal("the bytes are not in the file")
	}
	return at
}

func (c *chainFile) write(at []int, offset int, b byte) {
	c.t.Helper()
	f, err := os.OpenFile(c.path, os.O_WRONLY, 0)
	if err != nil {
		c.t.Fatal(err)
	}
	defer f.Close()
	for _, i := range at {
		if _, err := f.WriteAt([]byte{b}, int64(i+offset)); err != nil {
			c.t.Fatal(err)
		}
	}
}

// stride spreads n bits over part; with n 0 it takes each.
func stride(part []byte, n int) int {
	if n == 0 {
		return 1
	}
	return max(1, len(part)*8/n|1)
}

func TestNothingRunsWithAnyBitOfAnyOpFlipped(t *testing.T) {
	h := flippable(t)
	in, file := newInsider(t), h.chainFile()
	for _, entry := range h.entries() {
		named := fmt.Sprintf("op %d ", entry.Seq)
		every := bounded(33, 1) // 33 and 8 share no factor: each bit of a byte has its turn
		for bit := int(entry.Seq) % every; bit < len(entry.Op)*8; bit += every {
			file.flip(entry.Op, bit, func() {
				_, err := store.Load(h.dirs())
				if e := api.Wrap(err); err == nil || e.Exit != 12 || !strings.Contains(e.Message, named) {
					t.Errorf("op %d bit %d: proven: %v; want class 12 and the op named", entry.Seq, bit, err)
				}
			})
			if t.Failed() {
				return
			}
		}
		for bit := 0; bit < len(entry.Op)*8; bit += stride(entry.Op, bounded(3, 400)) {
			file.flip(entry.Op, bit, func() { nothingRuns(t, in, h, named) })
		}
	}
	if _, err := store.Load(h.dirs()); err != nil {
		t.Errorf("with every bit back: %v", err)
	}
}

// nothingRuns opens the installation as the service does and wants that it
// refuses everything that would act, class 12, naming what is wrong.
func nothingRuns(t *testing.T, in *insider, h *house, named string) {
	t.Helper()
	e, err := in.open(t, h, true)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	_, headErr := e.Head(context.Background())
	_, currentErr := e.Current("plain")
	_, _, slotsErr := e.Intervals()
	_, submitErr := e.Submit(context.Background(), api.Submission{Op: []byte("{}"), Sig: []byte("x")})
	for what, err := range map[string]error{"proven": e.Proven(), "head": headErr, "current": currentErr, "slots": slotsErr, "submit": submitErr} {
		if w := api.Wrap(err); err == nil || w.Exit != 12 || !strings.Contains(w.Message, named) {
			t.Errorf("%s: %v; want class 12 and %q", what, err, named)
		}
	}
}

func TestJobWithAnyBitOfItsSignatureFlippedDoesNotRun(t *testing.T) {
	h := flippable(t)
	in, file := newInsider(t), h.chainFile()
	inForce := map[int64][]jobspec.Name{1: {"plain"}, 2: {"again"}, 4: {"again"}} // by seq of the op
	e := in.must(t, h, false)
	every := bounded(33, 1)
	for _, entry := range h.entries() {
		sig := entry.Sigs[0]
		for bit := int(entry.Seq) % every; bit < len(sig)*8; bit += every {
			file.flip(sig, bit, func() {
				for _, job := range []jobspec.Name{"plain", "again"} {
					v, err := e.Current(job)
					bad := len(inForce[entry.Seq]) > 0 && inForce[entry.Seq][0] == job
					if err != nil || bad != (v.Refused != "") || bad && v.Refused.Class().Exit() != 10 || bad && v.Signed.Valid() {
						t.Fatalf("op %d signature bit %d, job %s: %v, refused %q (%s)", entry.Seq, bit, job, err, v.Refused, v.Detail)
					}
				}
			})
		}
		for bit := 0; bit < len(sig)*8; bit += stride(sig, bounded(15, 400)) {
			file.flip(sig, bit, func() {
				a, err := e.Verify(context.Background())
				if err != nil || a.Authentic != "fail" || !names(a, fmt.Sprintf("op %d", entry.Seq)) {
					t.Fatalf("op %d signature bit %d: audit: %+v, %v", entry.Seq, bit, a, err)
				}
			})
		}
	}
	if a, err := e.Verify(context.Background()); err != nil || a.Authentic != "pass" {
		t.Errorf("with every bit back: %+v, %v", a, err)
	}
}

func names(a api.Audit, where string) bool {
	for _, p := range a.Problems {
		if p.Where == where {
			return true
		}
	}
	return false
}

// TestServiceRefusesFlippedBits changes bits under a running service: in the op
// of a job, in its signature, and in the signature of another op.
func TestServiceRefusesFlippedBits(t *testing.T) {
	h := flippable(t)
	s := h.start()
	file, entries := h.chainFile(), h.entriesUnder(s)
	c, err := client.Dial(context.Background(), h.dirs().Socket(), os.Getuid())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	start := func(job jobspec.Name) *api.Error {
		r, err := c.Start(context.Background(), job)
		if err != nil {
			return api.Wrap(err)
		}
		if r.Outcome != "refused" || r.StartedAt != nil || len(r.Reasons) == 0 {
			t.Fatalf("job %s: run %+v", job, r)
		}
		return api.New(r.Reasons[0].Code, r.Reasons[0].Text())
	}
	for _, job := range []struct {
		name jobspec.Name
		seq  int64
	}{{"plain", 1}, {"again", 2}} {
		op, sig := entries[job.seq].Op, entries[job.seq].Sigs[0]
		for bit := 0; bit < len(op)*8; bit += stride(op, 100) {
			file.flip(op, bit, func() {
				if e := start(job.name); e.Exit != 12 || !strings.Contains(e.Message, fmt.Sprintf("op %d ", job.seq)) {
					t.Fatalf("op %d bit %d: %s exit %d: %s", job.seq, bit, e.ErrCode, e.Exit, e.Message)
				}
			})
		}
		for bit := 0; bit < len(sig)*8; bit += stride(sig, bounded(20, 200)) {
			file.flip(sig, bit, func() {
				if e := start(job.name); e.Exit != 10 {
					t.Fatalf("op %d signature bit %d: %s exit %d: %s", job.seq, bit, e.ErrCode, e.Exit, e.Message)
				}
			})
		}
	}
	file.flip(entries[5].Sigs[0], 900, func() {
		if r := h.run("audit", "verify"); r.code != 20 || !strings.Contains(r.out, "op 5") {
			t.Errorf("audit verify: exit %d\n%s", r.code, r.out)
		}
	})
	file.flip(entries[1].Op, 900, func() {
		if r := h.run("run", "plain"); r.code != 12 || !strings.Contains(r.err, "op 1 ") {
			t.Errorf("run: exit %d\n%s%s", r.code, r.out, r.err)
		}
	})
	if r, err := c.Start(context.Background(), "plain"); err != nil || r.Outcome == "refused" {
		t.Errorf("with every bit back: %+v, %v", r, err)
	}
}

// entriesUnder reads the chain while the service holds it: from a copy.
func (h *house) entriesUnder(*service) []store.Entry { return h.twin(h.t).entries() }

func TestServiceStartedOnAFlippedOpRunsNothing(t *testing.T) {
	h := flippable(t)
	file, entries := h.chainFile(), h.entries()
	for n := range bounded(7, 200) {
		entry := entries[n%len(entries)]
		bit := (n*7919 + 13) % (len(entry.Op) * 8)
		file.flip(entry.Op, bit, func() {
			s := h.start()
			defer s.kill()
			r := h.run("run", "plain")
			if r.code != 12 || !strings.Contains(r.err, fmt.Sprintf("op %d ", entry.Seq)) {
				t.Errorf("op %d bit %d: run: exit %d\n%s%s", entry.Seq, bit, r.code, r.out, r.err)
			}
		})
	}
	if rows := items[api.Run](h, "history"); len(rows) != 0 {
		t.Errorf("something was recorded as a run: %+v", rows)
	}
}
