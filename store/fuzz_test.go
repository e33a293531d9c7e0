package store_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sbxcron/sbxcron/jobspec/canon"
	"github.com/sbxcron/sbxcron/store"
	"github.com/sbxcron/sbxcron/store/storetest"
)

// put makes a file of the ledger that holds what somebody wants it to.
func put(t testing.TB, path string, b []byte) {
	t.Helper()
	must(t, os.MkdirAll(filepath.Dir(path), 0o700))
	must(t, os.WriteFile(path, b, 0o600))
}

// What is read from the epochs, written as they are written, is the file up to what
// was never finished; and what stands behind that holds no whole one.
func FuzzEpochs(f *testing.F) {
	for _, seed := range []string{"", "text\n\nsig\n\n", "a\nb\n\n- c\n\nd\n\n- e\n\n", "a\n\n", "\n\n\n\n", "a\n\nb\n\nc"} {
		f.Add([]byte(seed))
	}
	d := storetest.Dirs(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		put(t, d.Epochs(), b)
		notes, whole, err := store.ReadEpochs(d)
		must(t, err)
		var again strings.Builder
		for _, n := range notes {
			again.WriteString(n + "\n")
		}
		if again.String() != string(b[:whole]) {
			t.Errorf("%q reads as %q", b, notes)
		}
		put(t, d.Epochs(), []byte(again.String()))
		if second, size, err := store.ReadEpochs(d); err != nil || size != whole || len(second) != len(notes) {
			t.Errorf("%q read again: %q, %d, %v", again.String(), second, size, err)
		}
	})
}

// A receipt that is read, written as receipts are, is the line that it was read from.
func FuzzReceipts(f *testing.F) {
	type receipt struct {
		Type       string `json:"type"`
		Checkpoint string `json:"checkpoint"`
	}
	whole, err := canon.Marshal(&receipt{"sbxcron.receipt/v1", "a\n1\n\n- b\n"})
	must(f, err)
	for _, seed := range []string{"", string(whole) + "\n", string(whole) + "\ntorn{\n" + string(whole) + "\n", string(whole)[:30], "{}\n\n\x00\n",
		strings.Replace(string(whole), ",", ", ", 1) + "\n"} {
		f.Add([]byte(seed))
	}
	d := storetest.Dirs(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		put(t, d.Receipts(), b)
		lines := bytes.Split(b, []byte("\n"))
		_ = store.ReadReceipts(d, func(n int64, note string) error {
			line, err := canon.Marshal(&receipt{"sbxcron.receipt/v1", note})
			if err != nil || n < 1 || n > int64(len(lines)) || !bytes.Equal(line, lines[n-1]) {
				t.Errorf("line %d of %q reads as %q, which is written %q, %v", n, b, note, line, err)
			}
			return nil
		}) // an error refuses a line that is too long
	})
}
