package bwrap

import (
	"strings"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/runner"
	"github.com/sbxcron/sbxcron/runner/stub"
	"golang.org/x/sys/unix"
)

// rowRefusal says which row of the table did not hold. A row that a kernel
// feature is missing for is a missing feature; any other means that a layer
// would not hold.
func rowRefusal(t *stub.Table, r stub.Report) error {
	text, name := t.RowText(r.Row), rowName(t, r.Row)
	if layer := rowLayer(t, r.Row); layer == runner.LayerListener {
		return noListener(r, text, name)
	}
	if strings.Contains(name, runner.OfExecutable) {
		return movedAway(t, r)
	}
	if strings.HasPrefix(name, "landlock_") {
		return refusal(jobspec.CodeSbxFeatureMissing, "landlock", "row %d: %s, got %d; %s", r.Row, text, r.Result, landlockRemedy)
	}
	if name == "seccomp" {
		return refusal(jobspec.CodeSbxFeatureMissing, "seccomp", "row %d: %s, got %d; use a kernel with seccomp filters", r.Row, text, r.Result)
	}
	return refusal(jobspec.CodeSbxSelftestFailed, name, "row %d: %s, got %d", r.Row, text, r.Result)
}

// movedAway is for the rows that look at the executable through its name: it was
// mounted there a moment ago, and only a rename on the host takes it away.
func movedAway(t *stub.Table, r stub.Report) *runner.Refusal {
	return refusal(jobspec.CodeDriftExecPath, "", "row %d: %s; the name was moved while the sandbox was built, and nothing was started", r.Row, t.RowText(r.Row))
}

// noListener is for the rows that make and measure the listener. A container
// that has one of its own answers EBUSY: a process has at most one.
func noListener(r stub.Report, text, name string) *runner.Refusal {
	if name != "seccomp" {
		return refusal(jobspec.CodeSbxSelftestFailed, runner.LayerListener, "row %d: %s, got %d", r.Row, text, r.Result)
	}
	return refusal(jobspec.CodeSbxFeatureMissing, runner.LayerListener, "row %d: %s, got %d (%v); %s", r.Row, text, r.Result, unix.Errno(-r.Result), listenerRemedy)
}

func rowLayer(t *stub.Table, row int) string {
	if row < 0 || row >= len(t.Rows()) {
		return ""
	}
	return t.Rows()[row].Layer
}

func rowName(t *stub.Table, row int) string {
	if row < 0 || row >= len(t.Rows()) {
		return ""
	}
	return t.Rows()[row].Name
}
