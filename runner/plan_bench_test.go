package runner

import (
	"testing"

	"github.com/sbxcron/sbxcron/runner/internal/permit"
	"github.com/sbxcron/sbxcron/runner/seccomp"
)

// BenchmarkPlan tells what the service computes for a run before bwrap can start
// (draw, steps), and what it computes while bwrap builds (digest).
func BenchmarkPlan(b *testing.B) {
	o := benchOrder(b)
	m := Machine{Arch: seccomp.AMD64, LandlockABI: landlockNewest, HardNoFile: 1 << 20, HardNProc: 1 << 16, HardFSize: 1 << 62,
		HardMemlock: 1 << 20, HardData: 1 << 62, HardCPU: 1 << 62}
	p, err := PlanUnsigned(permit.New(), o)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("draw", func(b *testing.B) {
		for b.Loop() {
			if _, err := PlanUnsigned(permit.New(), o); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("steps", func(b *testing.B) {
		for b.Loop() {
			if _, err := p.Steps(m); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("digest", func(b *testing.B) {
		for b.Loop() {
			p.Digest()
		}
	})
}

// benchOrder is a run of true in tier scratch on this machine.
func benchOrder(b *testing.B) Order {
	b.Helper()
	host, err := ReadHost()
	if err != nil {
		b.Fatal(err)
	}
	o := order(b)
	o.Host = host
	return o
}
