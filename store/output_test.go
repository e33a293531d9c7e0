package store_test

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/record"
	"github.com/sbxcron/sbxcron/store"
	"github.com/sbxcron/sbxcron/store/storetest"
)

func runID(t *testing.T, at time.Time) string {
	t.Helper()
	id, err := record.NewRunID(at, rand.Reader)
	must(t, err)
	return id
}

// sealed writes both streams of a run and seals them.
func sealed(t *testing.T, o *store.Outputs, run, out, errs, text string) *record.Leaf {
	t.Helper()
	var captured []record.Captured
	for _, s := range []struct{ stream, body string }{{"out", out}, {"err", errs}} {
		f, err := o.Create(run, s.stream)
		must(t, err)
		_, err = f.WriteString(s.body)
		must(t, errors.Join(err, f.Close()))
		sum := jobspec.Digest(sha256.Sum256([]byte(s.body)))
		captured = append(captured, record.Captured{Stream: s.stream, Bytes: int64(len(s.body)), SHA256: sum, Kept: int64(len(s.body)), KeptSHA: sum})
	}
	outputs, commitment, err := o.Seal(run, captured, text)
	must(t, err)
	return &record.Leaf{Run: run, Outputs: outputs, Text: commitment}
}

func outputFile(d store.Dirs, run, ext string) string {
	at, _ := record.RunTime(run)
	return filepath.Join(d.OutputDir(), at.Format("2006-01-02"), run+"."+ext)
}

func TestSealedOutputIsFoundUnchanged(t *testing.T) {
	d := storetest.Dirs(t)
	o := store.NewOutputs(d, rand.Reader)
	run := runID(t, storetest.Epoch())
	leaf := sealed(t, o, run, "hello\n", "warning\n", "because")
	if problems := o.Verify(leaf); len(problems) != 0 {
		t.Fatal(problems)
	}
	f, err := o.Open(run, "out")
	must(t, err)
	defer f.Close()
	if b, _ := io.ReadAll(f); string(b) != "hello\n" {
		t.Errorf("out is %q", b)
	}
	if text, err := o.Text(run); err != nil || text != "because" {
		t.Errorf("text %q, %v", text, err)
	}
	if plain, err := o.Plain(run); err != nil || plain[0].SHA256 != jobspec.DigestOf([]byte("hello\n")) {
		t.Errorf("plain %+v, %v", plain, err)
	}
	for _, ext := range []string{"out", "err", "json"} {
		if info, err := os.Stat(outputFile(d, run, ext)); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", ext, info, err)
		}
	}
}

func TestLeafShowsNoHashOfWhatWasWritten(t *testing.T) {
	o := store.NewOutputs(storetest.Dirs(t), rand.Reader)
	a := sealed(t, o, runID(t, storetest.Epoch()), "same", "", "same")
	b := sealed(t, o, runID(t, storetest.Epoch()), "same", "", "same")
	if a.Outputs[0].SHA256 == b.Outputs[0].SHA256 || a.Text == b.Text || a.Outputs[0].SHA256 == a.Outputs[0].KeptSHA {
		t.Error("equal values have equal commitments")
	}
	if a.Outputs[0].SHA256 == jobspec.DigestOf([]byte("same")) {
		t.Error("the plain hash stands in the leaf")
	}
}

func TestRunThatWroteNothingLeavesNoFile(t *testing.T) {
	d := storetest.Dirs(t)
	o := store.NewOutputs(d, rand.Reader)
	run := runID(t, storetest.Epoch())
	leaf := sealed(t, o, run, "", "", "")
	for _, ext := range []string{"out", "err", "json"} {
		if _, err := os.Stat(outputFile(d, run, ext)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is there", ext)
		}
	}
	if len(leaf.Outputs) != 2 || !leaf.Outputs[0].SHA256.IsZero() || len(o.Verify(leaf)) != 0 {
		t.Errorf("%+v", leaf.Outputs)
	}
}

func TestChangedOutputIsNamed(t *testing.T) {
	for name, c := range map[string]struct {
		ext    string
		change func(path string) error
		stream string
		fault  store.Fault
	}{
		"a byte":              {"out", func(p string) error { return os.WriteFile(p, []byte("hellO\n"), 0o600) }, "out", store.FaultChanged},
		"longer":              {"err", func(p string) error { return os.WriteFile(p, []byte("warning\nmore"), 0o600) }, "err", store.FaultChanged},
		"gone":                {"err", os.Remove, "err", store.FaultMissing},
		"sidecar gone":        {"json", os.Remove, "", store.FaultMissing},
		"sidecar cut":         {"json", func(p string) error { return os.Truncate(p, 50) }, "", store.FaultSidecar},
		"text":                {"json", func(p string) error { return replace(p, "because", "becauSe") }, "text", store.FaultChanged},
		"sidecar's stream":    {"json", func(p string) error { return replace(p, `"stream":"out"`, `"stream":"oux"`) }, "out", store.FaultSidecar},
		"file that is a link": {"out", func(p string) error { return errors.Join(os.Rename(p, p+"x"), os.Symlink(p+"x", p)) }, "out", store.FaultChanged},
	} {
		t.Run(name, func(t *testing.T) {
			d := storetest.Dirs(t)
			o := store.NewOutputs(d, rand.Reader)
			run := runID(t, storetest.Epoch())
			leaf := sealed(t, o, run, "hello\n", "warning\n", "because")
			must(t, c.change(outputFile(d, run, c.ext)))
			problems := o.Verify(leaf)
			if len(problems) != 1 || problems[0].Stream != c.stream || problems[0].Fault != c.fault {
				t.Fatalf("%+v", problems)
			}
		})
	}
}

func replace(path, from, to string) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if !bytes.Contains(b, []byte(from)) {
		return errors.New("nothing to replace")
	}
	return os.WriteFile(path, bytes.Replace(b, []byte(from), []byte(to), 1), 0o600)
}

func TestSidecarOfAnotherRunIsRefused(t *testing.T) {
	d := storetest.Dirs(t)
	o := store.NewOutputs(d, rand.Reader)
	a, b := runID(t, storetest.Epoch()), runID(t, storetest.Epoch())
	leaf := sealed(t, o, a, "x", "", "")
	sealed(t, o, b, "x", "", "")
	must(t, os.Rename(outputFile(d, b, "json"), outputFile(d, a, "json")))
	if problems := o.Verify(leaf); len(problems) != 1 || problems[0].Fault != store.FaultSidecar {
		t.Fatalf("%+v", problems)
	}
}

func TestRunIDsAreNoPaths(t *testing.T) {
	o := store.NewOutputs(storetest.Dirs(t), rand.Reader)
	for _, run := range []string{"", "../x", "r-../../../../../../etc/pass"} {
		if _, err := o.Create(run, "out"); err == nil {
			t.Errorf("run %q has an output", run)
		}
	}
	if _, err := o.Create(runID(t, storetest.Epoch()), "../out"); err == nil {
		t.Error("a stream that is a path is made")
	}
}

func TestOutputIsMadeOnce(t *testing.T) {
	o := store.NewOutputs(storetest.Dirs(t), rand.Reader)
	run := runID(t, storetest.Epoch())
	f, err := o.Create(run, "out")
	must(t, err)
	must(t, f.Close())
	if _, err := o.Create(run, "out"); !errors.Is(err, fs.ErrExist) {
		t.Fatal(err)
	}
}

func TestOldestOutputsGoFirstAndNeverThoseOfARunningJob(t *testing.T) {
	now := storetest.Epoch()
	day := 24 * time.Hour
	for name, c := range map[string]struct {
		keep    store.Retention
		running int // index of a running run, or -1
		gone    []int
	}{
		"by age":             {store.Retention{MaxAge: 30 * day, MaxBytes: 1 << 30}, -1, []int{0, 1}},
		"by age but running": {store.Retention{MaxAge: 30 * day, MaxBytes: 1 << 30}, 0, []int{1}},
		"by size":            {store.Retention{MaxAge: 99 * day, MaxBytes: 3000}, -1, []int{0, 1, 2}},
		"nothing":            {store.Retention{MaxAge: 99 * day, MaxBytes: 1 << 30}, -1, nil},
		"zero keeps none":    {store.Retention{}, 4, []int{0, 1, 2, 3}},
	} {
		t.Run(name, func(t *testing.T) {
			d := storetest.Dirs(t)
			o := store.NewOutputs(d, rand.Reader)
			var runs []string
			for _, age := range []int{60, 40, 20, 10, 1} {
				run := runID(t, now.Add(-time.Duration(age)*day))
				sealed(t, o, run, strings.Repeat("x", 1000), "", "")
				runs = append(runs, run)
			}
			running := func(run string) bool { return c.running >= 0 && run == runs[c.running] }
			var recorded []store.Removed
			removed, err := o.Prune(now, c.keep, running, func(r []store.Removed) error {
				for _, r := range r {
					if _, err := os.Stat(outputFile(d, r.Run, "out")); err != nil {
						t.Error("removed before it was recorded")
					}
				}
				recorded = r
				return nil
			})
			must(t, err)
			if len(removed) != len(c.gone) || len(recorded) != len(c.gone) {
				t.Fatalf("removed %+v", removed)
			}
			for i, g := range c.gone {
				if removed[i].Run != runs[g] || removed[i].Files != 2 || removed[i].Bytes < 1000 {
					t.Errorf("removed %+v, want run %d", removed[i], g)
				}
				if _, err := os.Stat(filepath.Dir(outputFile(d, runs[g], "out"))); !errors.Is(err, fs.ErrNotExist) {
					t.Error("the day's folder stays")
				}
			}
		})
	}
}

func TestNothingIsPrunedThatCannotBeRecorded(t *testing.T) {
	d := storetest.Dirs(t)
	o := store.NewOutputs(d, rand.Reader)
	run := runID(t, storetest.Epoch().AddDate(-1, 0, 0))
	leaf := sealed(t, o, run, "x", "", "")
	_, err := o.Prune(storetest.Epoch(), store.DefaultRetention(), func(string) bool { return false }, func([]store.Removed) error { return errDisk })
	if !errors.Is(err, errDisk) || len(o.Verify(leaf)) != 0 {
		t.Fatal(err)
	}
}
