package jobtoml

import (
	"fmt"
	"maps"
	"path"
	"reflect"
	"slices"
	"time"

	"github.com/sbxcron/sbxcron/jobspec"
)

// Bounds of notify.toml.
const (
	maxChannels      = 32
	maxReceivers     = 20
	maxOutputLines   = 100
	leastReminder    = time.Hour
	defaultReminder  = 24 * time.Hour
	maxAddressLength = 254
)

// SchemaNotify is the JSON Schema of notify.toml.
func SchemaNotify() []byte {
	return written("notify.toml", typeSchema(reflect.TypeFor[noticeFile](), "", ""), []string{})
}

func noticeCodes() codes {
	c := jobspec.CodeNoticeConfig
	return codes{syntax: c, unknown: c, duplicate: c, value: c}
}

// ReadNotices reads notify.toml. A file with any fault is refused as a whole:
// half of it would leave somebody untold. Errors are *Error with line and column.
func ReadNotices(data []byte) (*jobspec.Notices, error) {
	n, faults := NoticeProblems(data)
	if len(faults) > 0 {
		return nil, faults[0]
	}
	return n, nil
}

// NoticeProblems reads notify.toml and tells all that is wrong with it.
func NoticeProblems(data []byte) (*jobspec.Notices, []error) {
	var t noticeFile
	f, err := decode(data, &t, noticeCodes())
	if err != nil {
		return nil, []error{err}
	}
	r := &fields{file: f}
	n := &jobspec.Notices{Always: events(t.Always), Default: jobspec.JobEvents(), Reminder: defaultReminder}
	if r.given("default") {
		n.Default = events(t.Default)
	}
	r.oneOf("default", t.Default, jobspec.EventWords(jobspec.JobEvents()))
	r.oneOf("always", t.Always, jobspec.EventWords(jobspec.JobEvents()))
	if d := r.span("reminder", t.Reminder); r.given("reminder") {
		if n.Reminder = d; d < leastReminder {
			r.fail(r.refuse("reminder", r.codes.value, "", "%s is below 1h", t.Reminder))
		}
	}
	if len(t.Channel) > maxChannels {
		r.fail(r.refuse("channel", r.codes.value, "", "%d channels, at most %d", len(t.Channel), maxChannels))
	}
	for _, name := range slices.Sorted(maps.Keys(t.Channel)) {
		n.Channels = append(n.Channels, r.channel(name, t.Channel[name]))
	}
	return n, r.all
}

func (r *fields) given(field string) bool { _, ok := r.at[field]; return ok }

func events(words []string) []jobspec.Event {
	all := make([]jobspec.Event, 0, len(words))
	for _, w := range words {
		all = append(all, jobspec.Event(w))
	}
	return all
}

func (r *fields) channel(name string, t channelTable) jobspec.Channel {
	at := "channel." + name
	if _, err := jobspec.ParseName(name); err != nil {
		r.fail(r.refuse(at, r.codes.value, "", "%s is no name of a channel: a-z, 0-9, '.', '_' and '-'", jobspec.Quote(name)))
	}
	c := jobspec.Channel{Name: name, Kind: t.Kind, Events: events(t.Events), Details: t.Details,
		Server: t.Server, TLS: t.TLS, User: t.User, Password: t.Password, From: t.From, To: t.To, CA: t.CA,
		Command: t.Command, RunAs: t.RunAs, URL: t.URL, Secret: t.Secret, Token: t.Token}
	if t.OutputLines != nil {
		c.OutputLines = *t.OutputLines
		if c.OutputLines < 0 || c.OutputLines > maxOutputLines {
			r.fail(r.refuse(at+".output_lines", r.codes.value, "", "%d is not from 0 to %d", c.OutputLines, maxOutputLines))
		}
	}
	r.oneOf(at+".events", t.Events, append(jobspec.EventWords(jobspec.JobEvents()), string(jobspec.EventAuditFailed)))
	for _, p := range t.Principals {
		who, err := jobspec.ParsePrincipal(p)
		if err != nil {
			r.fail(r.value(at+".principals", err))
		}
		c.Principals = append(c.Principals, who)
	}
	for _, j := range t.Jobs {
		job, err := jobspec.ParseName(j)
		if err != nil {
			r.fail(r.value(at+".jobs", err))
		}
		c.Jobs = append(c.Jobs, job)
	}
	c.Host = len(c.Principals) == 0 && len(c.Jobs) == 0
	if t.Host != nil {
		c.Host = *t.Host
	}
	r.kindOf(at, &c, t)
	for _, key := range []struct{ name, value string }{{"password", c.Password}, {"ca", c.CA}, {"secret", c.Secret}, {"token", c.Token}} {
		if key.value != "" && !jobspec.IsCredentialName(key.value) {
			r.fail(r.refuse(at+"."+key.name, r.codes.value, "write the name of a file in CONF/credentials", "%s is no name of a credential", jobspec.Quote(key.value)))
		}
	}
	return c
}

// keysOf are the keys that a kind has beside those of all channels.
func keysOf(kind string) (may, must []string) {
	switch kind {
	case jobspec.ChannelSMTP:
		return []string{"tls", "user", "password", "ca"}, []string{"server", "from", "to"}
	case jobspec.ChannelSendmail:
		return []string{"run_as"}, []string{"command", "from", "to"}
	case jobspec.ChannelWebhook:
		return []string{"secret", "token", "ca"}, []string{"url"}
	case jobspec.ChannelNtfy:
		return []string{"token", "ca"}, []string{"url"}
	case jobspec.ChannelPing:
		return []string{"url", "secret", "ca"}, nil
	}
	return nil, nil
}

// kindOf refuses keys of other kinds, and what the kind needs and does not have.
func (r *fields) kindOf(at string, c *jobspec.Channel, t channelTable) {
	if !slices.Contains(jobspec.ChannelKinds(), c.Kind) {
		r.fail(r.refuse(at+".kind", r.codes.value, "", "%s is no kind of channel: smtp, sendmail, webhook, ntfy or ping", jobspec.Quote(c.Kind)))
		return
	}
	may, must := keysOf(c.Kind)
	for _, key := range []string{"server", "tls", "user", "password", "from", "to", "ca", "command", "run_as", "url", "secret", "token"} {
		switch given := r.given(at + "." + key); {
		case given && !slices.Contains(may, key) && !slices.Contains(must, key):
			r.fail(r.refuse(at+"."+key, r.codes.value, "remove the key", "a channel of kind %s has none", c.Kind))
		case !given && slices.Contains(must, key):
			r.fail(r.refuse(at, r.codes.value, "", "a channel of kind %s needs the key %s", c.Kind, key))
		}
	}
	if c.Kind == jobspec.ChannelPing {
		c.Host = false
		if (c.URL == "") == (c.Secret == "") {
			r.fail(r.refuse(at, r.codes.value, "", "a ping has either url or secret"))
		}
	}
	r.mail(at, c)
	if c.URL != "" {
		if err := jobspec.CheckNoticeURL(c.Kind, c.URL); err != nil {
			r.fail(r.refuse(at+".url", r.codes.value, "", "%v", err))
		}
	}
	if len(c.Command) > 0 && (!path.IsAbs(c.Command[0]) || path.Clean(c.Command[0]) != c.Command[0]) {
		r.fail(r.refuse(at+".command", r.codes.value, "", "%s is no absolute path in its shortest form", jobspec.Quote(c.Command[0])))
	}
	if c.RunAs != "" && (!isAccount(c.RunAs) || c.RunAs == "root") {
		r.fail(r.refuse(at+".run_as", r.codes.value, "", "%s is no account that a sender may be", jobspec.Quote(c.RunAs)))
	}
}

func (r *fields) mail(at string, c *jobspec.Channel) {
	if c.Kind == jobspec.ChannelSMTP {
		if !r.given(at + ".tls") {
			c.TLS = "starttls"
		}
		r.word(at+".tls", c.TLS, "starttls", "implicit", "none")
		if err := jobspec.CheckMailServer(c.Server, c.TLS == "none"); c.Server != "" && err != nil {
			r.fail(r.refuse(at+".server", r.codes.value, "", "%v", err))
		}
		if (c.User == "") != (c.Password == "") {
			r.fail(r.refuse(at, r.codes.value, "", "user and password go together"))
		}
		if !isPlain(c.User) {
			r.fail(r.refuse(at+".user", r.codes.value, "", "it is not of printable ASCII"))
		}
	}
	if len(c.To) > maxReceivers {
		r.fail(r.refuse(at+".to", r.codes.value, "", "%d receivers, at most %d", len(c.To), maxReceivers))
	}
	for i, a := range append([]string{c.From}, c.To...) {
		if a == "" && i == 0 && !r.given(at+".from") {
			continue
		}
		if err := mailAddress(a); err != nil {
			r.fail(r.refuse(at+map[bool]string{true: ".from", false: ".to"}[i == 0], r.codes.value, "", "%s: %v", jobspec.Quote(a), err))
		}
	}
}

func isPlain(s string) bool {
	return !slices.ContainsFunc([]byte(s), func(b byte) bool { return b < ' ' || b > '~' })
}

// mailAddress takes local@domain of the characters that mean nothing in a header
// or a command line.
func mailAddress(s string) error {
	at := 0
	for i, b := range []byte(s) {
		letter := b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9'
		switch {
		case b == '@':
			at++
		case !letter && !(i > 0 && (b == '.' || b == '_' || b == '+' || b == '-' || b == '=')):
			return fmt.Errorf("character %q has no place in an address here", b)
		}
	}
	if at != 1 || s[0] == '@' || s[len(s)-1] == '@' || len(s) > maxAddressLength {
		return fmt.Errorf("want name@host")
	}
	return nil
}
