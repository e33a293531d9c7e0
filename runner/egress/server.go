package egress

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/sbxcron/sbxcron/jobspec"
)

// MaxOpen bounds how many clients are served at once, over all listeners. Further
// ones wait in the kernel's queue.
const MaxOpen = 256

// times bound how long things take.
type times struct {
	head    time.Duration // until a request was read whole
	dial    time.Duration // until a connection stands, its name resolved
	attempt time.Duration // one address, where further ones are left
	idle    time.Duration // without a byte either way
}

func usual() times {
	return times{head: 30 * time.Second, dial: 30 * time.Second, attempt: 6 * time.Second, idle: 5 * time.Minute}
}

// Options are what New needs beside the config. Denied and Used are called by
// many goroutines.
type Options struct {
	Resolver Resolver       // nil: the host's
	Denied   func(*Refusal) // each request that was refused
	Used     func(Use)      // each connection to the outside, when it is over
}

// Server serves the listeners of one run.
type Server struct {
	rules    *rules
	budget   *budget
	upstream *upstream // nil: directly
	resolver Resolver
	denied   func(*Refusal)
	used     func(Use)
	times    times

	direct, relayed *http.Transport
	ctx             context.Context
	stop            context.CancelFunc
	slots           chan struct{}
	running         sync.WaitGroup

	mu        sync.Mutex
	closed    bool
	open      map[net.Conn]bool
	redirects map[string]bool // hosts that responses led to
	once      sync.Once       // limits.bytes is told once
}

// New makes a server. It serves nothing until Serve is called.
func New(c Config, o Options) (*Server, error) {
	r, err := c.read()
	if err != nil {
		return nil, err
	}
	s := &Server{rules: r, budget: newBudget(c), resolver: o.Resolver, denied: o.Denied, used: o.Used, times: usual(),
		slots: make(chan struct{}, MaxOpen), open: map[net.Conn]bool{}, redirects: map[string]bool{}}
	if s.resolver == nil {
		s.resolver = &net.Resolver{PreferGo: true} // /etc/hosts and resolv.conf, in this process
	}
	if s.denied == nil {
		s.denied = func(*Refusal) {}
	}
	if c.Upstream != "" {
		if s.upstream, err = readUpstream(c.Upstream); err != nil {
			return nil, err
		}
	}
	s.ctx, s.stop = context.WithCancel(context.Background())
	s.direct, s.relayed = s.transports()
	return s, nil
}

// Serve accepts clients of the proxy until Close, and closes the listener. Its error
// is what the listener says, nil after Close.
func (s *Server) Serve(l net.Listener) error { return s.accept(l, s.serveClient) }

// ServeForward accepts clients of entry i of net.forward until Close.
func (s *Server) ServeForward(l net.Listener, i int) error {
	if i < 0 || i >= len(s.rules.forward) {
		return fmt.Errorf("forward %d is not in the config", i)
	}
	return s.accept(l, func(c net.Conn) { s.serveForward(c, s.rules.forward[i]) })
}

func (s *Server) accept(l net.Listener, serve func(net.Conn)) error {
	undo := context.AfterFunc(s.ctx, func() { l.Close() })
	defer undo()
	defer l.Close()
	for {
		select {
		case s.slots <- struct{}{}:
		case <-s.ctx.Done():
			return nil
		}
		c, err := l.Accept()
		if err != nil {
			<-s.slots
			if s.ctx.Err() != nil || errors.Is(err, net.ErrClosed) {
				return nil
			}
			return fmt.Errorf("accept: %w", err)
		}
		if !s.begin(c) {
			c.Close()
			<-s.slots
			return nil
		}
		go func() {
			defer func() {
				c.Close()
				s.drop(c)
				<-s.slots
				s.running.Done()
			}()
			serve(c)
		}()
	}
}

// begin is keep for a client, whom Close waits for.
func (s *Server) begin(c net.Conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.open[c] = true
	s.running.Add(1)
	return true
}

// keep notes a connection that Close must end; false after Close.
func (s *Server) keep(c net.Conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.open[c] = true
	return true
}

func (s *Server) drop(c net.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open, c)
}

// Close ends everything and waits until all was told.
func (s *Server) Close() {
	s.stop()
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.closeOpen()
	s.running.Wait()
	s.direct.CloseIdleConnections()
	s.relayed.CloseIdleConnections()
	s.closeOpen()
}

func (s *Server) closeOpen() {
	s.mu.Lock()
	all := make([]net.Conn, 0, len(s.open))
	for c := range s.open {
		all = append(all, c)
	}
	s.mu.Unlock()
	for _, c := range all {
		c.Close()
	}
}

// exhausted tells once that the bytes are used up.
func (s *Server) exhausted(w *wire) error {
	s.once.Do(func() { s.denied(refuse(jobspec.CodeLimitNetBytes, w.use.Target, "limits.bytes", errSpent.Error())) })
	return errSpent
}

// serveClient tells SOCKS from HTTP by the first byte.
func (s *Server) serveClient(c net.Conn) {
	c.SetDeadline(time.Now().Add(s.times.head))
	r := bufio.NewReaderSize(c, headBuffer)
	first, err := r.Peek(1)
	switch {
	case err != nil:
	case first[0] == socksVersion:
		s.serveSocks(c, r)
	default:
		s.serveHTTP(c, r)
	}
}

// serveForward leads a client to the one host of its port.
func (s *Server) serveForward(c net.Conn, f allowed) {
	t := targetOf(f.to)
	no := s.budget.request(t)
	var w *wire
	var err error
	if no == nil {
		w, err = s.reach(s.ctx, t, grant{f.text, f.open})
		errors.As(err, &no)
	}
	if no != nil {
		s.denied(no)
	}
	if w != nil {
		s.tunnel(c, c, w)
	}
}

// admit decides on a request. A "no" is told.
func (s *Server) admit(t Target) (grant, *Refusal) {
	g, no := s.rules.decide(t)
	if no == nil {
		no = s.budget.request(t)
	}
	if no != nil {
		s.tell(no)
	}
	return g, no
}

// tell passes a refusal on. One that a response of a server led to is told as
// such: the job did not choose that host.
func (s *Server) tell(no *Refusal) {
	s.mu.Lock()
	led := s.redirects[no.Target]
	s.mu.Unlock()
	if led && (no.Reason == jobspec.CodeNetDeniedDomain || no.Reason == jobspec.CodeNetDeniedPort) {
		no.Reason = jobspec.CodeNetDeniedRedirect
	}
	s.denied(no)
}
