package calendar

import (
	"testing"
	"time"
)

func TestDaysAreCountedAsPackageTimeCountsThem(t *testing.T) {
	from := time.Date(1899, 12, 1, 0, 0, 0, 0, time.UTC).Unix()
	one, months := dayAt(from), dayAt(from)
	for range 500 * 366 { // every century and the four hundredth year
		one.skip(1)
		if want := dayAt(one.start); one != want {
			t.Fatalf("counted %+v, is %+v", one, want)
		}
	}
	for range 500 * 12 {
		months.skip(months.left() + 1)
		if want := dayAt(months.start); months != want || months.dom != 1 {
			t.Fatalf("counted %+v, is %+v", months, want)
		}
	}
}
