package bwrap

import (
	"os"

	"github.com/sbxcron/sbxcron/jobspec/record"
	"github.com/sbxcron/sbxcron/runner/internal/hear"
)

// ear hears what shims tell and what an agent printed, by our own program with the
// rights of the account.
func (r *run) ear() hear.Ear {
	return hear.Ear{Denials: r.denials, Kill: r.Kill, Spawn: func(argv []string, files []*os.File) (*os.Process, error) {
		return r.b.spawn.self(argv, files, credential(r.p.Account))
	}}
}

// watchEvents notes what shims tell while the run goes on.
func (r *run) watchEvents() {
	defer close(r.eventsDone)
	r.lostEvents = r.ear().Events(r.channel, r.ended)
}

// reportHeard puts into the end of the run what its agent's result and its shims
// said.
func (r *run) reportHeard(end *record.End) {
	r.ear().Result(r.p.Result, r.result, end)
	r.ear().Report(r.lostEvents, end)
}
