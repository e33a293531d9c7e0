package send

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sbxcron/sbxcron/jobspec"
)

func TestMailIsSentByEachWay(t *testing.T) {
	cert, ca := certificate(t)
	for name, c := range map[string]struct {
		server *mailServer
		tls    string
		login  string
		class  Class
		said   string
	}{
		"none on this machine":    {&mailServer{}, "none", "", Delivered, "250 2.0.0 queued as 4711"},
		"starttls":                {&mailServer{cert: &cert}, "starttls", "", Delivered, "queued as 4711"},
		"implicit":                {&mailServer{cert: &cert, implicit: true}, "implicit", "", Delivered, "queued as 4711"},
		"plain login":             {&mailServer{cert: &cert, auth: "LOGIN PLAIN"}, "starttls", "s3cr3t-word", Delivered, "queued"},
		"login login":             {&mailServer{cert: &cert, auth: "LOGIN"}, "starttls", "s3cr3t-word\n", Delivered, "queued"},
		"wrong password":          {&mailServer{cert: &cert, auth: "PLAIN"}, "starttls", "another", Refused, "535 5.7.8 no"},
		"no starttls offered":     {&mailServer{}, "starttls", "", Refused, "no STARTTLS"},
		"no kind of login":        {&mailServer{cert: &cert, auth: "CRAM-MD5"}, "starttls", "s3cr3t-word", Refused, "neither AUTH"},
		"receiver refused":        {&mailServer{rcpt: "550 5.1.1 no such user"}, "none", "", Refused, "no such user"},
		"receiver later":          {&mailServer{rcpt: "451 4.3.0 later"}, "none", "", Delayed, "later"},
		"server greets with 421":  {&mailServer{banner: "421 busy"}, "none", "", Delayed, "busy"},
		"server says no SMTP":     {&mailServer{banner: "HTTP/1.1 400 Bad"}, "none", "", Delayed, ""},
		"server talks for ever":   {&mailServer{banner: "220-" + strings.Repeat("x", maxTalk)}, "none", "", Delayed, "more than is read"},
		"escape codes are quoted": {&mailServer{rcpt: "550 \x1b[31mred"}, "none", "", Refused, `\x1b[31mred`},
	} {
		t.Run(name, func(t *testing.T) {
			task := mail(c.server.start(t))
			task.Channel.TLS = c.tls
			if c.tls != "none" {
				task.Channel.CA, task.Secrets["ca"] = "ca", ca
			}
			if c.login != "" {
				task.Channel.User, task.Channel.Password, task.Secrets["pw"] = "me", "pw", []byte(c.login)
			}
			res := Deliver(t.Context(), task)
			if res.Class != c.class || !strings.Contains(res.Text, c.said) {
				t.Fatalf("%v %q, want %v %q", res.Class, res.Text, c.class, c.said)
			}
			messages, secure, logins := c.server.got()
			if c.class != Delivered {
				if len(messages) != 0 {
					t.Errorf("a message was taken: %q", messages)
				}
				return
			}
			if len(messages) != 1 || secure[0] != (c.tls != "none") || !strings.Contains(messages[0], "Subject: [sbxcron box] nightly failed (status 3)\r\n") {
				t.Errorf("%q, secure %v", messages, secure)
			}
			if c.login != "" && (len(logins) != 1 || logins[0] != "me s3cr3t-word") {
				t.Errorf("logged in with %q", logins)
			}
		})
	}
}

func TestNoPasswordGoesToAServerOfAnotherName(t *testing.T) {
	cert, _ := certificate(t)
	_, foreign := certificate(t)
	for _, kind := range []*mailServer{{cert: &cert, auth: "PLAIN"}, {cert: &cert, auth: "PLAIN", implicit: true}} {
		task := mail(kind.start(t))
		task.Channel.TLS = map[bool]string{true: "implicit", false: "starttls"}[kind.implicit]
		task.Channel.CA, task.Secrets["ca"] = "ca", foreign
		task.Channel.User, task.Channel.Password, task.Secrets["pw"] = "me", "pw", []byte("s3cr3t-word")
		res := Deliver(t.Context(), task)
		messages, _, logins := kind.got()
		if res.Class != Delayed || !strings.Contains(res.Text, "not trusted") || len(messages)+len(logins) != 0 {
			t.Errorf("%+v, messages %q, logins %q", res, messages, logins)
		}
	}
}

// A job chooses what it is denied, and an owner its name. Neither gets a header.
func TestNoTextOfANoticeBecomesAHeaderOrACommand(t *testing.T) {
	server := &mailServer{}
	task := mail(server.start(t))
	evil := "x\r\nBcc: all@example.org\r\n\r\n.\r\nMAIL FROM:<a@b>\r\n"
	task.Notice.Host, task.Notice.Job, task.Notice.Detail, task.Notice.Target, task.Notice.Signal = evil, evil, evil, evil, evil
	task.Notice.Output = []string{evil, ".", "\x1b]0;x\a", "\u202eabc"}
	task.Notice.More = []Further{{Event: "failed", Job: evil, Count: 1}}
	if res := Deliver(t.Context(), task); res.Class != Delivered {
		t.Fatalf("%+v", res)
	}
	messages, _, _ := server.got()
	if len(messages) != 1 {
		t.Fatalf("%d messages", len(messages))
	}
	head, body, _ := strings.Cut(messages[0], "\r\n\r\n")
	for _, line := range strings.Split(head, "\r\n") {
		if strings.HasPrefix(line, "Bcc") || len(line) > 998 {
			t.Errorf("header %q", line)
		}
	}
	if n := strings.Count(head, "\r\n"); n != 10 { // eleven lines: ten headers, one of two lines
		t.Errorf("%d line ends in\n%s", n, head)
	}
	for _, b := range []byte(body) {
		if b > '~' || b < ' ' && b != '\r' && b != '\n' {
			t.Fatalf("byte %#x in the body", b)
		}
	}
	for _, line := range strings.Split(body, "\r\n") {
		if strings.HasPrefix(line, "MAIL") || line == "." {
			t.Errorf("line %q", line)
		}
	}
}

func hookTask(kind, place string) Task {
	return Task{Channel: jobspec.Channel{Name: "hook", Kind: kind, URL: place}, Notice: notice(), Sent: time.Unix(1764556200, 0), Secrets: map[string][]byte{}}
}

func TestAWebhookIsSigned(t *testing.T) {
	var header http.Header
	var body []byte
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header, body = r.Header, must(io.ReadAll(r.Body))
		fmt.Fprint(w, "thanks")
	}))
	defer server.Close()
	task := hookTask(jobspec.ChannelWebhook, server.URL+"/x?y=1")
	task.Channel.Secret, task.Secrets["key"] = "key", []byte("0123456789\n")
	task.Channel.Token, task.Secrets["tok"] = "tok", []byte("token-1")
	if res := Deliver(t.Context(), task); res.Class != Delivered || res.Text != "200 OK thanks" {
		t.Fatalf("%+v", res)
	}
	at := header.Get(HeaderTime)
	if at != "1764556200" || header.Get(HeaderSignature) != Signature("0123456789", at, body) || header.Get(HeaderID) != "01K0ABC" || header.Get("Authorization") != "Bearer token-1" {
		t.Errorf("%v", header)
	}
	var got map[string]any
	if err := json.Unmarshal(body, &got); err != nil || got["job"] != "nightly" || got["id"] != "01K0ABC" || got["schema"] != "sbxcron.notice/v1" || got["exit_code"] != 3.0 {
		t.Errorf("%s, %v", body, err)
	}
	if Signature("0123456789", "1764556201", body) == header.Get(HeaderSignature) || Signature("0123456789", at, append(body, ' ')) == header.Get(HeaderSignature) {
		t.Error("the signature binds neither time nor body")
	}
}

// The value is what openssl dgst -sha256 -hmac key says of 1.{}, so that the form
// cannot change without anybody noticing.
func TestTheFormOfASignatureIsFixed(t *testing.T) {
	const want = "v1=1ba6b8171186efc613e8bcc0cbdab2748f24984d7c5a84faa2637afa0e40d224"
	if got := Signature("key", "1", []byte("{}")); got != want {
		t.Errorf("%s", got)
	}
}

func TestWhatAWebServerAnswers(t *testing.T) {
	var elsewhere atomic.Int64
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere.Add(1) }))
	defer other.Close()
	for status, want := range map[int]Class{200: Delivered, 204: Delivered, 301: Refused, 302: Refused, 307: Refused, 308: Refused,
		400: Refused, 401: Refused, 404: Refused, 410: Refused, 408: Delayed, 429: Delayed, 500: Delayed, 503: Delayed} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", other.URL)
			w.WriteHeader(status)
		}))
		for _, kind := range []string{jobspec.ChannelWebhook, jobspec.ChannelNtfy, jobspec.ChannelPing} {
			if res := Deliver(t.Context(), hookTask(kind, server.URL+"/topic")); res.Class != want || !strings.Contains(res.Text, fmt.Sprint(status)) {
				t.Errorf("%s, status %d: %+v, want %v", kind, status, res, want)
			}
		}
		server.Close()
	}
	if elsewhere.Load() != 0 {
		t.Errorf("%d redirects were followed", elsewhere.Load())
	}
}

func TestNtfyAndPingsHaveTheirForm(t *testing.T) {
	var paths, titles, bodies []string
	server := httptest.NewTLSServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		paths, titles, bodies = append(paths, r.URL.Path), append(titles, r.Header.Get("Title")), append(bodies, string(must(io.ReadAll(r.Body))))
	}))
	defer server.Close()
	cert, ca := certificate(t)
	server.TLS.Certificates[0] = cert
	send := func(kind, place string, change func(*Task)) {
		task := hookTask(kind, place)
		task.Channel.CA, task.Secrets["ca"] = "ca", ca
		change(&task)
		if res := Deliver(t.Context(), task); res.Class != Delivered {
			t.Errorf("%s: %+v", kind, res)
		}
	}
	send(jobspec.ChannelNtfy, server.URL+"/topic", func(*Task) {})
	ping := server.URL + "/p/{job}/"
	for _, event := range []jobspec.Event{jobspec.EventStarted, jobspec.EventSucceeded, jobspec.EventFailed, jobspec.EventMissed} {
		send(jobspec.ChannelPing, ping, func(t *Task) { t.Notice.Event = event })
	}
	send(jobspec.ChannelPing, "", func(t *Task) {
		t.Channel.Secret, t.Secrets["url"] = "url", []byte(server.URL+"/secret-place\n")
		t.Notice.ExitCode, t.Notice.Outcome = nil, "timed_out"
	})
	if got := strings.Join(paths, " "); got != "/topic /p/nightly/start /p/nightly /p/nightly/3 /p/nightly/fail /secret-place/fail" {
		t.Errorf("paths %s", got)
	}
	if titles[0] != "[sbxcron box] nightly failed (status 3)" || !strings.Contains(bodies[0], "principal   alice") {
		t.Errorf("title %q, body %q", titles[0], bodies[0])
	}
}

func TestSecretsNeverStandInWhatIsSaid(t *testing.T) {
	dead := must(net.Listen("tcp", "127.0.0.1:0"))
	place := "http://" + dead.Addr().String() + "/s3cr3t-path"
	dead.Close()
	task := hookTask(jobspec.ChannelPing, "")
	task.Channel.Secret, task.Secrets["url"] = "url", []byte(place)
	for _, value := range []string{place, "http://example.org/s3cr3t-path", "s3cr3t-path"} {
		task.Secrets["url"] = []byte(value)
		if res := Deliver(t.Context(), task); res.Class == Delivered || strings.Contains(res.Text, "s3cr3t") {
			t.Errorf("%s: %+v", value, res)
		}
	}
}

func program(t *testing.T, text string) string {
	t.Helper()
	dir := must(os.MkdirTemp("", "sendmail-"))
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "sendmail")
	if err := os.WriteFile(path, []byte("#!/bin/sh\ncd "+dir+"\n"+text), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestASendmailProgramGetsTheMessageAndNoShell(t *testing.T) {
	path := program(t, "cat > got; for a; do printf '<%s>' \"$a\"; done; env > env; exit 0\n")
	task := mail("")
	task.Channel.Kind, task.Channel.Command = jobspec.ChannelSendmail, []string{path, "-t", "$(id); x"}
	res := Deliver(t.Context(), task)
	if res.Class != Delivered || res.Text != "status 0 <-t><$(id); x>" {
		t.Fatalf("%+v", res)
	}
	got := string(must(os.ReadFile(filepath.Join(filepath.Dir(path), "got"))))
	if !strings.Contains(got, "To: ops@example.org,\n b@example.org\n") || strings.Contains(got, "\r") || !strings.Contains(got, "\n\nnightly failed (status 3)\n") {
		t.Errorf("%s", got)
	}
	if env := string(must(os.ReadFile(filepath.Join(filepath.Dir(path), "env")))); strings.Contains(env, "HOME=") || strings.Contains(env, "SSH_") {
		t.Errorf("environment %s", env)
	}
	for status, want := range map[int]Class{75: Delayed, 67: Refused, 78: Refused, 1: Delayed} {
		task.Channel.Command = []string{program(t, fmt.Sprintf("echo no >&2; exit %d\n", status))}
		if res := Deliver(t.Context(), task); res.Class != want || !strings.Contains(res.Text, "no") {
			t.Errorf("status %d: %+v", status, res)
		}
	}
	task.Channel.Command = []string{"/nonexistent/sendmail"}
	if res := Deliver(t.Context(), task); res.Class != Delayed || !strings.Contains(res.Text, "no such file") {
		t.Errorf("%+v", res)
	}
}

// Many such programs leave a process behind that delivers later. Tried again, the
// same mail would go out for days.
func TestASendmailProgramThatGoesOnInTheBackgroundHasDelivered(t *testing.T) {
	path := program(t, "cat > /dev/null; sleep 8 & exit 0\n")
	task := mail("")
	task.Channel.Kind, task.Channel.Command = jobspec.ChannelSendmail, []string{path}
	if res := Deliver(t.Context(), task); res.Class != Delivered {
		t.Errorf("%+v", res)
	}
}
