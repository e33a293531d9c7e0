package jobtoml

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/sbxcron/sbxcron/jobspec"
)

const goodNotices = `default = ["failed", "refused"]
always = ["denied"]
reminder = "12h"

[channel.ops]
kind = "smtp"
server = "mail.example.org:587"
user = "cron"
password = "smtp-password"
from = "cron@example.org"
to = ["ops@example.org", "a.b+c@example.org"]

[channel.local]
kind = "sendmail"
command = ["/usr/sbin/sendmail", "-t"]
from = "cron@localhost"
to = ["root@localhost"]
run_as = "mail"

[channel.hook]
kind = "webhook"
url = "https://hooks.example.org/x?y=1"
secret = "hook-key"
principals = ["alice"]
output_lines = 20
details = true

[channel.phone]
kind = "ntfy"
url = "http://127.0.0.1:8080/topic"
token = "ntfy"
events = ["failed", "audit_failed"]

[channel.hc]
kind = "ping"
url = "https://hc.example.org/ping/{job}"
jobs = ["nightly"]
`

func TestNoticesAreRead(t *testing.T) {
	n, err := ReadNotices([]byte(goodNotices))
	if err != nil {
		t.Fatal(err)
	}
	if len(n.Channels) != 5 || n.Reminder != 12*time.Hour || len(n.Default) != 2 || n.Always[0] != jobspec.EventDenied {
		t.Errorf("%+v", n)
	}
	by := map[string]jobspec.Channel{}
	for _, c := range n.Channels {
		by[c.Name] = c
	}
	if by["ops"].TLS != "starttls" || !by["ops"].Host || by["hook"].Host || by["hc"].Host || by["hook"].OutputLines != 20 || by["phone"].Events[1] != jobspec.EventAuditFailed {
		t.Errorf("%+v", by)
	}
	if n, err := ReadNotices(nil); err != nil || len(n.Channels) != 0 || len(n.Default) != len(jobspec.JobEvents()) || n.Reminder != 24*time.Hour {
		t.Errorf("an empty file: %+v, %v", n, err)
	}
}

// Each fault names its line, and none of them leaves a channel that talks in the
// clear or to a place that was not meant.
func TestFaultsOfNoticesAreRefusedByLine(t *testing.T) {
	for name, c := range map[string]struct{ old, new, says string }{
		"unknown key":             {`user = "cron"`, `usr = "cron"`, "no such key"},
		"unknown table":           {"[channel.hc]", "[chanel.hc]", "no such key"},
		"unknown event":           {`"denied"`, `"dennied"`, "not one of ours"},
		"event of a channel":      {`"audit_failed"`, `"started"`, "not one of ours"},
		"unknown kind":            {`kind = "ntfy"`, `kind = "slack"`, "no kind of channel"},
		"key of another kind":     {`kind = "ntfy"`, "kind = \"ntfy\"\nto = [\"a@b\"]", "has none"},
		"missing key":             {`server = "mail.example.org:587"` + "\n", "", "needs the key server"},
		"no port":                 {"mail.example.org:587", "mail.example.org", "not host:port"},
		"clear mail to others":    {`user = "cron"`, "tls = \"none\"\nuser = \"cron\"", "this machine"},
		"password without a user": {`user = "cron"` + "\n", "", "go together"},
		"secret written out":      {`"smtp-password"`, `"Hunter 2!"`, "no name of a credential"},
		"a path of a secret":      {`"smtp-password"`, `"../policy.toml"`, "no name of a credential"},
		"http to others":          {"https://hooks", "http://hooks", "not https"},
		"secrets in a URL":        {"https://hooks", "https://me:pw@hooks", "secrets are credentials"},
		"another scheme":          {"https://hooks.example.org", "file:///etc", "no host"},
		"line end in a URL":       {"/x?y=1", `/x\r\nHost: y`, "printable"},
		"query of a ping":         {"/ping/{job}", "/ping/{job}?a=b", "no query"},
		"job in the host":         {"hc.example.org/ping/{job}", "{job}.example.org/ping", "path of a ping only"},
		"job in a webhook":        {"/x?y=1", "/{job}", "path of a ping only"},
		"no topic":                {"8080/topic", "8080/", "no topic"},
		"header in an address":    {"ops@example.org", `ops@example.org\r\nBcc: x@y`, "no place in an address"},
		"options as address":      {"root@localhost", "-oQ/tmp@x", "no place in an address"},
		"two ats":                 {"root@localhost", "root@localhost@x", "want name@host"},
		"no address":              {"root@localhost", "root", "want name@host"},
		"relative program":        {"/usr/sbin/sendmail", "sendmail", "no absolute path"},
		"program over ..":         {"/usr/sbin/sendmail", "/usr/../tmp/x", "no absolute path"},
		"root":                    {`run_as = "mail"`, `run_as = "root"`, "no account"},
		"output without end":      {"output_lines = 20", "output_lines = 1000", "from 0 to 100"},
		"reminder each minute":    {`"12h"`, `"1m"`, "below 1h"},
		"name of a channel":       {"[channel.hc]", "[channel.\"a b\"]", "no name of a channel"},
		"name of a principal":     {`"alice"`, `"Al ice"`, "principal"},
		"name of a job":           {`"nightly"`, `"Ni ghtly"`, "job name"},
		"twice":                   {`user = "cron"`, "user = \"cron\"\nuser = \"x\"", ""},
		"no TOML":                 {"[channel.hc]", "[channel.hc", ""},
	} {
		if !strings.Contains(goodNotices, c.old) {
			t.Fatalf("%s: %q is not in the file", name, c.old)
		}
		n, err := ReadNotices([]byte(strings.Replace(goodNotices, c.old, c.new, 1)))
		var e *Error
		if n != nil || !errors.As(err, &e) || e.Reason != jobspec.CodeNoticeConfig || e.Line == 0 || e.Hint() == "" || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzReadNotices(f *testing.F) {
	f.Add([]byte(goodNotices))
	f.Fuzz(func(t *testing.T, data []byte) {
		n, err := ReadNotices(data)
		if err != nil {
			return
		}
		for _, c := range n.Channels {
			if strings.ContainsAny(c.URL+c.Server+c.From+strings.Join(c.To, ""), "\r\n\x00") {
				t.Errorf("%+v", c)
			}
		}
	})
}
