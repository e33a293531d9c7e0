package calendar

import (
	"math/rand/v2"
	"testing"
)

// What is kept answers as the zone does, at the edges of each period too.
func TestTheKeptPeriodsOfAZoneAreThoseOfTheZone(t *testing.T) {
	all, err := zones()
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(1, 2))
	for name, load := range all {
		z, err := load()
		if err != nil {
			t.Fatal(err)
		}
		var at []int64
		for range 200 {
			at = append(at, newYear(keptFrom-2)+random.Int64N(newYear(keptUntil+2)-newYear(keptFrom-2)))
		}
		for _, p := range z.kept {
			at = append(at, p.end-1, p.end, p.end+1, p.end-daySeconds, p.end+daySeconds, p.start, p.start-1)
		}
		for y := keptFrom; y <= keptUntil; y++ { // Go's odd days lie here
			for h := int64(-60); h <= 60; h += 6 {
				at = append(at, newYear(y)+h*hourSeconds)
			}
		}
		for _, at := range at {
			if got, want := periodAt(z, at), readPeriod(z.loc, at); got != want {
				t.Fatalf("%s at %d: %+v is kept, %+v is read", name, at, got, want)
			}
		}
	}
}
