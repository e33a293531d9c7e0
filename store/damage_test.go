package store_test

import (
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/sbxcron/sbxcron/store"
)

// damages are what disks and editors do to a file.
func damages() map[string]func(r *rand.Rand, b []byte) []byte {
	return map[string]func(r *rand.Rand, b []byte) []byte{
		"bit":   func(r *rand.Rand, b []byte) []byte { b[r.IntN(len(b))] ^= 1 << r.IntN(8); return b },
		"zeros": func(r *rand.Rand, b []byte) []byte { i := r.IntN(len(b) - 512); clear(b[i : i+512]); return b },
		"page":  func(r *rand.Rand, b []byte) []byte { i := r.IntN(len(b)/4096) * 4096; clear(b[i : i+4096]); return b },
		"cut":   func(r *rand.Rand, b []byte) []byte { return b[:r.IntN(len(b))] },
		"header": func(r *rand.Rand, b []byte) []byte {
			b[r.IntN(len(b)/4096)*4096+r.IntN(16)] ^= 1 << r.IntN(8)
			return b
		},
	}
}

// TestNoDamageToADatabaseEndsTheProcess opens damaged databases in another
// process, since a fault in a goroutine of bbolt cannot be recovered. A refusal
// and a commit are both fine (free pages may be damaged); a crash is not.
func TestNoDamageToADatabaseEndsTheProcess(t *testing.T) {
	d := chainOf(t)
	lock, err := store.TryLock(d, store.LockWait)
	must(t, err)
	l, r := indexWith(t, d, lock, "boot")
	leaves := story(100)
	must(t, r.Add(appendLeaves(t, l, leaves...), leaves...))
	must(t, errors.Join(r.Close(), l.Close(), lock.Close()))
	good := map[string][]byte{}
	for _, path := range []string{d.ChainDB(), d.RunsDB(), d.Pin()} {
		good[path], err = os.ReadFile(path)
		must(t, err)
	}
	random := rand.New(rand.NewPCG(1, 2))
	for name, damage := range damages() {
		for range damageRounds {
			for path, b := range good {
				must(t, os.WriteFile(path, b, 0o600))
			}
			for _, path := range []string{d.ChainDB(), d.RunsDB()} {
				must(t, os.WriteFile(path, damage(random, append([]byte(nil), good[path]...)), 0o600))
			}
			cmd := child(t, d, "reopen")
			stuck := time.AfterFunc(20*time.Second, func() { cmd.Process.Kill() })
			out, err := cmd.CombinedOutput()
			stuck.Stop()
			var exit *exec.ExitError
			if errors.As(err, &exit) && exit.ExitCode() != 1 {
				t.Fatalf("%s: %v\n%s", name, err, out)
			}
		}
	}
}

const damageRounds = 4
