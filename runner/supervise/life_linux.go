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

// stop ends the workers of a run whose processes are gone, and everything is told
// when it returns, even where the process can serve no other run. Where the kernel does
// not say that (before Linux 6.11), a signal gets them out of their wait; between
// 6.6 and 6.10 it does not either, since the runtime's handlers restart what they
// interrupt. Then the process ends with its run.
func (s *server) stop() error {
	ended := s.endWorkers()
	s.endNet()
	s.attempts.end()
	switch {
	case !ended:
		return errors.New("the workers do not end")
	case len(s.local.slots) > 0:
		return errors.New("a connect of the run does not end")
	}
	return nil
}

func (s *server) endWorkers() bool {
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
			return true
		case <-time.After(stopTime / stopSteps):
		}
	}
	return false
}

// close gives back what the run has opened.
func (s *server) close() {
	unix.Close(s.listener)
	unix.Close(s.root)
	for _, h := range s.held {
		unix.Close(h.file)
	}
}
