package ready_test

import (
	"os"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sbxcron/sbxcron/runner/internal/ready"
)

// Signals come as fast as another thread can send them; no answer may be theirs.
func TestSignalsAreNoAnswer(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	self, done := unix.Gettid(), make(chan bool)
	ended := make(chan bool)
	go func() {
		defer close(ended)
		for {
			select {
			case <-done:
				return
			default:
				unix.Tgkill(os.Getpid(), self, unix.SIGURG) // what Go's scheduler sends
			}
		}
	}()
	defer func() { close(done); <-ended }()

	bare := 0
	for range 5000 {
		if _, err := unix.Poll([]unix.PollFd{{Fd: int32(r.Fd()), Events: unix.POLLIN}}, 0); err == unix.EINTR {
			bare++
		}
		if got, err := ready.Now(int(r.Fd()), unix.POLLIN); got != 0 || err != nil {
			t.Fatalf("an empty pipe: %#x, %v", got, err)
		}
	}
	t.Logf("poll without ready: %d of 5000 interrupted", bare)
	began := time.Now()
	if got, err := ready.Within(int(r.Fd()), unix.POLLIN, 50*time.Millisecond); got != 0 || err != nil || time.Since(began) < 50*time.Millisecond {
		t.Errorf("waited %v: %#x, %v", time.Since(began), got, err)
	}
	w.Write([]byte("x"))
	if got, err := ready.Now(int(r.Fd()), unix.POLLIN); got != unix.POLLIN || err != nil {
		t.Errorf("a pipe with a byte: %#x, %v", got, err)
	}
}
