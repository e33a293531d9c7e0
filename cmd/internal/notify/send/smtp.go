package send

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/smtp"
	"net/textproto"
	"slices"
	"strings"
)

// maxTalk bounds what is read of a server in one attempt.
const maxTalk = 64 << 10

// boundedConn ends when a server says too much.
type boundedConn struct {
	net.Conn
	left int
}

func (c *boundedConn) Read(b []byte) (int, error) {
	if c.left <= 0 {
		return 0, errors.New("the server says more than is read")
	}
	n, err := c.Conn.Read(b[:min(len(b), c.left)])
	c.left -= n
	return n, err
}

func bySMTP(ctx context.Context, t Task) Result {
	host, _, err := net.SplitHostPort(t.Channel.Server)
	if err != nil {
		return result(Misconfigured, "server: %v", err)
	}
	password, err := t.secret(t.Channel.Password)
	if err != nil {
		return result(Misconfigured, "%v", err)
	}
	secure, err := t.tlsConfig(host)
	if err != nil {
		return result(Misconfigured, "%v", err)
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", t.Channel.Server)
	if err != nil {
		return ofNetwork(err)
	}
	defer conn.Close()
	if end, ok := ctx.Deadline(); ok {
		if err := conn.SetDeadline(end); err != nil {
			return ofNetwork(err)
		}
	}
	said, err := talk(&boundedConn{conn, maxTalk}, t, host, password, secure)
	return ofSMTP(said, err)
}

// errRefused is an end that another attempt will not change.
type errRefused string

func (e errRefused) Error() string { return string(e) }

func ofSMTP(said string, err error) Result {
	var reply *textproto.Error
	var refused errRefused
	switch {
	case err == nil:
		return result(Delivered, "%s", said)
	case errors.As(err, &reply) && reply.Code >= 500:
		return result(Refused, "%d %s", reply.Code, reply.Msg)
	case errors.As(err, &reply):
		return result(Delayed, "%d %s", reply.Code, reply.Msg)
	case errors.As(err, &refused):
		return result(Refused, "%s", refused)
	}
	return ofNetwork(err)
}

// talk is one conversation. It returns what the server said to the message.
func talk(conn net.Conn, t Task, host, password string, secure *tls.Config) (string, error) {
	if t.Channel.TLS == "implicit" {
		conn = tls.Client(conn, secure)
	}
	c, err := smtp.NewClient(conn, host)
	if err != nil {
		return "", err
	}
	defer c.Close()
	if err := c.Hello("localhost"); err != nil {
		return "", err
	}
	if t.Channel.TLS == "starttls" {
		if ok, _ := c.Extension("STARTTLS"); !ok { // somebody in between may have taken the word out
			return "", errRefused("the server offers no STARTTLS")
		}
		if err := c.StartTLS(secure); err != nil {
			return "", err
		}
	}
	if t.Channel.User != "" {
		if err := login(c, t.Channel.User, password, host); err != nil {
			return "", err
		}
	}
	if err := c.Mail(t.Channel.From); err != nil {
		return "", err
	}
	for _, to := range t.Channel.To {
		if err := c.Rcpt(to); err != nil {
			return "", err
		}
	}
	said, err := hand(c, message(t))
	if err == nil {
		_ = c.Quit() // the server has the message already
	}
	return said, err
}

// hand gives the message away. smtp.Client.Data would not say what the answer was.
func hand(c *smtp.Client, text string) (string, error) {
	id, err := c.Text.Cmd("DATA")
	if err != nil {
		return "", err
	}
	c.Text.StartResponse(id)
	_, _, err = c.Text.ReadResponse(354)
	c.Text.EndResponse(id)
	if err != nil {
		return "", err
	}
	w := c.Text.DotWriter()
	if _, err := io.WriteString(w, text); err != nil {
		return "", err
	}
	if err := w.Close(); err != nil {
		return "", err
	}
	code, said, err := c.Text.ReadResponse(250)
	return fmt.Sprintf("%d %s", code, said), err
}

// login takes PLAIN, else LOGIN.
func login(c *smtp.Client, user, password, host string) error {
	_, offered := c.Extension("AUTH")
	kinds := strings.Fields(strings.ToUpper(offered))
	switch {
	case slices.Contains(kinds, "PLAIN"):
		return c.Auth(smtp.PlainAuth("", user, password, host))
	case slices.Contains(kinds, "LOGIN"):
		return c.Auth(&loginAuth{user, password})
	}
	return errRefused("the server offers neither AUTH PLAIN nor AUTH LOGIN")
}

// loginAuth is AUTH LOGIN, which some servers offer alone.
type loginAuth struct{ user, password string }

func (a *loginAuth) Start(s *smtp.ServerInfo) (string, []byte, error) {
	if !s.TLS && s.Name != "localhost" && s.Name != "127.0.0.1" && s.Name != "::1" {
		return "", nil, errRefused("no password is sent in the clear")
	}
	return "LOGIN", nil, nil
}

func (a *loginAuth) Next(asked []byte, more bool) ([]byte, error) {
	switch word := strings.ToLower(strings.TrimSpace(string(asked))); {
	case !more:
		return nil, nil
	case strings.HasPrefix(word, "user"):
		return []byte(a.user), nil
	case strings.HasPrefix(word, "pass"):
		return []byte(a.password), nil
	}
	return nil, errRefused("the server asks for neither name nor password")
}
