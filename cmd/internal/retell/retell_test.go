package retell_test

import (
	"bytes"
	"encoding/csv"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sbxcron/sbxcron/cmd/internal/retell"
	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/record"
	"github.com/sbxcron/sbxcron/store"
	"github.com/sbxcron/sbxcron/store/storetest"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// ledger writes leaves and opens them for reading; the bytes are those of the file.
func ledger(t *testing.T, leaves ...*record.Leaf) (*store.History, []byte) {
	t.Helper()
	dirs := storetest.Root(t, "", "")
	lock := storetest.Lock(t, dirs)
	l, err := store.OpenLedger(dirs, lock, store.RealDisk{})
	must(t, err)
	for _, leaf := range leaves {
		_, err := l.Append(leaf)
		must(t, err)
	}
	must(t, l.Close())
	h, err := store.OpenHistory(dirs)
	must(t, err)
	var all []byte
	files, err := filepath.Glob(filepath.Join(dirs.LedgerDir(), "*.jsonl"))
	must(t, err)
	for _, f := range files {
		b, err := os.ReadFile(f)
		must(t, err)
		all = append(all, b...)
	}
	return h, all
}

func leaf(kind record.Kind, after time.Duration, fill func(*record.Leaf)) *record.Leaf {
	l := storetest.Leaf(kind, storetest.Epoch().Add(after))
	if fill != nil {
		fill(l)
	}
	return l
}

// evil is what somebody might bring to stand in a line.
const evil = "=HYPERLINK(\"http://x\")\x1b]8;;y\x07\r\n\u202eback"

func hostile() []*record.Leaf {
	return []*record.Leaf{
		leaf(record.Boot, 0, func(l *record.Leaf) { l.Version = "-2+3" }),
		leaf(record.Refused, time.Hour, func(l *record.Leaf) {
			l.Job, l.Run, l.Outcome = "nightly", "r-1", record.OutcomeRefused
			l.Signal, l.Backend, l.Principal = "\t=1", evil, "@alice"
			l.Reasons = []record.Reason{{Code: jobspec.CodePathSensitive, Target: evil}}
			l.RequestedBy = &record.Requester{Root: true}
		}),
		leaf(record.Held, 2*time.Hour, func(l *record.Leaf) { l.Job = "weekly" }),
	}
}

func TestJSONLinesAreTheLeavesByteForByte(t *testing.T) {
	h, all := ledger(t, hostile()...)
	var out bytes.Buffer
	n, err := retell.WriteJSONL(&out, h, retell.Filter{})
	if err != nil || n != 3 || !bytes.Equal(out.Bytes(), all) {
		t.Errorf("%d lines, %v:\n%q\nthe files:\n%q", n, err, out.Bytes(), all)
	}
}

func TestLinesAreChosenByTimeAndJob(t *testing.T) {
	h, _ := ledger(t, hostile()...)
	at := storetest.Epoch().Add(time.Hour)
	for name, c := range map[string]struct {
		f    retell.Filter
		want int64
	}{
		"all":           {retell.Filter{}, 3},
		"from its time": {retell.Filter{Since: at}, 2},
		"before a time": {retell.Filter{Until: at}, 1},
		"one job":       {retell.Filter{Job: "nightly"}, 1},
		"none":          {retell.Filter{Job: "nightly", Until: at}, 0},
	} {
		var out bytes.Buffer
		if n, err := retell.WriteJSONL(&out, h, c.f); n != c.want || err != nil || int64(strings.Count(out.String(), "\n")) != n {
			t.Errorf("%s: %d, %v, want %d", name, n, err, c.want)
		}
	}
}

// Report 47 and 46: no cell is a formula, ends a line or speaks to a terminal.
func TestCSVIsSafeForSpreadsheets(t *testing.T) {
	h, _ := ledger(t, hostile()...)
	var out bytes.Buffer
	if n, err := retell.WriteCSV(&out, h, retell.Filter{}); n != 3 || err != nil {
		t.Fatal(n, err)
	}
	for _, line := range strings.SplitAfter(strings.TrimSuffix(out.String(), "\r\n"), "\r\n") {
		if strings.ContainsAny(strings.TrimSuffix(line, "\r\n"), "\r\n\t\x1b\x07\u202e") {
			t.Errorf("a control character stands in %q", line)
		}
	}
	rows, err := csv.NewReader(&out).ReadAll() // refuses rows of another length
	must(t, err)
	if len(rows) != 5 || rows[0][0] != retell.Unproven || rows[1][0] != "leaf" || rows[1][1] != "leaf_hash" {
		t.Fatalf("%q", rows)
	}
	seen := strings.Join(rows[3], "|")
	for _, want := range []string{`'=HYPERLINK("http://x")\x1b]8;;y\x07\x0d\x0a\u202eback`, `'\x09=1`, "'@alice", "|0|"} {
		if !strings.Contains(seen, want) {
			t.Errorf("%q is not in %q", want, seen)
		}
	}
	if !strings.Contains(strings.Join(rows[2], "|"), "'-2+3") {
		t.Errorf("%q", rows[2])
	}
	for _, row := range rows[2:] {
		for _, c := range row {
			if c != "" && strings.ContainsAny(c[:1], "=+-@\t\r") {
				t.Errorf("cell %q begins a formula", c)
			}
		}
	}
}

func TestTheHashOfARowIsThatOfItsLine(t *testing.T) {
	h, all := ledger(t, hostile()...)
	var out bytes.Buffer
	_, err := retell.WriteCSV(&out, h, retell.Filter{})
	must(t, err)
	rows, err := csv.NewReader(&out).ReadAll()
	must(t, err)
	for i, line := range bytes.Split(bytes.TrimSuffix(all, []byte("\n")), []byte("\n")) {
		if want := jobspec.DigestOf(append([]byte{0}, line...)).String(); rows[2+i][1] != want {
			t.Errorf("row %d: %s, want %s", i, rows[2+i][1], want)
		}
	}
}

type broken struct{ *store.History }

var errDamage = errors.New("damage")

func (b broken) Scan(from int64, fn func(store.Leaf) error) error {
	return errors.Join(b.History.Scan(from, fn), errDamage)
}

func TestDamageIsAnErrorBehindWhatCouldBeRead(t *testing.T) {
	h, all := ledger(t, hostile()...)
	var out bytes.Buffer
	if n, err := retell.WriteJSONL(&out, broken{h}, retell.Filter{}); n != 3 || !errors.Is(err, errDamage) || !bytes.Equal(out.Bytes(), all) {
		t.Errorf("%d, %v", n, err)
	}
	out.Reset()
	if n, err := retell.WriteCSV(&out, broken{h}, retell.Filter{}); n != 3 || !errors.Is(err, errDamage) || strings.Count(out.String(), "\r\n") != 5 {
		t.Errorf("%d, %v", n, err)
	}
}
