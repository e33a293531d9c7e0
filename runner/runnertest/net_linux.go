package runnertest

import (
	"fmt"
	"net"
	"slices"
	"strings"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/record"
)

// Network is what a job may reach.
type Network struct {
	proxy                bool
	allow, deny, forward []string
	private              []string // those of allow that policy and spec name as private
	local                []string // paths of sockets
	connections, bytes   int64
	upstream             string // of the policy
}

func (n *Network) mode() jobspec.Net {
	if n == nil || !n.proxy {
		return jobspec.NetNone
	}
	return jobspec.NetProxy
}

func (n *Network) grant() jobspec.NetGrant {
	if n == nil {
		return jobspec.NetGrant{}
	}
	return jobspec.NetGrant{Private: n.private, Upstream: n.upstream}
}

func (n *Network) into(s *jobspec.Spec) {
	if n == nil {
		return
	}
	s.NetAllow, s.NetDeny, s.Forward, s.Sockets = n.allow, n.deny, n.forward, n.local
	s.Limits.Connections, s.Limits.NetBytes = n.connections, n.bytes
}

func (n *Network) sockets() []string {
	if n == nil {
		return nil
	}
	return n.local
}

// reaching is a job whose proxy leads to these hosts of the machine itself.
func (j Job) reaching(private ...string) Job {
	j.net = &Network{proxy: true, allow: private, private: private}
	return j
}

// NetCases are the cases about jobs with a network. A backend without a network
// namespace has none of them.
func NetCases() []Case {
	return append(askedCases(), []Case{
		{"curl reaches an allowed host by CONNECT, absolute form and SOCKS5", false, curlThroughProxy},
		{"a host that is not allowed is denied with its rule", true, hostNotAllowed},
		{"an empty list allows nothing", true, emptyList},
		{"no way leads around the proxy", true, aroundTheProxy},
		{"sockets that a proxy does not need do not exist", false, oddSockets},
		{"a forward leads to its one host", false, forwardToHost},
		{"connections and bytes of a run are bounded", true, netLimits},
		{"a socket of the host is opened for a run that names it", false, namedSocket},
		{"other sockets stay closed to a run that names one", true, otherSockets},
		{"a path that changes while it is judged leads to no other socket", true, movingPath},
		{"an address that changes its family while it is judged leads to no other socket", true, movingFamily},
		{"a connect that waits ends with its run", true, waitingConnect},
		{"no attempt of the list of escapes gets past the proxy", false, attemptsBehind},
	}...)
}

func curlThroughProxy(l *Lab) error {
	if _, err := tool("curl"); err != nil {
		return err
	}
	plain, secure := newWeb(false), newWeb(true)
	defer plain.Close()
	defer secure.Close()
	r, err := l.run(shell(fmt.Sprintf(`set -e
curl -sS http://%[1]s/absolute
curl -sS -k https://%[2]s/connect
curl -sS -d @/usr/share/common-licenses/GPL-3 http://%[1]s/post
curl -sS --proxy socks5h://127.0.0.1:3128 http://%[1]s/socks
curl -sS --proxytunnel http://%[1]s/tunnel
env | grep -i '^no_proxy=' && exit 9
cat /etc/resolv.conf
`, plain.host(), secure.host())).reaching(plain.host(), secure.host()))
	if err != nil {
		return err
	}
	if r.End.Outcome != record.OutcomeSucceeded || plain.count() != 4 || secure.count() != 1 {
		return fmt.Errorf("ended as %s, %v, %v; %d and %d requests; %s%s", r.End.Outcome, r.End.Reasons, denialsOf(r), plain.count(), secure.count(), r.Out, r.Err)
	}
	for _, want := range []string{"GET /absolute 0\n", "GET /connect 0\n", "POST /post ", "GET /socks 0\n", "GET /tunnel 0\n", "resolved by the proxy"} {
		if !strings.Contains(r.Out, want) {
			return fmt.Errorf("%q is missing in %q", want, r.Out)
		}
	}
	for _, layer := range []string{"proxy", "netns", "seccomp"} {
		if !slices.Contains(r.Facts.Layers, layer) {
			return fmt.Errorf("layers measured: %v", r.Facts.Layers)
		}
	}
	return reached(r, map[string]int64{plain.host(): 4, secure.host(): 1})
}

// reached compares the record of connections with their number by host. The
// first request and the posted one may have shared a connection, or not.
func reached(r Result, want map[string]int64) error {
	got := map[string]int64{}
	for _, c := range r.End.Connections {
		got[fmt.Sprintf("%s:%d", c.Host, c.Port)] += c.Count
		if c.Address != "127.0.0.1" && c.Address != "::1" || c.Rule != fmt.Sprintf("net.allow %s:%d", c.Host, c.Port) || c.Upstream != "" || c.BytesIn <= 0 || c.BytesOut <= 0 {
			return fmt.Errorf("recorded connection %+v", c)
		}
	}
	for host, n := range want {
		if got[host] < 1 || got[host] > n {
			return fmt.Errorf("%d connections to %s, at most %d", got[host], host, n)
		}
	}
	if len(got) != len(want) {
		return fmt.Errorf("recorded %v", got)
	}
	return nil
}

func hostNotAllowed(l *Lab) error {
	if _, err := tool("curl"); err != nil {
		return err
	}
	w := newWeb(false)
	defer w.Close()
	j := shell(fmt.Sprintf(`curl -sS -D - http://%[1]s/x; curl -sS -o /dev/null http://127.0.0.1%[2]s/y; curl -sS https://evil.example.org/; curl -sS --proxy socks5h://127.0.0.1:3128 http://127.0.0.1%[2]s/; exit 0`, w.host(), w.port)).reaching("localhost:1")
	r, err := l.wantNetDenied(j, "net_denied_port "+w.host()+" x1", "net_denied_local 127.0.0.1"+w.port+" x2", "net_denied_domain evil.example.org:443 x1")
	if err != nil {
		return err
	}
	if w.count() != 0 || !strings.Contains(r.Out, "403 Forbidden") || !strings.Contains(r.Out, "X-Sbxcron-Rule: net.allow\r\n") || !strings.Contains(r.Out, "sbxcron: net_denied_port: "+w.host()) {
		return fmt.Errorf("%d requests arrived; %q", w.count(), r.Out)
	}
	for _, d := range r.End.Denials {
		if d.Rule == "" || d.Certainty != "observed" {
			return fmt.Errorf("denial %+v", d)
		}
	}
	if len(r.End.Connections) != 0 {
		return fmt.Errorf("connections %+v", r.End.Connections)
	}
	return nil
}

func emptyList(l *Lab) error {
	if _, err := tool("curl"); err != nil {
		return err
	}
	w := newWeb(false)
	defer w.Close()
	_, err := l.wantNetDenied(shell("curl -sS -o /dev/null http://"+w.host()+"/; exit 0").reaching(), "net_denied_domain "+w.host()+" x1")
	if err == nil && w.count() != 0 {
		err = fmt.Errorf("%d requests arrived", w.count())
	}
	return err
}

// aroundTheProxy offers listeners of the host on loopback, TCP and UDP, and asks
// for addresses that only a route would lead to.
func aroundTheProxy(l *Lab) error {
	if _, err := tool("python3"); err != nil {
		return err
	}
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer tcp.Close()
	arrived := make(chan string, 16)
	go func() {
		for {
			c, err := tcp.Accept()
			if err != nil {
				return
			}
			c.Close()
			arrived <- "tcp"
		}
	}()
	udp, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer udp.Close()
	go func() {
		for {
			if _, _, err := udp.ReadFrom(make([]byte, 16)); err != nil {
				return
			}
			arrived <- "udp"
		}
	}()
	tcpPort, udpPort := tcp.Addr().(*net.TCPAddr).Port, udp.LocalAddr().(*net.UDPAddr).Port
	r, err := l.run(l.python(fmt.Sprintf(`
import socket, errno
def t(name, f):
    try: print(name, "OPEN", f())
    except OSError as e: print(name, errno.errorcode.get(e.errno, e))
def con(host, port, kind=socket.SOCK_STREAM, family=socket.AF_INET):
    s = socket.socket(family, kind); s.settimeout(2); s.connect((host, port))
def udp(host, port):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.sendto(b"x", (host, port))
def tfo(host, port):
    s = socket.socket(); s.sendto(b"x", 0x20000000, (host, port))
def bind(port):
    s = socket.socket(); s.bind(("127.0.0.1", port))
t("host", lambda: con("127.0.0.1", %[1]d))
t("metadata", lambda: con("169.254.169.254", 80))
t("public", lambda: con("192.0.2.1", 443))
t("six", lambda: con("2001:db8::1", 443, family=socket.AF_INET6))
t("squat", lambda: bind(3128))
t("tfo", lambda: tfo("127.0.0.1", %[1]d))
try: udp("127.0.0.1", %[2]d)
except OSError: pass
t("udp_out", lambda: udp("192.0.2.1", 53))
t("dns", lambda: socket.getaddrinfo("example.org", 443))
`, tcpPort, udpPort)).reaching("localhost:1"))
	if err != nil {
		return err
	}
	if strings.Contains(r.Out, "OPEN") || !strings.Contains(r.Out, "udp_out ENETUNREACH") || !strings.Contains(r.Out, "host ") || !strings.Contains(r.Out, "dns ") {
		return fmt.Errorf("answers: %s%s, %v", r.Out, r.Err, r.End.Reasons)
	}
	select {
	case what := <-arrived:
		return fmt.Errorf("%s arrived at the host", what)
	default:
	}
	for _, want := range []string{fmt.Sprintf("net_denied_direct 127.0.0.1:%d", tcpPort), "net_denied_direct 169.254.169.254:80", "net_denied_direct 192.0.2.1:443", "net_denied_direct [2001:db8::1]:443"} {
		if !slices.ContainsFunc(r.End.Denials, func(d record.Denial) bool { return string(d.Code)+" "+d.Target == want }) {
			return fmt.Errorf("%q is not among %v", want, r.End.Denials)
		}
	}
	return nil
}

// python is a job of an embedded program for python.
func (l *Lab) python(body string) Job {
	path, err := tool("python3")
	must(err)
	return Job{tier: jobspec.Scratch, argv: []string{path}, body: body}
}

func oddSockets(l *Lab) error {
	if _, err := tool("python3"); err != nil {
		return err
	}
	r, err := l.run(l.python(`
import socket, errno
for name, args in {"packet": (17, 3, 0), "raw": (2, 3, 1), "raw6": (10, 3, 58), "netlink": (16, 3, 0), "vsock": (40, 1, 0), "mptcp": (2, 1, 262), "unix": (1, 1, 0), "sctp": (2, 1, 132), "alg": (38, 5, 0), "ping": (2, 2, 1)}.items():
    try: socket.socket(*args); print(name, "OPEN")
    except OSError as e: print(name, errno.errorcode[e.errno])
for name, args in {"tcp": (2, 1, 0), "tcp6": (10, 1, 6), "udp": (2, 2, 17)}.items():
    socket.socket(*args)
`).reaching("localhost:1"))
	if err != nil {
		return err
	}
	if strings.Count(r.Out, " EPERM\n") != 10 || r.Err != "" {
		return fmt.Errorf("answers: %s%s", r.Out, r.Err)
	}
	return nil
}

func forwardToHost(l *Lab) error {
	if _, err := tool("curl"); err != nil {
		return err
	}
	w := newWeb(false)
	defer w.Close()
	j := shell("curl -sS --noproxy '*' http://127.0.0.1" + w.port + "/forwarded; curl -sS -o /dev/null -w '%{http_code}' http://" + w.host() + "/proxied")
	j.net = &Network{proxy: true, forward: []string{w.host()}}
	r, err := l.wantNetDenied(j, "net_denied_domain "+w.host()+" x1")
	if err != nil {
		return err
	}
	if r.Out != "GET /forwarded 0\n403" || w.count() != 1 {
		return fmt.Errorf("%q, %d requests", r.Out, w.count())
	}
	if len(r.End.Connections) != 1 || r.End.Connections[0].Count != 1 || r.End.Connections[0].Rule != "net.forward "+w.host() || r.End.Connections[0].BytesOut == 0 {
		return fmt.Errorf("%+v", r.End.Connections)
	}
	return nil
}

func netLimits(l *Lab) error {
	if _, err := tool("curl"); err != nil {
		return err
	}
	w := newWeb(false)
	defer w.Close()
	j := shell("for i in 1 2 3; do curl -sS --proxytunnel -o /dev/null http://" + w.host() + "/$i; done; exit 0").reaching(w.host())
	j.net.connections = 2
	if _, err := l.wantNetDenied(j, "limit_connections "+w.host()+" x1"); err != nil {
		return err
	}
	if w.count() != 2 {
		return fmt.Errorf("%d requests", w.count())
	}
	j = shell("head -c 1000000 /dev/zero > big; curl -sS --max-time 5 --data-binary @big -o /dev/null http://" + w.host() + "/; exit 0").reaching(w.host())
	j.net.bytes = 100_000
	r, err := l.wantNetDenied(j, "limit_net_bytes "+w.host()+" x1")
	if err != nil {
		return err
	}
	total := int64(0)
	for _, c := range r.End.Connections {
		total += c.BytesIn + c.BytesOut
	}
	if total != 100_000 {
		return fmt.Errorf("%d bytes were moved, 100000 are allowed", total)
	}
	return nil
}

// wantNetDenied runs a job that must end as denied, with these denials and no
// other that nobody expected.
func (l *Lab) wantNetDenied(j Job, want ...string) (Result, error) {
	r, err := l.run(j)
	if err != nil {
		return r, err
	}
	if r.End.Outcome != record.OutcomeDenied {
		return r, fmt.Errorf("ended as %s, %v, with %q; %s%s", r.End.Outcome, r.End.Reasons, denialsOf(r), r.Out, r.Err)
	}
	var got []string
	for _, d := range r.End.Denials {
		if !d.Expected {
			got = append(got, fmt.Sprintf("%s %s x%d", d.Code, d.Target, d.Count))
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	return r, wantText("list of denials", strings.Join(got, "\n"), strings.Join(want, "\n"))
}
