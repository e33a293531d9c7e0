package pin

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sbxcron/sbxcron/jobspec"
)

// pidsOf are the children that are kept.
func pidsOf(o *Openers) []int {
	o.mu.Lock()
	defer o.mu.Unlock()
	var all []int
	for _, k := range o.idle {
		all = append(all, k.s.cmd.Process.Pid)
	}
	return all
}

func keptOpen(t *testing.T, ctx context.Context, o *Openers, acct Account, path string) error {
	t.Helper()
	s, err := Open(ctx, acct, []Request{{Use: jobspec.UseBound, Role: jobspec.RoleFile, Path: path}}, Options{Openers: o})
	if err != nil {
		return err
	}
	defer s.Close()
	if s.File(0) == nil {
		t.Errorf("%+v", s.Observation(0))
	}
	return nil
}

func TestAKeptOpenerServesOneAccountAgain(t *testing.T) {
	asRoot(t)
	var o Openers
	defer o.Close()
	path := put(t, folder(t)+"/f", "x", 0o644)
	if err := keptOpen(t, t.Context(), &o, dropped(), path); err != nil {
		t.Fatal(err)
	}
	first := pidsOf(&o)
	if err := keptOpen(t, t.Context(), &o, dropped(), path); err != nil {
		t.Fatal(err)
	}
	if again := pidsOf(&o); len(first) != 1 || len(again) != 1 || first[0] != again[0] {
		t.Errorf("first %v, then %v", first, again)
	}
	other := dropped()
	other.UID++
	if err := keptOpen(t, t.Context(), &o, other, path); err != nil {
		t.Fatal(err)
	}
	if all := pidsOf(&o); len(all) != 2 || all[1] == first[0] {
		t.Errorf("another account was served by the same child: %v", all)
	}
}

// What an account can do to its own processes costs it nothing but a new child.
func TestAnOpenerThatWasEndedOrStoppedIsReplaced(t *testing.T) {
	asRoot(t)
	for name, sig := range map[string]unix.Signal{"ended": unix.SIGKILL, "stopped": unix.SIGSTOP} {
		t.Run(name, func(t *testing.T) {
			var o Openers
			defer o.Close()
			path := put(t, folder(t)+"/f", "x", 0o644)
			if err := keptOpen(t, t.Context(), &o, dropped(), path); err != nil {
				t.Fatal(err)
			}
			first := pidsOf(&o)[0]
			if err := unix.Kill(first, sig); err != nil {
				t.Fatal(err)
			}
			begun := time.Now()
			if err := keptOpen(t, t.Context(), &o, dropped(), path); err != nil {
				t.Fatal(err)
			}
			if again := pidsOf(&o); len(again) != 1 || again[0] == first {
				t.Errorf("%d was replaced by %v", first, again)
			}
			if took := time.Since(begun); took > 10*time.Second {
				t.Errorf("took %s", took)
			}
			if err := unix.Kill(first, 0); err != unix.ESRCH {
				t.Errorf("the old child: %v", err)
			}
		})
	}
}

func TestAnOpenerWhoseCallWasCutShortIsNotKept(t *testing.T) {
	asRoot(t)
	var o Openers
	defer o.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := keptOpen(t, ctx, &o, dropped(), put(t, folder(t)+"/f", "x", 0o644)); err == nil {
		t.Error("opened after the end")
	}
	if all := pidsOf(&o); len(all) != 0 {
		t.Errorf("kept: %v", all)
	}
}

func TestOpenersKeepFewAndEndWithTheirOwner(t *testing.T) {
	asRoot(t)
	var o Openers
	path := put(t, folder(t)+"/f", "x", 0o644)
	done := make(chan error)
	for range 6 {
		go func() { done <- keptOpen(t, t.Context(), &o, dropped(), path) }()
	}
	for range 6 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	all := pidsOf(&o)
	if len(all) == 0 || len(all) > keepEach {
		t.Errorf("%d are kept", len(all))
	}
	o.mu.Lock()
	o.idle[0].at = time.Now().Add(-keepFor - time.Second)
	o.mu.Unlock()
	other := dropped()
	other.UID++
	if err := keptOpen(t, t.Context(), &o, other, path); err != nil {
		t.Fatal(err)
	}
	for _, pid := range pidsOf(&o) {
		if pid == all[0] {
			t.Error("one without work for long is kept")
		}
	}
	o.Close()
	if len(pidsOf(&o)) != 0 {
		t.Error("kept after the end")
	}
	if err := keptOpen(t, t.Context(), &o, dropped(), path); err != nil || len(pidsOf(&o)) != 0 {
		t.Errorf("%v, kept %v", err, pidsOf(&o))
	}
	for _, pid := range all {
		if _, err := os.Stat(fmt.Sprintf("/proc/%d", pid)); err == nil {
			t.Errorf("child %d lives on", pid)
		}
	}
}
