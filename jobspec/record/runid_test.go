package record

import (
	"bytes"
	"crypto/rand"
	"sort"
	"strings"
	"testing"
	"time"
)

func TestRunIDsSortByTimeAndCarryIt(t *testing.T) {
	at := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	var ids []string
	for i := range 200 {
		now := at.Add(time.Duration(i) * 37 * time.Minute)
		id, err := NewRunID(now, rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		got, err := RunTime(id)
		if err != nil || !got.Equal(now) {
			t.Fatalf("RunTime(%q) = %v, %v; want %v", id, got, err, now)
		}
		ids = append(ids, id)
	}
	if !sort.StringsAreSorted(ids) {
		t.Error("ids are not sorted by time")
	}
}

func TestRunIDIsFixedByTimeAndRandomness(t *testing.T) {
	id, err := NewRunID(time.UnixMilli(1469918176385), bytes.NewReader(bytes.Repeat([]byte{0xff}, 10)))
	if err != nil {
		t.Fatal(err)
	}
	if want := "r-01aryz6s41zzzzzzzzzzzzzzzz"; id != want {
		t.Errorf("id = %q, want %q", id, want)
	}
}

func TestRunTimeRefusesWhatIsNoRunID(t *testing.T) {
	good := "r-01arz3ndek" + strings.Repeat("0", 16)
	if _, err := RunTime(good); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"", "r-", good[:27], good + "0", "x" + good[1:], "r-81arz3ndek" + strings.Repeat("0", 16),
		"r-01ARZ3NDEK" + strings.Repeat("0", 16), "r-../../../../../../etc/pass", strings.Replace(good, "z", "u", 1)} {
		if _, err := RunTime(id); err == nil {
			t.Errorf("RunTime(%q) is accepted", id)
		}
	}
}

func TestNewRunIDRefusesImpossibleInput(t *testing.T) {
	if _, err := NewRunID(time.Unix(-5, 0), rand.Reader); err == nil {
		t.Error("a time before 1970 is accepted")
	}
	if _, err := NewRunID(time.Unix(5, 0), bytes.NewReader(nil)); err == nil {
		t.Error("no randomness is accepted")
	}
}
