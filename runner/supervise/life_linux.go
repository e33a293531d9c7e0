package supervise

import (
	"errors"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// answerCalls lets the workers of a run begin.
func (s *server) answerCalls() {
	for i := range workers {
		s.working.Go(func() {
			if err := s.work(i); err != nil {
				s.fail(err)
			}
		})
	}
	go s.attempts.pass(func(e Event) error { return send(answer{Event: &e}) })
}

// How long workers get to end, and how often they are called.
const (
	stopTime  = 500 * time.Millisecond
	stopSteps = 500
)

// stop ends the workers of a run whose processes are gone. Where the kernel does
// not say that (before Linux 6.11), a signal gets them out of their wait; between
// 6.6 and 6.10 it does not either, since the runtime's handlers restart what they
// interrupt. Then the process ends with its run.
func (s *server) stop() error {
	s.stopping.Store(true)
	over := make(chan struct{})
	go func() {
		defer close(over)
		s.working.Wait()
	}()
	for range stopSteps {
		for i := range s.threads {
			if tid := s.threads[i].Load(); tid != 0 {
				unix.Tgkill(os.Getpid(), int(tid), unix.SIGURG)
			}
		}
		select {
		case <-over:
			s.endNet()
			s.attempts.end()
			return nil
		case <-time.After(stopTime / stopSteps):
		}
	}
	return errors.New("the workers do not end")
}

// close gives back what the run has opened.
func (s *server) close() {
	unix.Close(s.listener)
	unix.Close(s.root)
	for _, h := range s.held {
		unix.Close(h.file)
	}
}
