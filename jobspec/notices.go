package jobspec

import "time"

// Event is something about a job, or about the whole installation, that somebody
// may want to be told of.
type Event string

// The events. Failed is every end that is no success and no denial: a status, a
// signal, a timeout, a run that nobody saw end. WouldBeRefused is about the next
// slot and KeyRevoked about a job whose signature no longer counts; AuditFailed is
// about the store of the installation and names no job. Started and Succeeded are
// for channels that watch for silence, and no job asks for them.
const (
	EventFailed         Event = "failed"
	EventDenied         Event = "denied"
	EventRefused        Event = "refused"
	EventMissed         Event = "missed"
	EventWouldBeRefused Event = "would_be_refused"
	EventExpiring       Event = "expiring"
	EventRecovered      Event = "recovered"
	EventKeyRevoked     Event = "key_revoked"
	EventAuditFailed    Event = "audit_failed"
	EventStarted        Event = "started"
	EventSucceeded      Event = "succeeded"
)

// JobEvents are the events that notify.on of a spec may name.
func JobEvents() []Event {
	return []Event{EventFailed, EventDenied, EventRefused, EventMissed, EventWouldBeRefused, EventExpiring, EventRecovered, EventKeyRevoked}
}

// EventWords are events as texts, for whoever compares words.
func EventWords(all []Event) []string {
	words := make([]string, 0, len(all))
	for _, e := range all {
		words = append(words, string(e))
	}
	return words
}

// The kinds of channels.
const (
	ChannelSMTP     = "smtp"
	ChannelSendmail = "sendmail"
	ChannelWebhook  = "webhook"
	ChannelNtfy     = "ntfy"
	ChannelPing     = "ping"
)

// ChannelKinds are all kinds of channels.
func ChannelKinds() []string {
	return []string{ChannelSMTP, ChannelSendmail, ChannelWebhook, ChannelNtfy, ChannelPing}
}

// Notices is what the operator's notify.toml says: where notices go, and which
// events a job that names none is told about. The zero value sends nothing.
type Notices struct {
	Default  []Event       // for a job whose spec names no event
	Always   []Event       // for every job, whatever its spec names
	Reminder time.Duration // between two notices about the same open problem
	Channels []Channel     // by name
}

// Channel is one way to a person or a machine. Secrets are named here and never
// held. Empty lists of events, principals and jobs take all.
type Channel struct {
	Name        string
	Kind        string
	Events      []Event
	Principals  []Principal
	Jobs        []Name
	Host        bool // takes what is about the whole installation
	Details     bool // tells what a reason is about, which a job may have made up
	OutputLines int64

	Server   string // smtp: host:port
	TLS      string // smtp: starttls, implicit, none
	User     string
	Password string // name of a credential, as are CA, Secret and Token
	From     string
	To       []string
	CA       string
	Command  []string // sendmail: absolute program and its arguments
	RunAs    string   // sendmail, in system mode: account that it runs as
	URL      string   // webhook, ntfy, ping
	Secret   string   // webhook: key of the HMAC; ping: credential that holds the URL
	Token    string   // ntfy, webhook: bearer token
}

// Credentials names the secrets that the channel needs.
func (c Channel) Credentials() []string {
	var all []string
	for _, name := range []string{c.Password, c.CA, c.Secret, c.Token} {
		if name != "" {
			all = append(all, name)
		}
	}
	return all
}
