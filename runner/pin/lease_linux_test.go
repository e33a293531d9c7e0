package pin

import (
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sbxcron/sbxcron/jobspec"
)

// The owner of a file may take a lease on it; a plain open then waits for up to
// /proc/sys/fs/lease-break-time, 45 s.
func TestLeaseOfTheOwnerHoldsNoOpenUp(t *testing.T) {
	path := put(t, folder(t)+"/f", "x", 0o644)
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_WRLCK); err != nil {
		t.Skipf("this file system has no leases: %v", err)
	}
	begin := time.Now()
	s := open(t, here(), Options{}, script(path))
	if took := time.Since(begin); took > 5*time.Second {
		t.Errorf("the open waited for %s", took)
	}
	if p := s.Observation(0).Problem; p != jobspec.CodePathUnreachable {
		t.Errorf("problem %q", p)
	}
}
