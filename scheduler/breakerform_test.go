package scheduler

import (
	"reflect"
	"testing"
	"time"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/record"
)

// A breaker that goes through its bytes at each row ends as one that was kept.
func TestABreakerThatIsKeptInBytesCountsAsOneThatIsNot(t *testing.T) {
	at := time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)
	ops := []jobspec.Digest{jobspec.DigestOf([]byte("a")), jobspec.DigestOf([]byte("b"))}
	kept, form := &Breaker{}, []byte(nil)
	seen := map[int]bool{}
	for i := range 400 {
		at = at.Add(time.Minute)
		l := &record.Leaf{Kind: record.Finished, Time: record.Stamp(at), Op: ops[i/50%2], Outcome: record.OutcomeDenied}
		switch i * 7 % 13 {
		case 1:
			l.Outcome = record.OutcomeSucceeded
		case 2, 9:
			l.Kind, l.Outcome, l.Reasons = record.Held, "", []record.Reason{{Code: jobspec.CodeBreakerOpen}}
		case 3:
			l.Kind, l.Outcome = record.Released, ""
		case 4:
			l.Outcome = record.OutcomeKilled
		}
		kept.Note(l)
		b, err := ParseBreaker(form)
		if err != nil {
			t.Fatal(err)
		}
		b.Note(l)
		form = b.Encode()
		again, err := ParseBreaker(form)
		if err != nil {
			t.Fatal(err)
		}
		seen[kept.denied] = true
		if kept.denied == 0 {
			again.op = kept.op // says nothing without a count
		}
		if again.denied != kept.denied || again.held != kept.held || again.op != kept.op || !(len(again.trips) == 0 && len(kept.trips) == 0) && !reflect.DeepEqual(again.trips, kept.trips) {
			t.Fatalf("row %d: %+v, want %+v", i, again, kept)
		}
	}
	if len(seen) < 4 {
		t.Errorf("only %d counts were seen", len(seen))
	}
}

func TestADamagedFormOfABreakerIsRefused(t *testing.T) {
	b := &Breaker{denied: 2, held: true, trips: []time.Time{time.Unix(1, 0)}}
	form := b.Encode()
	for n := 1; n < len(form); n++ {
		if got, err := ParseBreaker(form[:n]); err == nil && reflect.DeepEqual(got.trips, b.trips) {
			t.Errorf("%d of %d bytes are taken", n, len(form))
		}
	}
	form[len(b.op)+1] = 7
	if _, err := ParseBreaker(form); err == nil {
		t.Error("a flag of 7 is taken")
	}
}
