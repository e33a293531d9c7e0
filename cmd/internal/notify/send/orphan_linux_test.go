package send

import (
	"net"
	"testing"
	"time"

	"github.com/sbxcron/sbxcron/jobspec"
)

// The kernel closes the service's end of the pipe, however the service ended. A
// server that hangs keeps no sender, and no secret in one, alive behind it.
func TestASenderThatWaitsForAServerEndsWithTheService(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	taken := make(chan net.Conn, 64)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			taken <- c // and says nothing
		}
	}()
	s := testSender(t)
	task := mail(l.Addr().String())
	task.Channel.Kind, task.Channel.URL = jobspec.ChannelWebhook, "http://"+l.Addr().String()
	for range maxAtOnce - 1 {
		go s.Do(t.Context(), task)
	}
	for range maxAtOnce - 1 {
		select {
		case c := <-taken:
			defer c.Close()
		case <-time.After(10 * time.Second):
			t.Fatal("the sender does not connect")
		}
	}
	s.mu.Lock()
	p := s.procs[modeNetwork+" "]
	s.mu.Unlock()
	began := time.Now()
	p.mu.Lock()
	_ = p.in.Close()
	p.mu.Unlock()
	for !p.ended() {
		if time.Since(began) > 5*time.Second {
			t.Fatal("the sender goes on without the service")
		}
		time.Sleep(10 * time.Millisecond)
	}
}
