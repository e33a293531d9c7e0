package engine

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/record"
)

// What is read line by line as the ledger grows is what one reading of it says.
func TestAcceptancesReadInPartsAreThoseOfTheWholeLedger(t *testing.T) {
	b := newBench(t)
	for i := range 6 {
		b.commit(jobspec.Add, jobspec.Name(fmt.Sprintf("job-%d", i)))
	}
	e := b.open(true)
	for i, seq := range []int64{2, 1, 5, 2, 3, 99} { // one twice, one that is not there
		_, err := e.Append(&record.Leaf{Kind: record.OpAccepted, Seq: seq, Time: record.Stamp(b.now.Add(time.Duration(i) * time.Second))})
		must(t, err)
		handed, _, err := e.acceptances()
		must(t, err)
		before := slices.Clone(handed)
		parts, boot, err := e.acceptances()
		must(t, err)
		e.ledgered.of = nil // read all of it again
		whole, again, err := e.acceptances()
		must(t, err)
		if !slices.Equal(parts, whole) || !boot.Equal(again) || !slices.Equal(before, handed) {
			t.Fatalf("after line %d: %v in parts, %v at once", i, parts, whole)
		}
		if at, ok := parts.at(seq); ok != (seq < 99) || ok && !at.Equal(b.now.Add(time.Duration(i)*time.Second)) {
			t.Errorf("op %d was accepted at %v, %v", seq, at, ok)
		}
	}
	if e.ledgered.next != e.history.Len() {
		t.Errorf("%d of %d lines were read", e.ledgered.next, e.history.Len())
	}
}
