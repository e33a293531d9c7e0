package doctor

import (
	"errors"
	"testing"
)

func TestWhetherAnybodyIsToldIsAFinding(t *testing.T) {
	for _, c := range []struct {
		fact NoticeFact
		want Verdict
	}{{NoticeFact{}, ""}, {NoticeFact{Asked: true}, Warn}, {NoticeFact{Asked: true, Err: errors.New("line 1")}, Fail}, {NoticeFact{Asked: true, Channels: 1}, OK}} {
		got := notices(c.fact)
		if c.want == "" && len(got) == 0 {
			continue
		}
		if len(got) != 1 || got[0].Verdict != c.want || c.want != OK && got[0].Remedy == "" {
			t.Errorf("%+v: %+v", c.fact, got)
		}
	}
}
