package cgroup

import (
	"crypto/sha256"
	"encoding/hex"
	"time"
)

// Want are the bounds of one run. A zero field bounds nothing.
type Want struct {
	MemoryBytes int64 // with tmpfs pages and kernel memory; no swap
	PIDs        int64 // processes and threads
	CPUPercent  int64 // 100 is one core
}

// Held says which bounds the kernel holds for a whole run on this machine. The
// zero value holds nothing.
type Held struct {
	Memory bool
	PIDs   bool
	CPU    bool
	Kill   bool // everything in a leaf can be killed by one write
}

// Events is what happened in a leaf so far.
type Events struct {
	OOMKills  int64         // processes that were killed because memory ran out
	PIDsMax   int64         // forks that were refused
	Throttled time.Duration // how long the leaf waited for its share of CPU
}

// Folder is the name of a service's folder, from the path of its RUN: two
// services share nothing, and the next service of the same RUN finds what its
// predecessor left.
func Folder(run string) string {
	sum := sha256.Sum256([]byte(run))
	return "sbxcron-" + hex.EncodeToString(sum[:6])
}
