package egress

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sbxcron/sbxcron/jobspec"
)

// zone is a resolver whose answers a test writes down; the last one stays.
type zone struct {
	mu    sync.Mutex
	names map[string][]string
}

func (z *zone) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	z.mu.Lock()
	defer z.mu.Unlock()
	answers := z.names[strings.TrimSuffix(host, ".")]
	if len(answers) == 0 {
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	if len(answers) > 1 {
		z.names[strings.TrimSuffix(host, ".")] = answers[1:]
	}
	var all []netip.Addr
	for a := range strings.SplitSeq(answers[0], " ") {
		all = append(all, netip.MustParseAddr(a))
	}
	return all, nil
}

// lab is a served proxy and what it told.
type lab struct {
	t    *testing.T
	s    *Server
	addr string

	mu     sync.Mutex
	denied []Refusal
	used   []Use
}

// newLab serves a config on loopback. Rules that begin with "self " reach the
// loopback under their own names, which no config can say.
func newLab(t *testing.T, c Config, z *zone, tune ...func(*Server)) *lab {
	t.Helper()
	l := &lab{t: t}
	self := map[string]bool{}
	for i, o := range c.Allow {
		if rest, ok := strings.CutPrefix(o.Rule, "self "); ok {
			c.Allow[i] = Opening{Rule: rest, Private: true}
			self["net.allow "+rest] = true
		}
	}
	if z == nil {
		z = &zone{names: map[string][]string{"localhost": {"127.0.0.1"}}}
	}
	s, err := New(c, Options{Resolver: z,
		Denied: func(r *Refusal) { l.mu.Lock(); defer l.mu.Unlock(); l.denied = append(l.denied, *r) },
		Used:   func(u Use) { l.mu.Lock(); defer l.mu.Unlock(); l.used = append(l.used, u) }})
	if err != nil {
		t.Fatal(err)
	}
	for i, a := range s.rules.allow {
		if self[a.text] {
			s.rules.allow[i].open = selfToo
		}
	}
	for _, f := range tune {
		f(s)
	}
	l.s, l.addr = s, l.serve(s.Serve)
	t.Cleanup(s.Close)
	return l
}

// serve runs one listener until the server is closed.
func (l *lab) serve(serve func(net.Listener) error) string {
	l.t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		l.t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- serve(ln) }()
	l.t.Cleanup(func() {
		l.s.Close()
		if err := <-done; err != nil {
			l.t.Error(err)
		}
	})
	return ln.Addr().String()
}

// told closes the server and returns all that it told.
func (l *lab) told() ([]Refusal, []Use) {
	l.s.Close()
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.denied, l.used
}

// denials are the codes and targets that were told.
func (l *lab) denials() string {
	denied, _ := l.told()
	var all []string
	for _, d := range denied {
		all = append(all, string(d.Reason)+" "+d.Target)
	}
	return strings.Join(all, ", ")
}

// raw sends bytes to the proxy and returns all that comes back.
func (l *lab) raw(text string) string {
	l.t.Helper()
	c := l.dial()
	defer c.Close()
	if _, err := io.WriteString(c, text); err != nil {
		l.t.Fatal(err)
	}
	c.(*net.TCPConn).CloseWrite()
	answer, _ := io.ReadAll(c)
	return string(answer)
}

func (l *lab) dial() net.Conn {
	l.t.Helper()
	c, err := net.Dial("tcp", l.addr)
	if err != nil {
		l.t.Fatal(err)
	}
	c.SetDeadline(time.Now().Add(20 * time.Second))
	return c
}

// connect opens a tunnel and returns the status of the answer, and the tunnel.
func (l *lab) connect(target string) (int, *bufio.ReadWriter, net.Conn) {
	l.t.Helper()
	c := l.dial()
	l.t.Cleanup(func() { c.Close() })
	fmt.Fprintf(c, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n", target, target)
	r := bufio.NewReader(c)
	resp, err := http.ReadResponse(r, &http.Request{Method: http.MethodConnect})
	if err != nil {
		l.t.Fatal(err)
	}
	return resp.StatusCode, bufio.NewReadWriter(r, bufio.NewWriter(c)), c
}

// echo is a server that sends back what it gets, and ends when its client does.
func echo(t *testing.T) (addr string, count func() int) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	var mu sync.Mutex
	n := 0
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			n++
			mu.Unlock()
			go func() {
				defer c.Close()
				io.Copy(c, c)
			}()
		}
	}()
	return ln.Addr().String(), func() int { mu.Lock(); defer mu.Unlock(); return n }
}

func portOf(addr string) string { return addr[strings.LastIndex(addr, ":"):] }

func hasCode(list []Refusal, code jobspec.Code) bool {
	for _, r := range list {
		if r.Reason == code {
			return true
		}
	}
	return false
}

// spy is a resolver that tells what it is asked and knows nothing.
type spy struct{ asked chan<- string }

func (s spy) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	s.asked <- host
	return nil, &net.DNSError{Err: "no such host", Name: host}
}
