package send

import (
	"context"
	"errors"
	"io"
	"os"
	"sync"
	"time"

	"github.com/sbxcron/sbxcron/jobspec"
)

// Account is who a sender becomes. The zero account is the caller's own.
type Account struct {
	UID, GID int
	Release  func() // called once, when the process is gone; may be nil
}

// Sender keeps the processes that send: one for the network, and one for each
// account that a sendmail program runs as. They are started when there is
// something to send and end when there was nothing for a while. One that dies is
// replaced at the next task.
type Sender struct {
	// Account says who a sender becomes, "" for one that nobody named. A nil func
	// means the caller's own account, and is refused for root.
	Account func(name string) (Account, error)

	mu    sync.Mutex
	procs map[string]*process
	done  bool
}

// idleTime is how long a process without a task is kept.
const idleTime = 2 * time.Minute

// answerTime is how long a process may take for a task: an attempt, and some more.
const answerTime = attemptTime + 10*time.Second

// process is one running sender.
type process struct {
	in   *os.File // tasks
	kill func()
	wait func()

	mu      sync.Mutex
	next    uint64
	pending map[uint64]chan Result
	gone    bool
	idle    *time.Timer
}

var errGone = errors.New("the sender has ended")

// Do makes one attempt in a sender and waits for its end. Everything that goes
// wrong on the way is a Result too.
func (s *Sender) Do(ctx context.Context, t Task) Result {
	p, err := s.process(t.Channel)
	if err != nil {
		return result(Delayed, "%v", err)
	}
	answer, err := p.hand(t)
	if err != nil {
		p.kill()
		return result(Delayed, "hand the notice to the sender: %v", err)
	}
	timeout := time.NewTimer(answerTime)
	defer timeout.Stop()
	select {
	case res, ok := <-answer:
		if !ok {
			return result(Delayed, "%v", errGone)
		}
		return res
	case <-ctx.Done():
		return result(Delayed, "%v", ctx.Err())
	case <-timeout.C:
		p.kill()
		return result(Delayed, "the sender does not answer")
	}
}

// Close ends all senders, and waits for them.
func (s *Sender) Close() {
	s.mu.Lock()
	s.done = true
	all := s.procs
	s.procs = nil
	s.mu.Unlock()
	for _, p := range all {
		p.kill()
		p.wait()
	}
}

func (s *Sender) process(c jobspec.Channel) (*process, error) {
	mode, account := modeNetwork, ""
	if c.Kind == jobspec.ChannelSendmail {
		mode, account = modeProgram, c.RunAs
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.done {
		return nil, errGone
	}
	key := mode + " " + account
	if p := s.procs[key]; p != nil && !p.ended() {
		return p, nil
	}
	who := Account{}
	if s.Account != nil {
		var err error
		if who, err = s.Account(account); err != nil {
			return nil, err
		}
	}
	p, out, err := start(mode, who)
	if err != nil {
		if who.Release != nil {
			who.Release()
		}
		return nil, err
	}
	p.pending = map[uint64]chan Result{}
	p.idle = time.AfterFunc(idleTime, p.rest)
	go p.listen(out)
	if s.procs == nil {
		s.procs = map[string]*process{}
	}
	s.procs[key] = p
	return p, nil
}

func (p *process) ended() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.gone
}

// rest ends a process that has nothing to do.
func (p *process) rest() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.pending) == 0 {
		p.gone = true
		_ = p.in.Close() // it ends by itself then
	}
}

func (p *process) hand(t Task) (<-chan Result, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.gone {
		return nil, errGone
	}
	p.idle.Reset(idleTime)
	p.next++
	answer := make(chan Result, 1)
	p.pending[p.next] = answer
	if err := p.in.SetWriteDeadline(time.Now().Add(5 * time.Second)); err != nil {
		return nil, err
	}
	return answer, writeTask(p.in, p.next, t)
}

// listen takes results until the process ends, or says what is none.
func (p *process) listen(out io.ReadCloser) {
	for {
		id, res, err := readResult(out)
		if err != nil {
			break
		}
		p.mu.Lock()
		if answer := p.pending[id]; answer != nil {
			delete(p.pending, id)
			answer <- res
		}
		p.idle.Reset(idleTime)
		p.mu.Unlock()
	}
	p.kill()
	_ = out.Close() // nothing more is read
	p.wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.gone = true
	p.idle.Stop()
	_ = p.in.Close() // perhaps again
	for _, answer := range p.pending {
		close(answer)
	}
	clear(p.pending)
}
