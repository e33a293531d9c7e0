package scheduler

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestAfterACrowdedInstantTheEndOfARunWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for crowd, want := range map[int]time.Duration{0: 0, 1: 0, fewRuns: 0, 100: 30 * time.Millisecond, 100000: allStarts} {
			began := time.Now()
			(&run{crowd: crowd}).letOthersStart()
			if took := time.Since(began); took != want {
				t.Errorf("%d at one instant: %s, want %s", crowd, took, want)
			}
		}
	})
}
