package egress

import (
	"bytes"
	"crypto/rand"
	"encoding/binary"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/sbxcron/sbxcron/jobspec"
)

func TestATunnelCarriesBytesBothWaysAndIsCounted(t *testing.T) {
	addr, _ := echo(t)
	l := newLab(t, Config{Allow: allow("private localhost" + portOf(addr))}, nil)
	status, rw, c := l.connect("localhost" + portOf(addr))
	if status != 200 {
		t.Fatal(status)
	}
	sent := make([]byte, 3<<20)
	rand.Read(sent)
	go func() {
		c.Write(sent)
		c.(*net.TCPConn).CloseWrite()
	}()
	got, err := io.ReadAll(rw)
	if err != nil || !bytes.Equal(got, sent) {
		t.Fatalf("%d bytes of %d, %v", len(got), len(sent), err)
	}
	denied, used := l.told()
	if len(denied) != 0 || len(used) != 1 {
		t.Fatal(denied, used)
	}
	if u := used[0]; u.Target.Host() != "localhost" || u.Address != "127.0.0.1" || u.In != 3<<20 || u.Out != 3<<20 || u.Rule != "net.allow localhost"+portOf(addr) || u.Upstream != "" {
		t.Errorf("%+v", u)
	}
}

func TestWhatTheClientSendsWithItsRequestIsNotLost(t *testing.T) {
	addr, _ := echo(t)
	l := newLab(t, Config{Allow: allow("private localhost" + portOf(addr))}, nil)
	got := l.raw("CONNECT localhost" + portOf(addr) + " HTTP/1.1\r\nHost: localhost" + portOf(addr) + "\r\n\r\nearly bytes")
	if !strings.HasSuffix(got, "\r\n\r\nearly bytes") {
		t.Errorf("%q", got)
	}
}

// Each target is refused, told with its code, and answered with 403, the rule
// and the code.
func TestConnectIsRefusedWithItsRule(t *testing.T) {
	addr, count := echo(t)
	z := &zone{names: map[string][]string{
		"localhost": {"127.0.0.1"}, "public.test": {"93.184.216.34"}, "rebound.test": {"127.0.0.1"}, "six.test": {"::1"}, "mapped.test": {"::ffff:127.0.0.1"},
		"meta.test": {"169.254.169.254"}, "private.test": {"10.0.0.1"}, "zero.test": {"0.0.0.0"}, "both.test": {"10.0.0.1 ::1"}, "db.internal": {"127.0.0.1"},
	}}
	port := portOf(addr)
	l := newLab(t, Config{Allow: allow("*.test.org:443", "public.test:443", "rebound.test"+port, "six.test"+port, "mapped.test"+port, "meta.test:80", "private.test:443", "zero.test"+port, "both.test"+port,
		"private db.internal"+port), Deny: []string{"bad.test.org:443"}}, z)
	for _, c := range []struct {
		target, host string
		code         jobspec.Code
		rule         string
	}{
		{"other.org:443", "", jobspec.CodeNetDeniedDomain, "net.allow"},
		{"public.test:22", "", jobspec.CodeNetDeniedPort, "net.allow"},
		{"bad.test.org:443", "", jobspec.CodeNetDeniedDomain, "net.deny bad.test.org:443"},
		{"localhost" + port, "", jobspec.CodeNetDeniedDomain, "net.allow"},
		{"127.0.0.1" + port, "", jobspec.CodeNetDeniedLocal, "floor.net_loopback"},
		{"[::1]" + port, "", jobspec.CodeNetDeniedLocal, "floor.net_loopback"},
		{"169.254.169.254:80", "", jobspec.CodeNetDeniedLocal, "floor.net_metadata"},
		{"rebound.test" + port, "", jobspec.CodeNetDeniedLocal, "floor.net_loopback"},
		{"six.test" + port, "", jobspec.CodeNetDeniedLocal, "floor.net_loopback"},
		{"mapped.test" + port, "", jobspec.CodeNetDeniedLocal, "floor.net_loopback"},
		{"zero.test" + port, "", jobspec.CodeNetDeniedLocal, "floor.net_unspecified"},
		{"both.test" + port, "", jobspec.CodeNetDeniedLocal, "floor.net_loopback"},
		{"meta.test:80", "", jobspec.CodeNetDeniedLocal, "floor.net_metadata"},
		{"private.test:443", "", jobspec.CodeNetDeniedLocal, "floor.net_private"},
		{"db.internal" + port, "", jobspec.CodeNetDeniedLocal, "floor.net_loopback"}, // a private host is not the machine itself
		{"2130706433" + port, "", jobspec.CodeNetDeniedDomain, ruleForm},
		{"0x7f000001" + port, "", jobspec.CodeNetDeniedDomain, ruleForm},
		{"0177.0.0.1" + port, "", jobspec.CodeNetDeniedDomain, ruleForm},
		{"127.1" + port, "", jobspec.CodeNetDeniedDomain, ruleForm},
		{"[::ffff:127.0.0.1]" + port, "", jobspec.CodeNetDeniedDomain, ruleForm},
		{"user@public.test:443", "", jobspec.CodeNetDeniedDomain, ruleForm},
		{"public.test%00.evil:443", "", jobspec.CodeNetDeniedDomain, ruleForm},
		{"b\u00fccher.test:443", "", jobspec.CodeNetDeniedDomain, ruleForm},
		{"public.test", "", jobspec.CodeNetDeniedDomain, ruleForm},
		{"public.test:443", "other.org:443", jobspec.CodeNetDeniedDomain, ruleForm},
		{"public.test:443", "public.test:22", jobspec.CodeNetDeniedDomain, ruleForm},
	} {
		host := c.host
		if host == "" {
			host = c.target
		}
		got := l.raw("CONNECT " + c.target + " HTTP/1.1\r\nHost: " + host + "\r\n\r\n")
		if !strings.HasPrefix(got, "HTTP/1.1 403 Forbidden\r\n") || !strings.Contains(got, "\r\nX-Sbxcron-Code: "+string(c.code)+"\r\n") || !strings.Contains(got, "\r\nX-Sbxcron-Rule: "+c.rule+"\r\n") ||
			!strings.Contains(got, "(rule "+c.rule+")\nhint: ") {
			t.Errorf("%s: %q", c.target, got)
		}
		l.mu.Lock()
		last := l.denied[len(l.denied)-1]
		l.mu.Unlock()
		if last.Reason != c.code || last.Rule != c.rule || last.Target == "" {
			t.Errorf("%s: told %+v", c.target, last)
		}
	}
	if count() != 0 {
		t.Errorf("%d connections arrived", count())
	}
}

// The name is public when it is looked at first and private when it is used: the
// address that is connected to is the one that counts.
func TestANameThatIsReboundIsRefusedWhenItIsUsed(t *testing.T) {
	addr, count := echo(t)
	z := &zone{names: map[string][]string{"moving.test": {"127.0.0.1", "127.0.0.1", "10.0.0.1"}}}
	l := newLab(t, Config{Allow: allow("self moving.test" + portOf(addr))}, z)
	if status, _, _ := l.connect("moving.test" + portOf(addr)); status != 200 {
		t.Fatal(status)
	}
	l.s.rules.allow[0].open = publicOnly
	for range 2 {
		if status, _, _ := l.connect("moving.test" + portOf(addr)); status != 403 {
			t.Error(status)
		}
	}
	if count() != 1 {
		t.Error(count())
	}
	if got := l.denials(); got != "net_denied_local moving.test"+portOf(addr)+", net_denied_local moving.test"+portOf(addr) {
		t.Error(got)
	}
}

func TestOfSeveralAddressesOnlyTheAllowedOnesAreTried(t *testing.T) {
	addr, count := echo(t)
	z := &zone{names: map[string][]string{"two.test": {"169.254.169.254 ::1 127.0.0.1"}}}
	l := newLab(t, Config{Allow: allow("self two.test" + portOf(addr))}, z)
	if status, _, _ := l.connect("two.test" + portOf(addr)); status != 200 || count() != 1 {
		t.Error(status, count())
	}
}

func TestNamesAreLookedUpAsTheyAreWithoutSearchDomains(t *testing.T) {
	asked := make(chan string, 8)
	l := newLab(t, Config{Allow: allow("a.example.org:443", "db:443", "localhost:443")}, nil, func(s *Server) { s.resolver = spy{asked} })
	for target, want := range map[string]string{"a.example.org": "a.example.org.", "db": "db", "localhost": "localhost"} {
		if status, _, _ := l.connect(target + ":443"); status != 502 {
			t.Error(status)
		}
		if got := <-asked; got != want {
			t.Errorf("%s is looked up as %s", target, got)
		}
	}
	if got := l.denials(); got != "" {
		t.Errorf("what is allowed and does not answer is no denial: %s", got)
	}
}

func socks(kind byte, host []byte, port uint16, command byte) string {
	b := append([]byte{5, 1, 0, 5, command, 0, kind}, host...)
	return string(binary.BigEndian.AppendUint16(b, port))
}

func socksNamed(name string, port uint16) string {
	return socks(socksName, append([]byte{byte(len(name))}, name...), port, socksConnect)
}

func TestSocksIsHeldToTheSameRules(t *testing.T) {
	addr, count := echo(t)
	at := net.TCPAddr{}
	if a, err := net.ResolveTCPAddr("tcp", addr); err == nil {
		at = *a
	}
	port := uint16(at.Port)
	l := newLab(t, Config{Allow: allow("private localhost"+portOf(addr), "ok.test:443", "*.ok.test:443")},
		&zone{names: map[string][]string{"localhost": {"127.0.0.1"}, "ok.test": {"10.0.0.1"}}})
	if got := l.raw(socksNamed("LOCALHOST.", port) + "hello"); got != "\x05\x00\x05\x00\x00\x01\x00\x00\x00\x00\x00\x00hello" {
		t.Errorf("%q", got)
	}
	for _, c := range []struct {
		name, send string
		reply      byte
		told       string
	}{
		{"a name that is not listed", socksNamed("evil.org", 443), 2, "net_denied_domain evil.org:443"},
		{"a zero byte in a name", socksNamed("evil.org\x00.ok.test", 443), 2, `net_denied_domain "evil.org\x00.ok.test"`},
		{"a wrong port", socksNamed("ok.test", 22), 2, "net_denied_port ok.test:22"},
		{"an address in place of a name", socksNamed("127.0.0.1", port), 2, "net_denied_local 127.0.0.1" + portOf(addr)},
		{"a number in place of a name", socksNamed("2130706433", port), 2, `net_denied_domain "2130706433"`},
		{"loopback", socks(socksIPv4, []byte{127, 0, 0, 1}, port, 1), 2, "net_denied_local 127.0.0.1" + portOf(addr)},
		{"loopback of IPv6", socks(socksIPv6, net.IPv6loopback, port, 1), 2, "net_denied_local [::1]" + portOf(addr)},
		{"mapped", socks(socksIPv6, net.IPv4(127, 0, 0, 1).To16(), port, 1), 2, `net_denied_domain "::ffff:127.0.0.1"`},
		{"a name that leads inside", socksNamed("ok.test", 443), 2, "net_denied_local ok.test:443"},
		{"bind", socks(socksName, []byte("\x07ok.test"), 443, 2), 7, "net_denied_domain ok.test:443"},
		{"udp", socks(socksName, []byte("\x07ok.test"), 443, 3), 7, "net_denied_domain ok.test:443"},
		{"port 0", socksNamed("ok.test", 0), 2, `net_denied_domain "ok.test"`},
		{"an empty name", socksNamed("", 443), 8, ""},
		{"another kind", socks(9, []byte("x"), 443, 1), 8, ""},
	} {
		before := len(l.tellings())
		got := l.raw(c.send)
		if len(got) < 4 || got[:2] != "\x05\x00" || got[3] != c.reply {
			t.Errorf("%s: %q", c.name, got)
		}
		if now := l.tellings(); c.told != "" && (len(now) != before+1 || now[len(now)-1] != c.told) || c.told == "" && len(now) != before {
			t.Errorf("%s: told %q", c.name, now)
		}
	}
	for _, send := range []string{"\x05\x01\x02", "\x05\x00", "\x04\x01\x00\x50\x7f\x00\x00\x01x\x00"} {
		if got := l.raw(send); strings.Contains(got, "\x05\x00\x05\x00") {
			t.Errorf("%q: %q", send, got)
		}
	}
	if count() != 1 {
		t.Error(count())
	}
}

func (l *lab) tellings() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var all []string
	for _, d := range l.denied {
		all = append(all, string(d.Reason)+" "+d.Target)
	}
	return all
}

func TestAForwardLeadsToItsOneHost(t *testing.T) {
	addr, _ := echo(t)
	l := newLab(t, Config{Forward: []string{"localhost" + portOf(addr), "db.internal" + portOf(addr)}},
		&zone{names: map[string][]string{"localhost": {"127.0.0.1"}, "db.internal": {"169.254.169.254"}}})
	proxy := l.addr
	l.addr = l.serve(func(ln net.Listener) error { return l.s.ServeForward(ln, 0) })
	if got := l.raw("select 1"); got != "select 1" {
		t.Errorf("%q", got)
	}
	l.addr = l.serve(func(ln net.Listener) error { return l.s.ServeForward(ln, 1) })
	if got := l.raw("select 1"); got != "" {
		t.Errorf("%q", got)
	}
	l.addr = proxy // a forward opens nothing for the proxy
	if status, _, _ := l.connect("localhost" + portOf(addr)); status != 403 {
		t.Error(status)
	}
	if err := l.s.ServeForward(nil, 2); err == nil {
		t.Error("a third forward is served")
	}
	if got := l.denials(); got != "net_denied_local db.internal"+portOf(addr)+", net_denied_domain localhost"+portOf(addr) {
		t.Error(got)
	}
}

func TestSlowAndSilentClientsAreEnded(t *testing.T) {
	addr, _ := echo(t)
	l := newLab(t, Config{Allow: allow("private localhost" + portOf(addr))}, nil, func(s *Server) {
		s.times.head, s.times.idle = 300*time.Millisecond, 600*time.Millisecond
	})
	for _, send := range []string{"", "CONNECT loc", "\x05", "\x05\x01\x00\x05", "GET http://localhost/ HTTP/1.1\r\nHost: localhost\r\nX"} {
		c := l.dial()
		io.WriteString(c, send)
		began := time.Now()
		go func() { // a byte now and then does not prolong it
			for range 20 {
				time.Sleep(50 * time.Millisecond)
				if _, err := io.WriteString(c, "a"); err != nil {
					return
				}
			}
		}()
		io.ReadAll(c)
		if took := time.Since(began); took > 3*time.Second {
			t.Errorf("%q was served for %s", send, took)
		}
		c.Close()
	}
	_, rw, _ := l.connect("localhost" + portOf(addr))
	began := time.Now()
	rw.WriteString("x")
	rw.Flush()
	io.ReadAll(rw)
	if took := time.Since(began); took < 400*time.Millisecond || took > 5*time.Second {
		t.Errorf("a silent tunnel was kept for %s", took)
	}
}

func TestBytesAndConnectionsAreBounded(t *testing.T) {
	addr, count := echo(t)
	target := "localhost" + portOf(addr)
	l := newLab(t, Config{Allow: allow("private " + target), Bytes: 100_000, Connections: 2}, nil)
	status, rw, c := l.connect(target)
	if status != 200 {
		t.Fatal(status)
	}
	go c.Write(make([]byte, 300_000))
	io.ReadAll(rw)
	if got := l.raw("CONNECT " + target + " HTTP/1.1\r\nHost: " + target + "\r\n\r\n"); !strings.Contains(got, "X-Sbxcron-Code: limit_net_bytes") {
		t.Errorf("%q", got)
	}
	denied, used := l.told()
	total := int64(0)
	for _, u := range used {
		total += u.In + u.Out
	}
	if total != 100_000 || !hasCode(denied, jobspec.CodeLimitNetBytes) {
		t.Errorf("%d bytes, %v", total, denied)
	}
	if count() != 1 {
		t.Error(count())
	}

	l = newLab(t, Config{Allow: allow("private " + target), Connections: 2}, nil)
	for i, want := range []int{200, 200, 403, 403} {
		if status, _, _ := l.connect(target); status != want {
			t.Errorf("connection %d: %d", i, status)
		}
	}
	if got := l.denials(); got != "limit_connections "+target+", limit_connections "+target {
		t.Error(got)
	}
}

func TestRequestsForOneHostAreBounded(t *testing.T) {
	b := newBudget(Config{})
	at := Target{Name: "a.org", Port: 443}
	for range maxPerHost {
		if no := b.request(at); no != nil {
			t.Fatal(no)
		}
	}
	if no := b.request(at); codeOf(no) != jobspec.CodeLimitConnections || no.Rule != "floor.net_per_host" {
		t.Error(no)
	}
	if no := b.request(Target{Name: "b.org", Port: 443}); no != nil {
		t.Error(no)
	}
}

func TestCloseEndsEverythingAndTellsIt(t *testing.T) {
	addr, _ := echo(t)
	l := newLab(t, Config{Allow: allow("private localhost" + portOf(addr))}, nil)
	var all []net.Conn
	for range 20 {
		status, _, c := l.connect("localhost" + portOf(addr))
		if status != 200 {
			t.Fatal(status)
		}
		all = append(all, c)
	}
	if _, used := l.told(); len(used) != 20 {
		t.Errorf("%d of 20 connections were told", len(used))
	}
	for _, c := range all {
		if _, err := c.Read(make([]byte, 1)); err == nil {
			t.Error("a tunnel is open")
		}
	}
}
