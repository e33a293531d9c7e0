package egress

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/sbxcron/sbxcron/jobspec"
)

// httpPort is what "http://host/" means without a port.
const httpPort = 80

// serveHTTP answers one request after the other. Each is a decision of its own,
// whatever was decided before on the same connection.
func (s *Server) serveHTTP(c net.Conn, r *bufio.Reader) {
	for {
		if _, err := r.Peek(1); err != nil {
			return
		}
		c.SetDeadline(time.Now().Add(s.times.head))
		h, err := readHead(r)
		if err != nil {
			s.refuseHead(c, err)
			return
		}
		c.SetDeadline(time.Now().Add(s.times.idle))
		if h.method == http.MethodConnect {
			s.connect(c, r, h)
			return
		}
		if !s.relay(c, r, h) {
			drain(c)
			return
		}
		c.SetDeadline(time.Now().Add(s.times.idle))
	}
}

// refuseHead answers what is no request, and tells it: a program that sends such
// a thing is broken or tries to be read in two ways.
func (s *Server) refuseHead(c net.Conn, err error) {
	var m *malformed
	if !errors.As(err, &m) {
		return // the client went away, or took too long
	}
	s.denied(unreadable("request", m))
	io.WriteString(c, answer("400 Bad Request", "sbxcron: this request has no one reading: "+m.what+"\n"))
	drain(c)
}

// drainTime bounds how long a refused client may go on talking. Closing at once
// would take the answer away from it (RFC 9112, 9.6).
const drainTime = time.Second

func drain(c net.Conn) {
	closeWrite(c)
	c.SetDeadline(time.Now().Add(drainTime))
	io.Copy(io.Discard, io.LimitReader(c, 256<<10))
}

// connect serves CONNECT.
func (s *Server) connect(c net.Conn, r *bufio.Reader, h *head) {
	t, err := ParseAuthority(h.target, 0)
	if err == nil {
		err = sameHost(h, t, t.Port) // some clients leave the port out
	}
	if err != nil {
		s.no(c, unreadable(h.target, err))
		return
	}
	g, no := s.admit(t)
	if no != nil {
		s.answerNo(c, no)
		return
	}
	w, err := s.reach(s.ctx, t, g)
	if err != nil {
		s.failed(c, t, err)
		return
	}
	if _, err := io.WriteString(c, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		w.Close()
		return
	}
	s.tunnel(c, r, w)
}

// sameHost refuses a field host that means another host than the request line:
// one of the two would be decided on, and the other believed further on.
func sameHost(h *head, t Target, port uint16) error {
	text, given := h.value("host")
	if !given || text == "" && h.minor == 0 {
		return nil
	}
	other, err := ParseAuthority(text, port)
	if err != nil {
		return fmt.Errorf("field host: %w", err)
	}
	if other != t {
		return fmt.Errorf("field host names another host")
	}
	return nil
}

// no tells a refusal and answers with it.
func (s *Server) no(c net.Conn, no *Refusal) {
	s.tell(no)
	s.answerNo(c, no)
}

func (s *Server) answerNo(c net.Conn, no *Refusal) {
	io.WriteString(c, no.response())
	drain(c)
}

// failed answers a request that was allowed and did not work out: by a refusal
// where the address was refused, else by 502, which is no denial.
func (s *Server) failed(c net.Conn, t Target, err error) {
	var no *Refusal
	if errors.As(err, &no) {
		s.no(c, no)
		return
	}
	status := "502 Bad Gateway"
	if errors.Is(err, context.DeadlineExceeded) {
		status = "504 Gateway Timeout"
	}
	io.WriteString(c, answer(status, "sbxcron: "+jobspec.Quote(t.String())+" is allowed and could not be reached: "+jobspec.Quote(err.Error())+"\n"))
	drain(c)
}

// relay serves a request in absolute form. It reports whether the connection can
// take another one.
func (s *Server) relay(c net.Conn, r *bufio.Reader, h *head) bool {
	u, t, err := absolute(h)
	if err != nil {
		s.no(c, unreadable(h.target, err))
		return false
	}
	g, no := s.admit(t)
	if no != nil {
		s.answerNo(c, no)
		return false
	}
	body := newBody(r, h)
	if expect, given := h.value("expect"); given {
		if !strings.EqualFold(expect, "100-continue") {
			io.WriteString(c, answer("417 Expectation Failed", "sbxcron: only 100-continue can be expected\n"))
			return false
		}
		if _, err := io.WriteString(c, "HTTP/1.1 100 Continue\r\n\r\n"); err != nil {
			return false
		}
	}
	c.SetDeadline(time.Time{})
	slow := &patient{Conn: c, idle: s.times.idle}
	resp, err := s.roundTrip(h, u, t, g, &bodyOf{body, slow})
	if err != nil {
		s.failed(c, t, err)
		return false
	}
	defer resp.Body.Close()
	s.noteRedirect(resp, u)
	again := keepAlive(h)
	if err := writeResponse(slow, resp, h, again); err != nil {
		return false
	}
	return again && !resp.Close && body.finish()
}

// absolute reads the target of a request that is not CONNECT: an http URL whose
// host the field host repeats.
func absolute(h *head) (*url.URL, Target, error) {
	rest, ok := strings.CutPrefix(h.target, "http://")
	switch {
	case strings.HasPrefix(strings.ToLower(h.target), "https://"):
		return nil, Target{}, fmt.Errorf("https goes through CONNECT: the proxy does not look into TLS")
	case !ok:
		return nil, Target{}, fmt.Errorf("this is a proxy; it takes CONNECT and http URLs")
	}
	authority, path := rest, ""
	if i := strings.IndexAny(rest, "/?"); i >= 0 {
		authority, path = rest[:i], rest[i:]
	}
	t, err := ParseAuthority(authority, httpPort)
	if err == nil {
		err = sameHost(h, t, httpPort)
	}
	if err != nil {
		return nil, Target{}, err
	}
	if !strings.HasPrefix(path, "/") {
		path = "/" + path
	}
	u, err := url.ParseRequestURI(path)
	if err != nil || u.Host != "" || oddPath(path) {
		return nil, Target{}, fmt.Errorf("the path cannot be read")
	}
	u.Scheme, u.Host = "http", t.String()
	return u, t, nil
}

func oddPath(path string) bool {
	return strings.ContainsFunc(path, func(r rune) bool { return r >= 0x80 || r == '#' || r == '\\' })
}

// roundTrip sends the request on, rebuilt from what was understood of it.
func (s *Server) roundTrip(h *head, u *url.URL, t Target, g grant, body io.ReadCloser) (*http.Response, error) {
	req := &http.Request{Method: h.method, URL: u, Host: hostField(t), Header: endToEnd(h), ContentLength: h.length(), Body: body,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1}
	if req.ContentLength == 0 {
		req.Body = http.NoBody
		body.Close()
	}
	if s.upstream != nil && g.open == publicOnly {
		return s.relayed.RoundTrip(req.WithContext(context.WithValue(s.ctx, askedKey{}, asked{t, g})))
	}
	return s.direct.RoundTrip(req.WithContext(s.ctx))
}

// hostField leaves the usual port out, as clients do.
func hostField(t Target) string {
	if t.Port == httpPort {
		return strings.TrimSuffix(t.String(), t.portText())
	}
	return t.String()
}

func (t Target) portText() string { return fmt.Sprintf(":%d", t.Port) }

// hopByHop are the fields that end at a proxy (RFC 9110, 7.6.1), and those that
// frame the message, which is framed anew.
func hopByHop() []string {
	return []string{"connection", "proxy-connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "te", "trailer",
		"transfer-encoding", "content-length", "upgrade", "host", "expect", "http2-settings"}
}

func endToEnd(h *head) http.Header {
	gone := append(hopByHop(), h.listed("connection")...)
	out := http.Header{"User-Agent": {""}} // an empty one keeps net/http from adding its own
	for _, f := range h.fields {
		switch name := http.CanonicalHeaderKey(f.name); {
		case slices.Contains(gone, f.name):
		case name == "User-Agent":
			out[name] = []string{f.value}
		default:
			out[name] = append(out[name], f.value)
		}
	}
	return out
}

func keepAlive(h *head) bool {
	words := append(h.listed("connection"), h.listed("proxy-connection")...)
	if slices.Contains(words, "close") {
		return false
	}
	return h.minor == 1
}
