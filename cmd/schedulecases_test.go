package cmd_test

import (
	"regexp"
	"strings"
	"testing"
)

// scheduleCases are reports about schedulers: P of their texts, C of their calendars,
// T of their clocks, restarts and overlaps.
const scheduleCases = `P1 P2 P4 P5 P7 P8 P10 P11 P13 P14 P16 P17 P19 P20 P22 P23 P25 P26 P28 P29
C2 C3 C5 C6 C8 C9 C11 C12 C14 C15 C17 C18 C20 C21 C23 C24 C26 C27 C29 C30
T2 T3 T5 T6 T8 T9 T11 T12 T14 T15 T17 T18 T20 T21`

// clockCases are those that a test of the scheduler shows as a whole.
var clockCases = []struct{ number, test, why string }{
	{"T2", "scheduler: TestAClockSetAheadByMinutesRunsAJobOnceAndAccountsForEachSlot", "the clock goes on by four minutes"},
	{"T3", "scheduler: TestAStepOfTheClockRunsAFixedAndAWildcardJobOnce", "the clock goes on by two hours"},
	{"T5", "scheduler: TestAClockSetBackRunsNoSlotTwice", "the clock goes back behind a slot that ran"},
	{"T6", "scheduler: TestNothingComesDueByAClockThatIsNotBelieved", "the clock lies behind what was seen"},
	{"T6", "cmd/internal/engine: TestNoClockThatIsSetBackUndoesAnExpiry", "the clock lies behind what was seen, over a restart"},
	{"T8", "scheduler: TestACrashAfterTheClaimIsLostAndNotTriedAgain", "killed between claim and start"},
	{"T9", "scheduler: TestAStartThatNobodySawEndBlocksNoLaterSlot", "killed while a job ran"},
	{"T11", "scheduler: TestEachSlotHasExactlyOneFinalRowThroughCrashesAndClocks", "due while others are handled"},
	{"T12", "scheduler: TestThreeDaysOfAMinuteJobAreOneRowAndOneRun", "off for three days"},
	{"T14", "scheduler: TestAJobThatRunsSkipsItsSlotsAndDelaysNoOther", "longer than its period"},
	{"T14", "scheduler: TestAStartThatNobodySawEndBlocksNoLaterSlot", "longer than its period, over a restart"},
	{"T15", "scheduler: TestAPanicEndsOneRunAndLeavesItsRow", "a handler that panics"},
	{"T17", "cmd/internal/e2e: TestSecondServiceIsRefusedWithTheFirstOnesPid", "a second service on one store"},
	{"T20", "scheduler/calendar: TestResumeNeverMakesASlotDueAgain", "nothing is due early after a restart: no next time is stored"},
	{"T21", "scheduler: TestCatchUpsStartApartInTheOrderOfSlotAndName", "many jobs due in one second"},
}

func TestEveryScheduleCaseHasItsTest(t *testing.T) {
	shown := map[string]bool{}
	for _, c := range clockCases {
		shown[c.number] = true
		if err := findTest(c.test); err != nil {
			t.Errorf("case %s, %s: %v", c.number, c.why, err)
		}
	}
	text, err := sources("scheduler/calendar", "_test.go")
	if err != nil {
		t.Fatal(err)
	}
	names := regexp.MustCompile(`"((?:[PCT][0-9]+ )+)[a-zA-Z0-9]`)
	for _, m := range names.FindAllStringSubmatch(text, -1) {
		for _, number := range strings.Fields(m[1]) {
			shown[number] = true
		}
	}
	numbers := strings.Fields(scheduleCases)
	for _, number := range numbers {
		if !shown[number] {
			t.Errorf("no test shows case %s", number)
		}
	}
	if len(numbers) != 54 {
		t.Errorf("%d cases", len(numbers))
	}
}
