//go:build !linux

package scheduler

import "time"

// sinceBoot knows no clock of the machine here; no service runs on these systems.
func sinceBoot() time.Duration { return 0 }

func awakeSinceBoot() time.Duration { return 0 }
