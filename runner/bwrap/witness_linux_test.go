package bwrap

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/record"
	"github.com/sbxcron/sbxcron/runner"
	"github.com/sbxcron/sbxcron/runner/witness"
)

// witnesses are the pids of our children that read what jobs say.
func witnesses(t *testing.T) []int {
	t.Helper()
	lists, err := filepath.Glob("/proc/self/task/*/children")
	must(t, err)
	var found []int
	for _, name := range lists {
		text, _ := os.ReadFile(name) // empty when that thread is gone
		for _, word := range strings.Fields(string(text)) {
			pid, err := strconv.Atoi(word)
			must(t, err)
			cmdline, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
			if strings.HasPrefix(string(cmdline), witness.ChildName+"\x00") {
				found = append(found, pid)
			}
		}
	}
	return found
}

// released starts a script.
func released(t *testing.T, b *Backend, text string) runner.Process {
	t.Helper()
	plan, _, _ := scriptJob(t, b, "#!/bin/sh\n"+text+"\n")
	p, err := prepare(t, b, plan).Release()
	must(t, err)
	return p
}

func TestARunThatTellsNothingHasNoWitness(t *testing.T) {
	b := open(t)
	p := released(t, b, "sleep 0.5")
	time.Sleep(200 * time.Millisecond)
	if all := witnesses(t); len(all) != 0 {
		t.Errorf("witnesses %v of a quiet run", all)
	}
	if end := p.Wait(); end.Outcome != record.OutcomeSucceeded {
		t.Errorf("ended as %s, %v", end.Outcome, end.Reasons)
	}
}

func TestARunWhoseWitnessIsKilledEnds(t *testing.T) {
	b := open(t)
	began := time.Now()
	p := released(t, b, "sudo id; sleep 20")
	for deadline := time.Now().Add(10 * time.Second); len(witnesses(t)) == 0; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("no witness appears")
		}
	}
	for _, pid := range witnesses(t) {
		victim, err := os.FindProcess(pid)
		if err != nil {
			t.Fatal(err)
		}
		if err := victim.Kill(); err != nil {
			t.Fatal(err)
		}
	}
	end := p.Wait()
	if end.Outcome != record.OutcomeKilled || len(end.Reasons) == 0 || end.Reasons[0].Code != jobspec.CodeSbxWitnessFailed || time.Since(began) > 15*time.Second {
		t.Errorf("ended as %s, %+v, after %s", end.Outcome, end.Reasons, time.Since(began))
	}
}

func TestDeniedRunsLeaveNothingOpenAndNoName(t *testing.T) {
	b := open(t)
	denied := func(t *testing.T) { // one that closes the files of its plan
		if end := released(t, b, "sudo id").Wait(); end.Outcome != record.OutcomeDenied {
			t.Errorf("ended as %s, %v", end.Outcome, end.Reasons)
		}
	}
	t.Run("first", denied)
	before := openFDs(t)
	for range 5 {
		t.Run("again", denied)
	}
	if now := openFDs(t); now > before {
		t.Errorf("%d descriptors are open, %d before", now, before)
	}
	if left, err := os.ReadDir(b.channels.Dir()); err != nil || len(left) != 0 {
		t.Errorf("names left: %v, %v", left, err)
	}
}

// A machine's cleaner takes away folders that were idle for days.
func TestAFolderForPipesThatIsGoneIsMadeAnew(t *testing.T) {
	b := open(t)
	for range 2 {
		if err := os.Remove(b.channels.Dir()); err != nil {
			t.Fatal(err)
		}
		if end := released(t, b, "sudo id").Wait(); end.Outcome != record.OutcomeDenied {
			t.Errorf("ended as %s, %v", end.Outcome, end.Reasons)
		}
	}
}
