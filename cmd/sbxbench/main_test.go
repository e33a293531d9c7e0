package main

import "testing"

func TestAComparisonTakesTheMedianOfTheRatiosOfThePairs(t *testing.T) {
	ours := []float64{10, 20, 30, 40, 1000} // one pair met a slow moment
	peer := []float64{10, 10, 10, 10, 10}
	got := compare("x", "ms", "peer", ours, peer)
	want := Item{Name: "x", Unit: "ms", PeerName: "peer", Pairs: 5, Ours: 30, Peer: 10, Ratio: 3, Lower: 2, Upper: 4}
	if got != want {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
	if ours[0] != 10 || ours[4] != 1000 {
		t.Error("the measurements were put into another order: pairs no longer fit")
	}
}

func TestAMeasurementThatDoesNotExistIsNamed(t *testing.T) {
	if err := run([]string{"lanch"}, size{1, 1, 1, 1}, false); err == nil || err.Error() != `no measurement "lanch"` {
		t.Errorf("got %v", err)
	}
}
