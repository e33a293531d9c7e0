//go:build linux

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sbxcron/sbxcron/cmd/internal/api"
)

// broken is what every installation must do whose chain does not fit its pin:
// nothing runs, nothing is accepted, and what was is still read.
func (h *house) broken(what string) {
	h.t.Helper()
	s := h.start()
	defer s.kill()
	h.brokenNow(what+", with a service", "run", "j")
}

// brokenNow asks without starting a service; acts is a command that must be
// refused as tampered.
func (h *house) brokenNow(what string, acts ...string) {
	h.t.Helper()
	for _, c := range []struct {
		args []string
		exit int
	}{
		{acts, 12}, {[]string{"remove", "other", "--yes"}, 12}, {[]string{"audit", "verify"}, 20}, {[]string{"status"}, 3},
		{[]string{"list"}, 0}, {[]string{"history"}, 0},
	} {
		if r := h.run(c.args...); r.code != c.exit {
			h.t.Errorf("%s: %q: exit %d, want %d\n%s%s", what, c.args, r.code, c.exit, r.out, r.err)
		}
	}
}

// removedHouse has run a job, which was removed then.
func removedHouse(t *testing.T) (h *house, canary string) {
	t.Helper()
	h = newHouse(t)
	dir := h.script("ws", "date >> ran")
	h.add("j", dir, "workspace", "./job.sh")
	h.must("add", "other", "--yes", "--schedule", never, "--", "/bin/true")
	s := h.start()
	if r := h.run("run", "j", "--wait"); r.code != 0 {
		t.Fatalf("run: exit %d\n%s%s", r.code, r.out, r.err)
	}
	s.stop()
	return h, filepath.Join(dir, "ran")
}

func lines(t *testing.T, path string) int {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Count(string(b), "\n")
}

func TestChainCutBackAfterARemovalRunsNothing(t *testing.T) {
	h, canary := removedHouse(t)
	older := filepath.Join(h.dir, "older.db")
	if err := copyFile(h.dirs().ChainDB(), older, 0o600); err != nil {
		t.Fatal(err)
	}
	h.must("remove", "j", "--yes")
	in := newInsider(t)
	total := len(h.entries())
	for n := range total {
		cut := h.twin(t)
		cut.cut(n)
		nothingRuns(t, in, cut, "")
		if n == total-1 || soak() {
			cut.broken("cut back by one")
		}
	}
	h.brokenByAnOlderDatabase(older)
	if n := lines(t, canary); n != 1 {
		t.Errorf("the removed job ran %d times, want once, before it was removed", n)
	}
}

// brokenByAnOlderDatabase puts the database back that was in force before the
// removal, whole, and looks at what is left to be read.
func (h *house) brokenByAnOlderDatabase(older string) {
	old := h.twin(h.t)
	if err := copyFile(older, old.dirs().ChainDB(), 0o600); err != nil {
		h.t.Fatal(err)
	}
	old.broken("an older database")
	old.brokenNow("an older database", "run", "j")
	if runs := items[api.Run](old, "history", "j"); len(runs) == 0 || runs[len(runs)-1].Outcome != "succeeded" {
		h.t.Errorf("history: %+v", runs)
	}
	if jobs := items[api.Job](old, "list"); len(jobs) != 2 || jobs[0].State != "refused" {
		h.t.Errorf("list: %+v", jobs)
	}
}

func TestDatabaseOfAnotherHostRunsNothing(t *testing.T) {
	h, _ := removedHouse(t)
	other := newHouse(t)
	other.must("add", "j", "--yes", "--schedule", never, "--", "/bin/true")
	other.must("add", "other", "--yes", "--schedule", never, "--", "/bin/true")
	swapped := h.twin(t)
	if err := copyFile(other.dirs().ChainDB(), swapped.dirs().ChainDB(), 0o600); err != nil {
		t.Fatal(err)
	}
	nothingRuns(t, newInsider(t), swapped, "")
	swapped.brokenNow("the database of another host", "run", "j")

	both := h.twin(t) // with the pin of that host, too
	for _, f := range []struct{ from, to string }{
		{other.dirs().ChainDB(), both.dirs().ChainDB()}, {other.dirs().Pin(), both.dirs().Pin()},
	} {
		if err := copyFile(f.from, f.to, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	nothingRuns(t, newInsider(t), both, "")
	if e := both.failure("run", "j"); e.ErrCode != "host_mismatch" {
		t.Errorf("run: %+v", e)
	}
}

func TestMissingChainOrPinRunsNothing(t *testing.T) {
	h, _ := removedHouse(t)
	in := newInsider(t)
	for _, c := range []struct {
		code   string
		spoil  func(h *house) error
		readOK bool
	}{
		{"chain_missing", func(h *house) error { return os.Remove(h.dirs().ChainDB()) }, false},
		{"store_corrupt", func(h *house) error { return os.Truncate(h.dirs().ChainDB(), 0) }, false},
		{"pin_missing", func(h *house) error { return os.Remove(h.dirs().Pin()) }, true},
		{"pin_corrupt", func(h *house) error { return os.Truncate(h.dirs().Pin(), 0) }, true},
	} {
		t.Run(c.code, func(t *testing.T) {
			bad := h.twin(t)
			if err := c.spoil(bad); err != nil {
				t.Fatal(err)
			}
			e, err := in.open(t, bad, true)
			if err != nil || e.Proven() == nil || string(api.Wrap(e.Proven()).ErrCode) != c.code {
				t.Fatalf("opened: %v", err)
			}
			e.Close()
			if e := bad.failure("run", "j"); string(e.ErrCode) != c.code {
				t.Errorf("run: %s, exit %d: %s", e.ErrCode, e.Exit, e.Message)
			}
			for _, args := range [][]string{{"history"}, {"list"}} {
				if r := bad.run(args...); r.code != 0 {
					t.Errorf("%q: exit %d\n%s", args, r.code, r.err)
				}
			}
			if r := bad.run("status"); r.code != 3 {
				t.Errorf("status: exit %d\n%s%s", r.code, r.out, r.err)
			}
			if r := bad.run("audit", "verify"); r.code != 20 {
				t.Errorf("audit verify: exit %d\n%s%s", r.code, r.out, r.err)
			}
		})
	}
}

// TestChainExchangedUnderTheServiceRunsNothing swaps files while the service has
// them open.
func TestChainExchangedUnderTheServiceRunsNothing(t *testing.T) {
	h, canary := removedHouse(t)
	older := filepath.Join(h.dir, "older.db")
	if err := copyFile(h.dirs().ChainDB(), older, 0o600); err != nil {
		t.Fatal(err)
	}
	h.must("replace", "j", "--yes", "--schedule", "1 0 1 1 *", "--tier", "workspace", "--cwd", filepath.Dir(canary), "--", "./job.sh")
	s := h.start()
	if err := os.Rename(older, h.dirs().ChainDB()); err != nil {
		t.Fatal(err)
	}
	if r := h.run("run", "j"); r.code != 12 {
		t.Errorf("run: exit %d\n%s%s\n%s", r.code, r.out, r.err, s.log)
	}
	if n := lines(t, canary); n != 1 {
		t.Errorf("ran %d times, want once, before the exchange", n)
	}
}
