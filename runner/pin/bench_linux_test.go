package pin

import (
	"testing"

	"github.com/sbxcron/sbxcron/jobspec"
)

// BenchmarkOpen is the part of a trigger that this package takes: two bound
// programs of the system, a cwd and a read path, digests remembered.
func BenchmarkOpen(b *testing.B) {
	reqs := []Request{
		bound(jobspec.RoleExecutable, "/usr/bin/env"), bound(jobspec.RoleInterpreter, "/usr/bin/dash"),
		{Use: jobspec.UseCwd, Path: "/usr"}, {Use: jobspec.UseRead, Path: "/usr/share"},
	}
	cache := NewCache(farFuture)
	for _, acct := range accounts() {
		b.Run(map[bool]string{false: "own", true: "child"}[acct.Drop], func(b *testing.B) {
			for b.Loop() {
				s, err := tryOpen(b.Context(), acct, reqs, Options{Cache: cache})
				if err != nil {
					b.Fatal(err)
				}
				s.Close()
			}
		})
	}
}

func BenchmarkSensitivePlaces(b *testing.B) {
	for b.Loop() {
		if _, err := SensitivePlaces(SensitiveOptions{Conf: []string{"/etc/sbxcron"}}); err != nil {
			b.Fatal(err)
		}
	}
}
