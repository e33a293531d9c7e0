package runner

import "github.com/sbxcron/sbxcron/runner/stub"

const (
	prCapbsetRead = 23
	lastCap       = 40 // CAP_CHECKPOINT_RESTORE; kernels older than the one that brought it have no landlock
)

// boundingSet measures that no file can give a capability back at an execve:
// the payload has none, and the set that bounds what it may gain is empty.
func (s *steps) boundingSet() {
	for c := range int64(lastCap + 1) {
		s.call(LayerCaps, "prctl", 0, stub.Int(prCapbsetRead), stub.Int(c), stub.Int(0), stub.Int(0), stub.Int(0))
	}
}
