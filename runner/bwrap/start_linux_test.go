package bwrap

import (
	"testing"
	"time"
)

// BenchmarkStart tells what a run of true costs from its plan to its end, with a
// supervisor that waits and with one that must be started first.
func BenchmarkStart(b *testing.B) {
	backend, err := New(Options{RunDir: b.TempDir(), Now: time.Now})
	if err != nil {
		b.Fatal(err)
	}
	defer backend.Close()
	m, err := machine()
	if err != nil {
		b.Fatal(err)
	}
	for _, cold := range []bool{true, false} {
		name := "ready"
		if cold {
			name = "cold"
		}
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if cold {
					b.StopTimer()
					backend.helpers.Close()
					backend.helpers = backend.newSupervisors()
					b.StartTimer()
				}
				if err := backend.canary(b.Context(), m); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
