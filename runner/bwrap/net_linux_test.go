package bwrap

import (
	"testing"

	"github.com/sbxcron/sbxcron/runner"
	"github.com/sbxcron/sbxcron/runner/runnertest"
)

func TestJobsWithANetworkReachWhatTheyName(t *testing.T) {
	runnertest.RunCases(t, func() runner.Backend { return open(t) }, runnertest.NetCases())
}

func TestRealProgramsEndAsTheTableSays(t *testing.T) {
	runnertest.RunCases(t, func() runner.Backend { return open(t) }, runnertest.ProgramCases())
}
