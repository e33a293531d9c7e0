package cli

import (
	"testing"
	"time"
)

func TestAHoldEndsAtATimeOrAfterASpanThatIsYetToCome(t *testing.T) {
	now := time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Time{
		"": {}, "8h": now.Add(8 * time.Hour), "3d": now.Add(72 * time.Hour), "2026-12-24T18:00:00+01:00": time.Date(2026, 12, 24, 17, 0, 0, 0, time.UTC),
	} {
		if got, err := comingTime("--until", text, now); err != nil || !got.Equal(want) {
			t.Errorf("%q: %s, %v", text, got, err)
		}
	}
	for _, text := range []string{"tomorrow", "2026-12-01T12:00:00Z", "2026-11-30T12:00:00Z", "-3h", "18:00"} {
		if got, err := comingTime("--until", text, now); err == nil {
			t.Errorf("%q is read as %s", text, got)
		}
	}
}
