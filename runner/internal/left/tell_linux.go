package left

import (
	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/record"
)

// Tell makes a run denied that left such names behind. They stand before whatever
// else was denied: a row of the ledger is cut behind so many denials, and a job can
// make as many as it likes, but why it is held must stand there.
func Tell(end *record.End, paths []string) {
	if len(paths) == 0 {
		return
	}
	var all []record.Denial
	for _, path := range paths {
		all = append(all, record.Denial{Code: jobspec.CodeFsProtectedCreated, Target: path,
			Certainty: "observed", Count: 1, FirstAt: record.Stamp(end.EndedAt)})
	}
	end.Outcome = record.OutcomeDenied
	end.Denials = append(all, end.Denials...)
}
