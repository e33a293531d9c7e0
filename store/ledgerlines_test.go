package store_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/sbxcron/sbxcron/jobspec/record"
	"github.com/sbxcron/sbxcron/store/storetest"
)

func TestManyLeavesOfOneAppendStandInTheirOrder(t *testing.T) {
	d := storetest.Dirs(t)
	l := openLedger(t, d, storetest.Lock(t, d))
	leaves := make([]*record.Leaf, 5001)
	for i := range leaves {
		leaves[i] = &record.Leaf{Kind: record.Boot, Time: record.Stamp(month(1)), PID: int64(i + 1)}
	}
	bad := *leaves[4900]
	bad.Time = ""
	good := leaves[4900]
	leaves[4900] = &bad
	if _, err := l.Append(leaves...); err == nil || l.Len() != 0 {
		t.Fatalf("a leaf without a time: %v, %d lines", err, l.Len())
	}
	leaves[4900] = good
	if first := appendLeaves(t, l, leaves...); first != 0 || l.Len() != int64(len(leaves)) {
		t.Fatalf("first %d of %d", first, l.Len())
	}
	all, err := scan(t, l, 0)
	must(t, err)
	for i, leaf := range all {
		if leaf.PID != int64(i+1) {
			t.Fatalf("line %d is leaf %d", i, leaf.PID)
		}
	}
	if info, err := os.Stat(fmt.Sprintf("%s/2026-01.jsonl", d.LedgerDir())); err != nil || info.Size() == 0 {
		t.Error(err)
	}
}
