package daemon

import (
	"context"
	"testing"
	"time"
)

// Who may explain a job may not fill the memory by asking many times at once.
func TestOneAccountLooksAtOneJobAtATime(t *testing.T) {
	turns := newTurns()
	brief := func(uid int) (func(), error) {
		ctx, stop := context.WithTimeout(context.Background(), 50*time.Millisecond)
		defer stop()
		return turns.take(ctx, uid)
	}
	leave, err := brief(1)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := brief(1); err == nil {
		t.Error("two at once")
	}
	for uid := 2; uid <= lookers; uid++ {
		if _, err := brief(uid); err != nil {
			t.Errorf("uid %d waits for another: %v", uid, err)
		}
	}
	if _, err := brief(lookers + 1); err == nil {
		t.Errorf("more than %d at once", lookers)
	}
	leave()
	if _, err := brief(lookers + 1); err != nil {
		t.Errorf("what was waited for in vain was kept: %v", err)
	}
}

func TestAnExplanationWaitsForItsTurn(t *testing.T) {
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	s := pacedServer(t, &now)
	if _, err := s.turns.take(context.Background(), service); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer stop()
	if _, err := s.explained(ctx, service, "job"); err == nil || ctx.Err() == nil {
		t.Errorf("it did not wait: %v", err)
	}
}
