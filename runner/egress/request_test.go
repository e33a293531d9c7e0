package egress

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/sbxcron/sbxcron/jobspec"
)

// site is a web server that says what it was asked.
func site(t *testing.T) (port string) {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%s %s %s %d %q %v", r.Method, r.Host, r.RequestURI, len(body), r.Header.Get("X-Kept"), r.TransferEncoding)
		for _, gone := range []string{"Proxy-Authorization", "Connection", "X-Gone", "Te", "Upgrade", "Via", "X-Forwarded-For", "Accept-Encoding", "Keep-Alive"} {
			if r.Header.Get(gone) != "" {
				fmt.Fprintf(w, " GOT %s", gone)
			}
		}
	})
	mux.HandleFunc("/go/", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, r.URL.Query().Get("to"), http.StatusFound)
	})
	mux.HandleFunc("/big", func(w http.ResponseWriter, r *http.Request) { w.Write(make([]byte, 1<<20)) })
	mux.HandleFunc("/early", func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusTeapot) })
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return portOf(s.URL)
}

func (l *lab) client() *http.Client {
	return &http.Client{Transport: &http.Transport{Proxy: http.ProxyURL(&url.URL{Scheme: "http", Host: l.addr})}}
}

func (l *lab) get(url string) (int, string) {
	l.t.Helper()
	resp, err := l.client().Get(url)
	if err != nil {
		l.t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		l.t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

// named are names of loopback that are no "localhost", which Go's own client
// never asks a proxy for.
func named() *zone {
	return &zone{names: map[string][]string{"a.test": {"127.0.0.1"}, "b.test": {"127.0.0.1"}, "up.test": {"127.0.0.1"}, "inner.test": {"10.9.9.9"}}}
}

func TestRequestsInAbsoluteFormAreRebuilt(t *testing.T) {
	port := site(t)
	l := newLab(t, Config{Allow: []Opening{{Rule: "self a.test" + port}}}, named())
	got := l.raw("GET http://A.test." + port + "/x?y=1&z=%20 HTTP/1.1\r\nHost: a.test" + port + "\r\nX-Kept: kept\r\nProxy-Authorization: Basic eDp5\r\nConnection: close, X-Gone\r\nX-Gone: 1\r\nTE: trailers\r\nUpgrade: websocket\r\nKeep-Alive: 1\r\n\r\n")
	if !strings.HasPrefix(got, "HTTP/1.1 200 OK\r\n") || !strings.HasSuffix(got, "\r\n\r\nGET a.test"+port+` /x?y=1&z=%20 0 "kept" []`) {
		t.Errorf("%q", got)
	}
	if strings.Contains(got, "GOT") {
		t.Error("a field of the hop went on")
	}
	if got := l.raw("OPTIONS http://a.test" + port + "//b.test/evil HTTP/1.1\r\nHost: a.test" + port + "\r\n\r\n"); !strings.Contains(got, "a.test"+port+" //b.test/evil") && !strings.Contains(got, "Location: /b.test/evil") {
		t.Errorf("%q", got)
	}
	status, body := l.get("http://a.test" + port + "/big")
	if status != 200 || len(body) != 1<<20 {
		t.Error(status, len(body))
	}
}

func TestBodiesAreSentOnWhateverTheirForm(t *testing.T) {
	port := site(t)
	l := newLab(t, Config{Allow: []Opening{{Rule: "self a.test" + port}}}, named())
	for _, body := range []io.Reader{strings.NewReader("twelve bytes"), struct{ io.Reader }{strings.NewReader("twelve bytes")}, bytes.NewReader(make([]byte, 3<<20))} {
		req, _ := http.NewRequest("POST", "http://a.test"+port+"/", body)
		req.Header.Set("Expect", "100-continue")
		resp, err := l.client().Do(req)
		if err != nil {
			t.Fatal(err)
		}
		got, _ := io.ReadAll(resp.Body)
		if resp.StatusCode != 200 || !strings.Contains(string(got), " 12 ") && !strings.Contains(string(got), " 3145728 ") {
			t.Error(resp.StatusCode, string(got))
		}
	}
	req, _ := http.NewRequest("PUT", "http://a.test"+port+"/early", bytes.NewReader(make([]byte, 8<<20)))
	if resp, err := l.client().Do(req); err == nil && resp.StatusCode != http.StatusTeapot {
		t.Error(resp.StatusCode)
	}
}

// One connection, several requests: each is decided on its own.
func TestOnAKeptConnectionEachRequestIsDecided(t *testing.T) {
	port := site(t)
	l := newLab(t, Config{Allow: []Opening{{Rule: "self a.test" + port}}}, named())
	c := l.dial()
	defer c.Close()
	r := bufio.NewReader(c)
	ask := func(host, length, body string) (int, string) {
		fmt.Fprintf(c, "POST http://%s%s/ HTTP/1.1\r\nHost: %s%s\r\n%s\r\n%s", host, port, host, port, length, body)
		resp, err := http.ReadResponse(r, nil)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(resp.Body)
		return resp.StatusCode, string(text)
	}
	for range 3 {
		if status, text := ask("a.test", "Content-Length: 3\r\n", "abc"); status != 200 || !strings.Contains(text, " 3 ") {
			t.Fatal(status, text)
		}
		if status, text := ask("a.test", "Transfer-Encoding: chunked\r\n", "3\r\nabc\r\n0\r\n\r\n"); status != 200 || !strings.Contains(text, " 3 ") {
			t.Fatal(status, text)
		}
	}
	if status, text := ask("b.test", "Content-Length: 0\r\n", ""); status != 403 || !strings.Contains(text, "net_denied_domain") {
		t.Error(status, text)
	}
	if got := l.denials(); got != "net_denied_domain b.test"+port {
		t.Error(got)
	}
}

func TestMessagesWithMoreThanOneReadingAreRefused(t *testing.T) {
	port := site(t)
	l := newLab(t, Config{Allow: []Opening{{Rule: "self a.test" + port}}}, named())
	url, host := "http://a.test"+port+"/", "Host: a.test"+port+"\r\n"
	for name, text := range map[string]string{
		"length and chunks":           "POST " + url + " HTTP/1.1\r\n" + host + "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET",
		"two lengths":                 "POST " + url + " HTTP/1.1\r\n" + host + "Content-Length: 3\r\nContent-Length: 4\r\n\r\nabcd",
		"two equal lengths":           "POST " + url + " HTTP/1.1\r\n" + host + "Content-Length: 3\r\ncontent-length: 3\r\n\r\nabc",
		"a list of lengths":           "POST " + url + " HTTP/1.1\r\n" + host + "Content-Length: 3, 3\r\n\r\nabc",
		"a signed length":             "POST " + url + " HTTP/1.1\r\n" + host + "Content-Length: +3\r\n\r\nabc",
		"a hex length":                "POST " + url + " HTTP/1.1\r\n" + host + "Content-Length: 0x3\r\n\r\nabc",
		"an endless length":           "POST " + url + " HTTP/1.1\r\n" + host + "Content-Length: 99999999999999999999\r\n\r\nabc",
		"two hosts":                   "GET " + url + " HTTP/1.1\r\n" + host + "Host: b.test\r\n\r\n",
		"no host":                     "GET " + url + " HTTP/1.1\r\n\r\n",
		"another host":                "GET " + url + " HTTP/1.1\r\nHost: b.test" + port + "\r\n\r\n",
		"the host with another port":  "GET " + url + " HTTP/1.1\r\nHost: a.test:1\r\n\r\n",
		"a host that is a list":       "GET " + url + " HTTP/1.1\r\nHost: a.test" + port + ", b.test\r\n\r\n",
		"a folded field":              "GET " + url + " HTTP/1.1\r\n" + host + "X: a\r\n b\r\n\r\n",
		"a folded host":               "GET " + url + " HTTP/1.1\r\nHost:\r\n a.test" + port + "\r\n\r\n",
		"a bare line end":             "GET " + url + " HTTP/1.1\n" + host + "\r\n",
		"a bare line end in fields":   "GET " + url + " HTTP/1.1\r\n" + host + "X: a\nY: b\r\n\r\n",
		"a bare CR":                   "GET " + url + " HTTP/1.1\r\n" + host + "X: a\rHost: b.test\r\n\r\n",
		"a zero byte":                 "GET " + url + " HTTP/1.1\r\n" + host + "X: a\x00b\r\n\r\n",
		"a space before the colon":    "GET " + url + " HTTP/1.1\r\n" + host + "Content-Length : 3\r\n\r\nabc",
		"a space before a name":       "GET " + url + " HTTP/1.1\r\n Host: b.test\r\n" + host + "\r\n",
		"chunked in another spelling": "POST " + url + " HTTP/1.1\r\n" + host + "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
		"chunked and more":            "POST " + url + " HTTP/1.1\r\n" + host + "Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n",
		"chunked twice":               "POST " + url + " HTTP/1.1\r\n" + host + "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n",
		"chunks of HTTP/1.0":          "POST " + url + " HTTP/1.0\r\n" + host + "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		"HTTP/2":                      "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
		"HTTP/1.2":                    "GET " + url + " HTTP/1.2\r\n" + host + "\r\n",
		"HTTP/0.9":                    "GET " + url + "\r\n\r\n",
		"two spaces":                  "GET  " + url + " HTTP/1.1\r\n" + host + "\r\n",
		"a tab":                       "GET\t" + url + " HTTP/1.1\r\n" + host + "\r\n",
		"a path instead of a URL":     "GET / HTTP/1.1\r\n" + host + "\r\n",
		"a star":                      "OPTIONS * HTTP/1.1\r\n" + host + "\r\n",
		"https in absolute form":      "GET https://a.test" + port + "/ HTTP/1.1\r\n" + host + "\r\n",
		"another scheme":              "GET ftp://a.test" + port + "/ HTTP/1.1\r\n" + host + "\r\n",
		"user information":            "GET http://b.test@a.test" + port + "/ HTTP/1.1\r\n" + host + "\r\n",
		"a fragment":                  "GET " + url + "#x HTTP/1.1\r\n" + host + "\r\n",
		"a backslash":                 "GET http://a.test" + port + "\\@b.test/ HTTP/1.1\r\n" + host + "\r\n",
		"a broken escape":             "GET " + url + "%zz HTTP/1.1\r\n" + host + "\r\n",
		"a path beyond ASCII":         "GET " + url + "\u00e4 HTTP/1.1\r\n" + host + "\r\n",
		"CONNECT with a body":         "CONNECT a.test" + port + " HTTP/1.1\r\n" + host + "Content-Length: 5\r\n\r\nhello",
		"a long line":                 "GET " + url + " HTTP/1.1\r\n" + host + "X: " + strings.Repeat("a", headBuffer) + "\r\n\r\n",
		"a long head":                 "GET " + url + " HTTP/1.1\r\n" + host + strings.Repeat("X: "+strings.Repeat("a", 8000)+"\r\n", 12) + "\r\n",
		"many fields":                 "GET " + url + " HTTP/1.1\r\n" + host + strings.Repeat("X: a\r\n", maxFields) + "\r\n",
		"another expectation":         "POST " + url + " HTTP/1.1\r\n" + host + "Expect: 200-ok\r\nContent-Length: 3\r\n\r\nabc",
	} {
		before := len(l.tellings())
		got := l.raw(text)
		refused := strings.HasPrefix(got, "HTTP/1.1 400 ") || strings.HasPrefix(got, "HTTP/1.1 403 ")
		if name == "another expectation" {
			refused, before = strings.HasPrefix(got, "HTTP/1.1 417 "), before-1
		}
		if !refused || strings.Contains(got, "200 OK") {
			t.Errorf("%s: %q", name, got)
		}
		if now := l.tellings(); len(now) != before+1 {
			t.Errorf("%s: told %q", name, now[max(before, 0):])
		}
	}
	if _, used := l.told(); len(used) != 0 {
		t.Errorf("%d requests went on", len(used))
	}
}

// A second request that hides behind a body of the first is one more request,
// and decided as such.
func TestWhatComesBehindABodyIsDecidedToo(t *testing.T) {
	port := site(t)
	l := newLab(t, Config{Allow: []Opening{{Rule: "self a.test" + port}}}, named())
	host := "Host: a.test" + port + "\r\n"
	hidden := "GET http://b.test" + port + "/ HTTP/1.1\r\nHost: b.test" + port + "\r\n\r\n"
	for _, text := range []string{
		"POST http://a.test" + port + "/ HTTP/1.1\r\n" + host + "Content-Length: 3\r\n\r\nabc" + hidden,
		"POST http://a.test" + port + "/ HTTP/1.1\r\n" + host + "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + hidden,
		"GET http://a.test" + port + "/ HTTP/1.1\r\n" + host + "\r\n" + hidden,
	} {
		before := len(l.tellings())
		got := l.raw(text)
		if strings.Count(got, "HTTP/1.1 200 OK") != 1 || strings.Count(got, "HTTP/1.1 403 Forbidden") != 1 {
			t.Errorf("%q", got)
		}
		if now := l.tellings(); len(now) != before+1 || now[before] != "net_denied_domain b.test"+port {
			t.Errorf("told %q", now[before:])
		}
	}
	got := l.raw("POST http://a.test" + port + "/ HTTP/1.1\r\n" + host + "Transfer-Encoding: chunked\r\n\r\n0\r\nHost: b.test\r\n\r\n" + hidden)
	if strings.Count(got, "HTTP/1.1") != 1 {
		t.Errorf("fields behind chunks: %q", got)
	}
}

func TestEachHopOfARedirectIsDecided(t *testing.T) {
	port := site(t)
	l := newLab(t, Config{Allow: []Opening{{Rule: "self a.test" + port}, {Rule: "self b.test" + port}, {Rule: "inner.test:80"}}}, named())
	if status, body := l.get("http://a.test" + port + "/go/?to=http://b.test" + port + "/there"); status != 200 || !strings.Contains(body, "/there") {
		t.Error(status, body)
	}
	for to, want := range map[string]string{
		"http://evil.test/":        "net_denied_redirect evil.test:80",
		"http://b.test:1/":         "net_denied_redirect b.test:1",
		"http://inner.test/":       "net_denied_local inner.test:80",
		"http://169.254.169.254/":  "net_denied_local 169.254.169.254:80",
		"http://[::ffff:7f00:1]/x": `net_denied_domain "http://[::ffff:7f00:1]/x"`,
	} {
		before := len(l.tellings())
		if status, body := l.get("http://a.test" + port + "/go/?to=" + to); status != 403 {
			t.Error(to, status, body)
		}
		if now := l.tellings(); len(now) != before+1 || now[before] != want {
			t.Errorf("%s: told %q", to, now[before:])
		}
	}
}

// The upstream connects for us; names are decided here, and private hosts are
// never asked of it.
func TestAnUpstreamConnectsForAllowedNames(t *testing.T) {
	port := site(t)
	outer := newLab(t, Config{Allow: []Opening{{Rule: "self a.test" + port}}}, named()) // any other proxy
	inner := newLab(t, Config{Allow: allow("a.test"+port, "b.test"+port, "private localhost"+port), Upstream: "http://up.test" + portOf(outer.addr)},
		&zone{names: map[string][]string{"up.test": {"127.0.0.1"}, "localhost": {"127.0.0.1"}}})
	if status, body := inner.get("http://a.test" + port + "/far"); status != 200 || !strings.Contains(body, "a.test"+port+" /far") {
		t.Error(status, body)
	}
	status, rw, _ := inner.connect("a.test" + port)
	fmt.Fprintf(rw, "GET /tunneled HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n")
	rw.Flush()
	if text, _ := io.ReadAll(rw); status != 200 || !strings.Contains(string(text), "/tunneled") {
		t.Error(status, string(text))
	}
	if status, _, _ := inner.connect("b.test" + port); status != 502 { // the upstream says no; it is not our denial
		t.Error(status)
	}
	if status, _, _ := inner.connect("c.test" + port); status != 403 {
		t.Error(status)
	}
	if status, _, _ := inner.connect("localhost" + port); status != 200 {
		t.Error(status)
	}
	denied, used := inner.told()
	if len(denied) != 1 || denied[0].Target != "c.test"+port || len(used) != 3 {
		t.Fatal(denied, used)
	}
	for _, u := range used {
		far := u.Target.Name == "a.test"
		if far != (u.Upstream == "http://up.test"+portOf(outer.addr)) || far != (u.Address == "") || u.In == 0 && far {
			t.Errorf("%+v", u)
		}
	}
	if got := outer.denials(); got != "net_denied_domain b.test"+port {
		t.Errorf("the upstream was asked for more: %s", got)
	}
}

func TestAnUpstreamIsNeverWhereCredentialsAre(t *testing.T) {
	for _, addr := range []string{"169.254.169.254", "fd00:ec2::254", "0.0.0.0", "224.0.0.1"} {
		l := newLab(t, Config{Allow: allow("a.test:443"), Upstream: "http://up.test:3128"}, &zone{names: map[string][]string{"up.test": {addr}}})
		if status, _, _ := l.connect("a.test:443"); status != 403 {
			t.Errorf("%s: %d", addr, status)
		}
		if denied, _ := l.told(); !hasCode(denied, jobspec.CodeNetDeniedLocal) {
			t.Errorf("%s: %v", addr, denied)
		}
	}
}

func FuzzRequest(f *testing.F) {
	for _, s := range []string{"GET http://a.test/ HTTP/1.1\r\nHost: a.test\r\n\r\n", "POST http://a.test/ HTTP/1.1\r\nHost: a.test\r\nContent-Length: 3\r\n\r\nabc",
		"CONNECT a.test:443 HTTP/1.1\r\nHost: a.test:443\r\n\r\n", "POST http://a.test/ HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		h, err := readHead(bufio.NewReaderSize(bytes.NewReader(text), headBuffer))
		if err != nil {
			return
		}
		end := bytes.Index(text, []byte("\r\n\r\n"))
		if end < 0 || bytes.ContainsAny(text[:end], "\x00") {
			t.Fatalf("%q was read", text)
		}
		// What net/http makes of the same bytes must not be another message.
		other, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(text)))
		if err != nil {
			return // stricter than ours in something that the decision does not look at
		}
		if other.Method != h.method || other.RequestURI != h.target || other.ContentLength != h.length() {
			t.Fatalf("%q: %s %s %d and %s %s %d", text, h.method, h.target, h.length(), other.Method, other.RequestURI, other.ContentLength)
		}
		_, at, err := absolute(h)
		if err != nil {
			return
		}
		u, err := url.Parse(h.target)
		if err != nil || u.User != nil {
			t.Fatalf("%q is %s, and url.Parse says %v, %v", h.target, at, u, err)
		}
		if got, err := ParseAuthority(u.Host, httpPort); err != nil || got != at {
			t.Fatalf("%q is %s, and url.Parse says %s", h.target, at, u.Host)
		}
	})
}

func TestARefusalIsOneErrorWithACode(t *testing.T) {
	var err error = fmt.Errorf("x: %w", refuse(jobspec.CodeNetDeniedDomain, Target{Name: "a.org", Port: 443}, "net.allow", "d"))
	var no *Refusal
	if !errors.As(err, &no) || no.Code() != "net_denied_domain" || !strings.Contains(no.Error(), "a.org:443") {
		t.Error(err)
	}
}
