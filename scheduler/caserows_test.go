package scheduler_test

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sbxcron/sbxcron/jobspec/record"
	"github.com/sbxcron/sbxcron/scheduler/schedulertest"
)

// Bug reports of other schedulers, and the tests that try them here. Whoever renames
// one of them renames it here too.
func TestEachCaseOfClocksRestartsAndOverlapHasItsTest(t *testing.T) {
	const e2e, calendar = "../cmd/internal/e2e", "calendar"
	tests := map[string]string{}
	for _, c := range []struct{ id, what, in, test string }{
		{"T2", "the clock goes on by minutes", ".", "TestAClockSetAheadByMinutesRunsAJobOnceAndAccountsForEachSlot"},
		{"T2", "a minute job of which several slots are late", ".", "TestASlotThatIsNoticedTooLateIsMissedAndAYoungOneRuns"},
		{"T3", "the clock goes on by two hours", ".", "TestAStepOfTheClockRunsAFixedAndAWildcardJobOnce"},
		{"T5", "the clock goes back behind a slot that ran", ".", "TestAClockSetBackRunsNoSlotTwice"},
		{"T6", "a machine restored from a snapshot", ".", "TestNothingComesDueByAClockThatIsNotBelieved"},
		{"T6", "a store restored from a copy", e2e, "TestChainCutBackAfterARemovalRunsNothing"},
		{"T8", "killed between claim and start", ".", "TestACrashAfterTheClaimIsLostAndNotTriedAgain"},
		{"T8", "killed between the rows of one instant", ".", "TestACrashBetweenTheRowsOfOneInstantLosesNone"},
		{"T8", "killed at each step, for real", e2e, "TestKillAtEachStepOfARun"},
		{"T9", "killed while a job runs", ".", "TestAStartThatNobodySawEndBlocksNoLaterSlot"},
		{"T11", "due while the loop works", ".", "TestAJobThatComesDueWhileTheLoopWorksIsNotPassedOver"},
		{"T12", "a minute job, three days off", ".", "TestThreeDaysOfAMinuteJobAreOneRowAndOneRun"},
		{"T12", "the same where missed slots are skipped", ".", "TestDowntimeIsOneRowAJobHoweverLong"},
		{"T14", "a run longer than its period, and a restart", ".", "TestAQueuedSlotThatNothingWasWrittenOfIsTakenUpAfterACrash"},
		{"T14", "what a killed service leaves is gone", "../runner/bwrap", "TestADeadServiceLeavesNothingAndItsSuccessorCleansUp"},
		{"T15", "a defect in one run", ".", "TestAPanicEndsOneRunAndLeavesItsRow"},
		{"T17", "a second service", e2e, "TestSecondServiceIsRefusedWithTheFirstOnesPid"},
		{"T18", "an interval and restarts", calendar, "TestScheduleZoneCases"},
		{"T20", "another zone of the machine", calendar, "TestNoZoneFileOfTheMachineIsRead"},
		{"T21", "many jobs at one instant", ".", "TestMoreThanMaxParallelStartLateTheOldestSlotFirst"},
		{"T21", "many catch-ups at one instant", ".", "TestCatchUpsStartApartInTheOrderOfSlotAndName"},
		{"X11", "what cannot be started is refused, and says so", ".", "TestARefusalAnywhereIsOneRowAndNothingRuns"},
		{"X20", "a ledger that takes no row", ".", "TestNothingRunsThatTheLedgerDoesNotTake"},
		{"X20", "a full disk", "../store", "TestAFullDiskIsNoDefectOfOurs"},
		{"all", "days of many jobs on a machine on which all of this happens", ".", "TestSimulatedDaysCoverEachDueSlotWithExactlyOneFinalRow"},
	} {
		if tests[c.in] == "" {
			tests[c.in] = sources(t, c.in)
		}
		if !regexp.MustCompile(`(?m)^func ` + c.test + `\(`).MatchString(tests[c.in]) {
			t.Errorf("%s, %s: no test %s in %s", c.id, c.what, c.test, c.in)
		}
	}
}

// sources are the tests of a folder.
func sources(t *testing.T, dir string) (all string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s holds no tests, %v", dir, err)
	}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		all += string(b)
	}
	return all
}

// slowLedger keeps a batch waiting.
type slowLedger struct {
	*schedulertest.Ledger
	gate chan struct{}
}

func (l slowLedger) Append(rows ...*record.Leaf) (int64, error) {
	if rows[0].Kind == record.Missed {
		<-l.gate
	}
	return l.Ledger.Append(rows...)
}

func TestAJobThatComesDueWhileTheLoopWorksIsNotPassedOver(t *testing.T) {
	inWorld(t, "2026-11-29T12:00:30Z", func(w *world) {
		late, soon := w.job("late", "0 13 * * *", "UTC"), w.job("soon", "1,2 12 * * *", "UTC")
		w.jobs.Set(late)
		w.clock.Advance(24 * time.Hour)
		soon.Since = w.clock.Now()
		w.jobs.Set(late, soon)
		gate := make(chan struct{})
		w.port = slowLedger{w.ledger, gate}
		w.boot() // and it writes what was missed
		w.pass(90 * time.Second)
		w.want()
		close(gate)
		synctest.Wait()
		w.pass(0)
		w.covered(late, w.clock.Now())
		if n := w.covered(soon, w.clock.Now()); n != 2 || w.starts("soon") == 0 {
			t.Errorf("%d slots, rows %q", n, w.rows())
		}
	})
}
