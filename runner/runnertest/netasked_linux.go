package runnertest

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/sbxcron/sbxcron/jobspec/record"
)

// askedCases are about what a job asks of its proxy, beside runner/egress, which
// has every form of it: here it is the proxy of a run, and the record is looked at.
func askedCases() []Case {
	return []Case{
		{"N16 N18 no spelling of a host leads to the machine itself", true, oddSpellings},
		{"N22 nobody else of the machine reaches the proxy of a run", false, nobodyElse},
		{"an upstream connects for a run, and the record says so", false, behindUpstream},
	}
}

// spellings asks the proxy for each host in one way, and prints what was answered
// with anything but a refusal.
const spellings = `
import socket, sys
port, way = sys.argv[1:]
def ask(data):
    s = socket.create_connection(("127.0.0.1", 3128), 10); s.sendall(data)
    got = b""
    while True:
        try: more = s.recv(4096)
        except ConnectionResetError: more = b""
        if not more: return got
        got += more
hosts = [h.encode("utf-8") for h in [
    "127.0.0.1", "2130706433", "0x7f000001", "0177.0.0.1", "127.1", "0", "0.0.0.0", "[::1]", "[::]", "[::ffff:127.0.0.1]", "[::127.0.0.1]", "[64:ff9b::7f00:1]", "[fe80::1%lo]",
    "169.254.169.254", "[fd00:ec2::254]", "localhost", "LOCALHOST", "localhost.", "localhost.good.example", "evil\0.good.example", "good.example@127.0.0.1", "ok%00.good.example",
    "127.0.0.1.", "127.0.0.1#.good.example", "127.0.0.1/.good.example", "127\u30020\u30020\u30021", "b\u00fccher.good.example", "good.example:22", "good.example"]]
for h in hosts if way != "socks" else []:
    where = h if h.endswith(b":22") else h + b":" + port.encode()
    form = b"CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n" if way == "connect" else b"GET http://%s/ HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n"
    status = ask(form % (where, where)).split(b"\r\n")[0]
    if status.split(b" ")[1:2] not in ([b"403"], [b"400"], [b"502"]): print(h, status)
def socks(kind, host):
    s = socket.create_connection(("127.0.0.1", 3128), 10); s.sendall(b"\5\1\0")
    s.recv(2)
    s.sendall(b"\5\1\0" + kind + host + int(port).to_bytes(2, "big"))
    got = s.recv(10)
    if got[1:2] == b"\0": print(host, got)
if way == "socks":
    for a in bytes([127, 0, 0, 1]), bytes(4), bytes([169, 254, 169, 254]): socks(b"\1", a)
    for a in bytes(15) + b"\1", bytes(10) + b"\xff\xff\x7f\0\0\1", bytes(16): socks(b"\4", a)
    for h in hosts: socks(b"\3", bytes([len(h)]) + h)
print("asked", len(hosts))
`

// oddSpellings has rules that allow the names themselves: what is left to say no
// is how a host is written and which address it leads to. Each way is a run, as
// the same refusal again and again would end one.
func oddSpellings(l *Lab) error {
	if _, err := tool("python3"); err != nil {
		return err
	}
	w := newWeb(false)
	defer w.Close()
	for _, way := range []string{"connect", "get", "socks"} {
		j := l.python(spellings)
		j.argv = append(j.argv, w.port[1:], way)
		j.net = &Network{proxy: true, allow: []string{"*.good.example" + w.port, w.host()}}
		r, err := l.run(j)
		if err != nil {
			return err
		}
		if r.Out != "asked 29\n" || w.count() != 0 || len(r.End.Connections) != 0 || r.End.Outcome != record.OutcomeDenied {
			return fmt.Errorf("%s ended as %s, %v: %s%s; %d requests arrived, connections %+v", way, r.End.Outcome, r.End.Reasons, r.Out, r.Err, w.count(), r.End.Connections)
		}
		told := denialsOf(r)
		for _, want := range []string{"net_denied_local 127.0.0.1" + w.port, "net_denied_local " + w.host() + " x3", "net_denied_local 169.254.169.254" + w.port} {
			if !strings.Contains(told, want) {
				return fmt.Errorf("%s: %q is not told in %s", way, want, told)
			}
		}
		if i := slices.IndexFunc(r.End.Denials, func(d record.Denial) bool { return d.Rule == "" }); i >= 0 {
			return fmt.Errorf("%s: no rule: %+v", way, r.End.Denials[i])
		}
	}
	return nil
}

// nobodyElse tries the proxy's port from outside while the run lasts.
func nobodyElse(l *Lab) error {
	if _, err := tool("curl"); err != nil {
		return err
	}
	var reached atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, _ *http.Request) {
		for _, at := range []string{"127.0.0.1:3128", "[::1]:3128"} {
			if c, err := net.DialTimeout("tcp", at, time.Second); err == nil {
				c.Close()
				reached.Add(1)
			}
		}
		io.WriteString(out, "tried\n")
	}))
	defer s.Close()
	host := "localhost" + s.URL[strings.LastIndex(s.URL, ":"):]
	out, err := l.succeed(shell("curl -sS http://" + host + "/").reaching(host))
	if err != nil {
		return err
	}
	if reached.Load() != 0 {
		return fmt.Errorf("the port of the proxy was reached from the host")
	}
	return wantText("answer", out, "tried\n")
}

// behindUpstream has an upstream that knows a name which nobody here can look up.
func behindUpstream(l *Lab) error {
	if _, err := tool("curl"); err != nil {
		return err
	}
	w := newWeb(true)
	defer w.Close()
	var asked atomic.Value
	up := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		asked.Store(r.Method + " " + r.Host)
		there, err := net.Dial("tcp", "127.0.0.1"+w.port)
		if err != nil {
			out.WriteHeader(http.StatusBadGateway)
			return
		}
		defer there.Close()
		out.WriteHeader(http.StatusOK)
		here, _, err := out.(http.Hijacker).Hijack()
		if err != nil {
			return
		}
		defer here.Close()
		go io.Copy(there, here)
		io.Copy(here, there)
	}))
	defer up.Close()
	at := "http://localhost" + up.URL[strings.LastIndex(up.URL, ":"):]
	const host = "far.example.org:443"
	j := shell("curl -sS -k --max-time 10 https://" + host + "/up; curl -sS -o /dev/null https://near.example.org/; exit 0")
	j.net = &Network{proxy: true, allow: []string{host}, upstream: at}
	r, err := l.wantNetDenied(j, "net_denied_domain near.example.org:443 x1")
	if err != nil {
		return err
	}
	if r.Out != "GET /up 0\n" || asked.Load() != "CONNECT "+host || w.count() != 1 {
		return fmt.Errorf("%q%q, the upstream was asked for %v", r.Out, r.Err, asked.Load())
	}
	if len(r.End.Connections) != 1 {
		return fmt.Errorf("connections %+v", r.End.Connections)
	}
	if c := r.End.Connections[0]; c.Upstream != at || c.Address != "" || c.Host != "far.example.org" || c.Rule != "net.allow "+host || c.BytesIn == 0 {
		return fmt.Errorf("recorded %+v", c)
	}
	return nil
}
