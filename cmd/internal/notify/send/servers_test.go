package send

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sbxcron/sbxcron/jobspec"
)

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// certificate is a server's for 127.0.0.1 and localhost, and its own authority.
func certificate(t *testing.T) (tls.Certificate, []byte) {
	t.Helper()
	key := must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
	about := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, DNSNames: []string{"localhost"}}
	der := must(x509.CreateCertificate(rand.Reader, about, about, &key.PublicKey, key))
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

// mailServer is a small SMTP server on loopback. Its fields say how it behaves.
type mailServer struct {
	net.Listener
	cert     *tls.Certificate // offers STARTTLS
	implicit bool
	auth     string // kinds that it offers
	banner   string // in place of the greeting
	rcpt     string // in place of 250 at RCPT

	mu       sync.Mutex
	messages []string
	secure   []bool
	logins   []string
}

func (s *mailServer) start(t *testing.T) string {
	t.Helper()
	s.Listener = must(net.Listen("tcp", "127.0.0.1:0"))
	var all sync.WaitGroup
	t.Cleanup(func() { s.Close(); all.Wait() })
	all.Go(func() {
		for {
			c, err := s.Accept()
			if err != nil {
				return
			}
			all.Go(func() { s.serve(c) })
		}
	})
	return s.Addr().String()
}

func (s *mailServer) serve(c net.Conn) {
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(10 * time.Second))
	secure := false
	if s.implicit {
		c, secure = tls.Server(c, &tls.Config{Certificates: []tls.Certificate{*s.cert}}), true
	}
	r := bufio.NewReader(c)
	say := func(format string, args ...any) { fmt.Fprintf(c, format+"\r\n", args...) }
	if s.banner != "" {
		say("%s", s.banner)
		return
	}
	say("220 test")
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			return
		}
		line = strings.TrimRight(line, "\r\n")
		verb, _, _ := strings.Cut(strings.ToUpper(line), " ")
		switch verb {
		case "EHLO":
			say("250-test")
			if s.cert != nil && !secure {
				say("250-STARTTLS")
			}
			if s.auth != "" {
				say("250-AUTH %s", s.auth)
			}
			say("250 8BITMIME")
		case "STARTTLS":
			say("220 go on")
			c, secure = tls.Server(c, &tls.Config{Certificates: []tls.Certificate{*s.cert}}), true
			r = bufio.NewReader(c)
		case "AUTH":
			s.login(line, say, r)
		case "RCPT":
			if s.rcpt != "" {
				say("%s", s.rcpt)
				continue
			}
			say("250 ok")
		case "DATA":
			say("354 go on")
			s.take(r, secure)
			say("250 2.0.0 queued as 4711")
		case "QUIT":
			say("221 bye")
			return
		default:
			say("250 ok")
		}
	}
}

func (s *mailServer) login(line string, say func(string, ...any), r *bufio.Reader) {
	f := strings.Fields(line)
	text := ""
	if strings.EqualFold(f[1], "PLAIN") {
		text = strings.ReplaceAll(string(must(base64.StdEncoding.DecodeString(f[2]))), "\x00", " ")
	} else {
		for _, ask := range []string{"Username:", "Password:"} {
			say("334 %s", base64.StdEncoding.EncodeToString([]byte(ask)))
			text += " " + string(must(base64.StdEncoding.DecodeString(strings.TrimSpace(must(r.ReadString('\n'))))))
		}
	}
	s.mu.Lock()
	s.logins = append(s.logins, strings.TrimSpace(text))
	s.mu.Unlock()
	if !strings.HasSuffix(text, "s3cr3t-word") {
		say("535 5.7.8 no")
		return
	}
	say("235 welcome")
}

func (s *mailServer) take(r *bufio.Reader, secure bool) {
	var text strings.Builder
	for {
		line, err := r.ReadString('\n')
		if err != nil || line == ".\r\n" {
			break
		}
		text.WriteString(line)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.messages, s.secure = append(s.messages, text.String()), append(s.secure, secure)
}

func (s *mailServer) got() ([]string, []bool, []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.messages, s.secure, s.logins
}

func notice() Notice {
	code := int64(3)
	return Notice{ID: "01K0ABC", Time: time.Date(2026, 12, 1, 2, 30, 0, 0, time.UTC), Host: "box", HostID: "9c1f", Event: jobspec.EventFailed,
		Job: "nightly", Principal: "alice", Outcome: "failed", ExitCode: &code, Run: "r1", Slot: "2026-12-01T02:30/UTC#0", Remedy: "look"}
}

func mail(server string) Task {
	return Task{Channel: jobspec.Channel{Name: "ops", Kind: jobspec.ChannelSMTP, Server: server, TLS: "none", From: "cron@example.org", To: []string{"ops@example.org", "b@example.org"}},
		Notice: notice(), Sent: time.Unix(1764556200, 0), Secrets: map[string][]byte{}}
}

// unprivileged is whom root's tests let the sender be.
func testSender(t *testing.T) *Sender {
	s := &Sender{}
	if os.Getuid() == 0 {
		s.Account = func(string) (Account, error) { return Account{UID: 65519, GID: 65519}, nil }
	}
	t.Cleanup(s.Close)
	return s
}
