//go:build linux

package e2e

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/sbxcron/sbxcron/jobspec"
)

// line is what these tests read of the ledger, by themselves.
type line struct {
	Kind      string        `json:"kind"`
	Job       string        `json:"job"`
	Run       string        `json:"run"`
	Slot      *jobspec.Slot `json:"slot"`
	SlotLast  *jobspec.Slot `json:"slot_last"`
	SlotCount int           `json:"slot_count"`
	Outcome   string        `json:"outcome"`
	Reasons   []struct {
		Code jobspec.Code `json:"code"`
	} `json:"reasons"`
}

// final says whether the line closes its run or its slots.
func (l line) final() bool { return l.Outcome != "" }

// ledger reads every line.
func (h *house) ledger() []line {
	h.t.Helper()
	files, err := filepath.Glob(filepath.Join(h.root, "state", "ledger", "*.jsonl"))
	must(h.t, err)
	slices.Sort(files)
	var all []line
	for _, name := range files {
		all = append(all, h.segment(name)...)
	}
	return all
}

func (h *house) segment(name string) []line {
	h.t.Helper()
	f, err := os.Open(name)
	must(h.t, err)
	defer f.Close()
	var all []line
	for s := bufio.NewScanner(f); s.Scan(); {
		var l line
		if err := json.Unmarshal(s.Bytes(), &l); err != nil {
			break // a line that is being written, or cut short by a kill
		}
		all = append(all, l)
	}
	return all
}

const civil = "2006-01-02T15:04"

func minute(t *testing.T, s *jobspec.Slot) time.Time {
	t.Helper()
	at, err := time.Parse(civil, s.Civil)
	must(t, err)
	return at
}

// covered counts, by the lines alone, how many final lines cover each minute of
// a job that is due each minute in UTC.
func covered(t *testing.T, all []line, job string) map[time.Time]int {
	t.Helper()
	n := map[time.Time]int{}
	for _, l := range all {
		if l.Job != job || !l.final() || l.Slot == nil {
			continue
		}
		first := minute(t, l.Slot)
		last := first
		if l.SlotLast != nil {
			last = minute(t, l.SlotLast)
		}
		count := 0
		for at := first; !at.After(last); at = at.Add(time.Minute) {
			n[at]++
			count++
		}
		if want := max(l.SlotCount, 1); count != want {
			t.Errorf("a line says %d slots and names %d: %+v", want, count, l)
		}
	}
	return n
}

// eachOnce wants every minute of [from, to] covered by one final line, and no
// other minute by any.
func eachOnce(t *testing.T, all []line, job string, from, to time.Time) {
	t.Helper()
	n := covered(t, all, job)
	for at := from; !at.After(to); at = at.Add(time.Minute) {
		if n[at] != 1 {
			t.Errorf("slot %s is covered by %d final lines, want 1", at.Format(civil), n[at])
		}
		delete(n, at)
	}
	for at, k := range n {
		t.Errorf("slot %s was not due and is covered by %d lines", at.Format(civil), k)
	}
}
