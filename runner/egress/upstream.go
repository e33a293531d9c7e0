package egress

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"time"

	"github.com/sbxcron/sbxcron/jobspec"
)

// upstream is the proxy of a company without direct egress. Names and ports are
// decided here; which address a name leads to is then the upstream's business.
// Hosts that are opened as private ones are never asked of it.
type upstream struct {
	at   Target
	text string
}

func readUpstream(text string) (*upstream, error) {
	e, err := jobspec.ParseUpstream(text)
	if err != nil {
		return nil, fmt.Errorf("read upstream: %w", err)
	}
	return &upstream{at: targetOf(e), text: text}, nil
}

// judgeUpstream lets the upstream lie where a service of the machine or of its
// network may; it never is where credentials of a cloud are.
func judgeUpstream(t Target) func(netip.Addr) *Refusal {
	return func(a netip.Addr) *Refusal {
		if class := refusedClass(a, selfToo); class != "" {
			return refuse(jobspec.CodeNetDeniedLocal, t, floorRule(class), "the upstream leads to "+a.String())
		}
		return nil
	}
}

func (s *Server) dialUpstream(ctx context.Context) (net.Conn, error) {
	conn, err := s.dialAll(ctx, s.upstream.at, judgeUpstream(s.upstream.at))
	if err != nil {
		return nil, fmt.Errorf("reach upstream %s: %w", s.upstream.text, err)
	}
	return conn, nil
}

// throughUpstream asks the upstream to connect.
func (s *Server) throughUpstream(ctx context.Context, t Target, g grant) (*wire, error) {
	conn, err := s.dialUpstream(ctx)
	if err != nil {
		return nil, err
	}
	end, _ := ctx.Deadline()
	conn.SetDeadline(end)
	undo := context.AfterFunc(ctx, func() { conn.Close() }) // an upstream may take long, and the run may end
	r, err := askConnect(conn, t)
	if !undo() && err == nil {
		err = ctx.Err()
	}
	if err != nil {
		conn.Close()
		return nil, fmt.Errorf("reach upstream %s: %w", s.upstream.text, err)
	}
	conn.SetDeadline(time.Time{})
	return s.wire(&buffered{Conn: conn, r: r}, Use{Target: t, Upstream: s.upstream.text, Rule: g.rule}), nil
}

// askConnect sends CONNECT and reads the answer's head. What came behind it
// stays in the reader.
func askConnect(conn net.Conn, t Target) (*bufio.Reader, error) {
	if _, err := fmt.Fprintf(conn, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n", t, t); err != nil {
		return nil, err
	}
	head := &io.LimitedReader{R: conn, N: maxHead}
	r := bufio.NewReader(head)
	resp, err := http.ReadResponse(r, &http.Request{Method: http.MethodConnect})
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("it answered CONNECT %s with status %d", t, resp.StatusCode)
	}
	head.N = 1<<63 - 1
	return r, nil
}

// buffered is a connection of which something was read ahead.
type buffered struct {
	net.Conn
	r *bufio.Reader
}

func (b *buffered) Read(p []byte) (int, error) { return b.r.Read(p) }

// CloseWrite says that nothing more comes.
func (b *buffered) CloseWrite() error { return closeWrite(b.Conn) }

// transports are for requests in absolute form: one that connects by itself, and
// one that sends them on to the upstream, a connection each.
func (s *Server) transports() (direct, relayed *http.Transport) {
	fresh := func() *http.Transport {
		return &http.Transport{
			DisableCompression: true, MaxResponseHeaderBytes: maxHead, ResponseHeaderTimeout: s.times.idle,
			MaxIdleConnsPerHost: 4, MaxIdleConns: 64, IdleConnTimeout: time.Minute, ForceAttemptHTTP2: false,
		}
	}
	direct, relayed = fresh(), fresh()
	direct.DialContext = func(ctx context.Context, _, address string) (net.Conn, error) {
		t, err := ParseAuthority(address, 0)
		if err != nil {
			return nil, unreadable(address, err)
		}
		g, no := s.rules.decide(t) // again: this is where it counts
		if no != nil {
			return nil, no
		}
		w, err := s.reach(ctx, t, g)
		if err != nil {
			return nil, err
		}
		return w, nil
	}
	if s.upstream == nil {
		return direct, relayed
	}
	relayed.DisableKeepAlives = true
	relayed.Proxy = http.ProxyURL(&url.URL{Scheme: "http", Host: s.upstream.at.String()})
	relayed.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
		asked, ok := ctx.Value(askedKey{}).(asked)
		if !ok {
			return nil, fmt.Errorf("a connection to the upstream without a request")
		}
		if no := s.budget.connection(asked.target); no != nil {
			return nil, no
		}
		conn, err := s.dialUpstream(ctx)
		if err != nil {
			return nil, err
		}
		return s.wire(conn, Use{Target: asked.target, Upstream: s.upstream.text, Rule: asked.grant.rule}), nil
	}
	return direct, relayed
}

// asked is the request that a connection to the upstream is made for.
type asked struct {
	target Target
	grant  grant
}

type askedKey struct{}
