package bwrap

import "github.com/sbxcron/sbxcron/jobspec"

// readsResult reports whether the file that a stream is kept in is opened once more,
// to be read when the run is over. The service itself never reads it.
func (r *run) readsResult(stream string) bool {
	return stream == "out" && r.p.Result != "" && r.p.Result != jobspec.ExitWord
}
