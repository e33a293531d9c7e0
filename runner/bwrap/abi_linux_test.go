package bwrap

import (
	"context"
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/sbxcron/sbxcron/jobspec/record"
	"github.com/sbxcron/sbxcron/runner"
	"github.com/sbxcron/sbxcron/runner/runnertest"
)

// older is the backend on a kernel whose landlock is no newer than an ABI: its
// rule sets hold what that ABI knows, and nothing else differs.
type older struct {
	*Backend
	abi int
}

func (o older) Prepare(ctx context.Context, plan *runner.Plan) (runner.Armed, error) {
	m, err := o.machineFor(ctx, plan)
	if err != nil {
		return nil, err
	}
	m.LandlockABI = min(o.abi, m.LandlockABI)
	return o.prepareOn(ctx, plan, m)
}

// A job is confined by each ABI from the floor up to this kernel's: what an older
// one cannot refuse is refused by another layer. Each run records its ABI. CI
// takes the cases of confinement; the long loops take the whole suite.
func TestBackendPassesTheSuiteWithEachABIOfLandlock(t *testing.T) {
	newest := mustMachine(t).LandlockABI
	if newest < runner.LandlockFloor {
		t.Skipf("needs landlock ABI %d", runner.LandlockFloor)
	}
	cases := runnertest.Confinement()
	if os.Getenv("SBXCRON_TEST_SOAK") == "1" {
		cases = runnertest.Cases()
	}
	for abi := runner.LandlockFloor; abi < newest; abi++ { // the newest is TestBackendPassesTheSuite
		t.Run(fmt.Sprintf("ABI_%d", abi), func(t *testing.T) {
			b := older{open(t), abi}
			plan, _ := shellJob(t, b.Backend, "true")
			armed, err := b.Prepare(t.Context(), plan)
			if err != nil {
				t.Fatal(err)
			}
			if want := fmt.Sprintf("landlock/%d", abi); !slices.Contains(armed.Facts().Layers, want) {
				t.Errorf("recorded layers %v, want %s", armed.Facts().Layers, want)
			}
			proc, err := armed.Release()
			if err != nil {
				t.Fatal(err)
			}
			if end := proc.Wait(); end.Outcome != record.OutcomeSucceeded {
				t.Fatalf("a quiet job: %+v", end)
			}
			these := cases
			if abi == runner.LandlockFloor && os.Getenv("SBXCRON_TEST_SOAK") != "1" {
				these = slices.Concat(cases, runnertest.Widest())
			}
			runnertest.RunCases(t, func() runner.Backend { return b }, these)
		})
	}
}

func mustMachine(t *testing.T) runner.Machine {
	t.Helper()
	m, err := machine()
	if err != nil {
		t.Fatal(err)
	}
	return m
}
