package supervise

import (
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/sbxcron/sbxcron/runner"
)

// The timer of an idle supervisor may have begun to end it when the pool is closed:
// whoever closed it must not find the process there any more.
func TestAClosedPoolHasNoSupervisorThatIsStillEnding(t *testing.T) {
	for range 20 {
		var child *os.Process
		p := NewPool(1, func(_ runner.Account, _ []string, files []*os.File) (*os.Process, error) {
			cmd := exec.Command("/bin/cat")
			cmd.Stdin = files[3] // its end of the socket
			err := cmd.Start()
			child = cmd.Process
			return child, err
		})
		p.idles = time.Millisecond
		l, err := p.Get(runner.Account{UID: os.Getuid(), GID: os.Getgid()})
		if err != nil {
			t.Fatal(err)
		}
		if !l.Return() || p.Idle() > 1 {
			t.Fatal("it was given no run and is not idle")
		}
		for p.Idle() == 1 { // until the timer has taken it
			time.Sleep(10 * time.Microsecond)
		}
		p.Close()
		if err := child.Signal(os.Kill); err == nil {
			t.Fatal("the pool is closed, and its supervisor was not waited for")
		}
	}
}
