package send

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sbxcron/sbxcron/jobspec"
)

// Notice is what is told. Texts may hold anything; each channel escapes them.
type Notice struct {
	ID        string        `json:"id"` // the same in every attempt to deliver it
	Time      time.Time     `json:"time"`
	Host      string        `json:"host"`
	HostID    string        `json:"host_id"`
	Event     jobspec.Event `json:"event"`
	Job       string        `json:"job,omitempty"`
	Principal string        `json:"principal,omitempty"`
	Code      string        `json:"code,omitempty"`
	Outcome   string        `json:"outcome,omitempty"`
	ExitCode  *int64        `json:"exit_code,omitempty"`
	Signal    string        `json:"signal,omitempty"`
	Run       string        `json:"run,omitempty"`
	Slot      string        `json:"slot,omitempty"`
	Since     *time.Time    `json:"since,omitempty"` // the first of the open problem
	Count     int64         `json:"count,omitempty"` // how often since then
	Reminder  bool          `json:"reminder,omitempty"`
	Expires   *time.Time    `json:"expires_at,omitempty"`
	Remedy    string        `json:"remedy,omitempty"`
	Target    string        `json:"target,omitempty"` // only where the channel has details = true
	Detail    string        `json:"detail,omitempty"`
	Output    []string      `json:"output,omitempty"` // masked, the last lines
	More      []Further     `json:"more,omitempty"`   // in a digest: what else happened
	Dropped   int64         `json:"dropped,omitempty"`
}

// Further is one line of a digest.
type Further struct {
	Event jobspec.Event `json:"event"`
	Job   string        `json:"job,omitempty"`
	Code  string        `json:"code,omitempty"`
	Count int64         `json:"count"`
}

// Bounds of texts that leave the machine, in bytes after escaping.
const (
	maxWord = 120
	maxText = 400
	maxLine = 300
)

// plain makes printable ASCII of one line out of any text, and bounds it.
func plain(s string, most int) string {
	if len(s) > most {
		s = s[:most]
	}
	q := strconv.QuoteToASCII(s)
	q = strings.ReplaceAll(q[1:len(q)-1], `\"`, `"`)
	if len(q) > most {
		q = q[:most]
	}
	return q
}

// maxOutput bounds the output in a notice, in bytes before escaping.
const maxOutput = 8 << 10

// Bounded is the notice with no more of what a job can make up than could be sent,
// so that what waits stays small. The end of the output is what is kept.
func (n Notice) Bounded() Notice {
	n.Target, n.Detail = n.Target[:min(len(n.Target), maxText)], n.Detail[:min(len(n.Detail), maxText)]
	lines, left := slices.Clone(n.Output), maxOutput
	for i := len(lines) - 1; i >= 0; i-- {
		lines[i] = lines[i][:min(len(lines[i]), maxLine)]
		if left -= len(lines[i]) + 1; left < 0 {
			lines = lines[i+1:]
			break
		}
	}
	n.Output = lines
	return n
}

// Clean is the notice with every text made printable and short.
func (n Notice) Clean() Notice {
	for _, s := range []*string{&n.ID, &n.Host, &n.HostID, &n.Job, &n.Principal, &n.Code, &n.Outcome, &n.Signal, &n.Run, &n.Slot} {
		*s = plain(*s, maxWord)
	}
	n.Event = jobspec.Event(plain(string(n.Event), maxWord))
	for _, s := range []*string{&n.Remedy, &n.Target, &n.Detail} {
		*s = plain(*s, maxText)
	}
	output := make([]string, 0, len(n.Output))
	for _, line := range n.Output {
		output = append(output, plain(line, maxLine))
	}
	n.Output = output
	more := make([]Further, 0, len(n.More))
	for _, m := range n.More {
		more = append(more, Further{Event: jobspec.Event(plain(string(m.Event), maxWord)), Job: plain(m.Job, maxWord), Code: plain(m.Code, maxWord), Count: m.Count})
	}
	n.More = more
	return n
}

// Subject is the notice in one short line. The notice must be clean.
func (n Notice) Subject() string {
	s := n.what()
	if n.Reminder {
		s = "still: " + s
	}
	if len(n.More) > 0 {
		s += fmt.Sprintf(", and %d more", n.others())
	}
	return fmt.Sprintf("[sbxcron %s] %s", n.Host, s)
}

func (n Notice) others() int64 {
	var all int64
	for _, m := range n.More {
		all += m.Count
	}
	return all
}

// what says the event in words.
func (n Notice) what() string {
	if n.Job == "" {
		return n.whole()
	}
	switch n.Event {
	case jobspec.EventFailed:
		return n.Job + " failed" + n.how()
	case jobspec.EventDenied:
		return n.Job + " was denied something" + paren(n.Code)
	case jobspec.EventRefused:
		return n.Job + " was refused" + paren(n.Code)
	case jobspec.EventMissed:
		return n.Job + " was missed" + paren(n.Code)
	case jobspec.EventWouldBeRefused:
		return n.Job + " would be refused at its next slot" + paren(n.Code)
	case jobspec.EventKeyRevoked:
		return n.Job + " has stopped: the key that approved it was revoked"
	case jobspec.EventExpiring:
		return n.Job + " " + n.expiry()
	case jobspec.EventRecovered:
		return n.Job + " has recovered"
	}
	return n.Job + " " + string(n.Event)
}

// whole says what is about no job, but about all.
func (n Notice) whole() string {
	switch n.Event {
	case jobspec.EventAuditFailed:
		return "the store has a problem" + paren(n.Code)
	case jobspec.EventWouldBeRefused:
		return "no job would start" + paren(n.Code)
	case jobspec.EventRecovered:
		return "the installation has recovered"
	case EventTest:
		return "a test notice"
	}
	return string(n.Event) + paren(n.Code)
}

// EventTest is the event of what "notify test" sends.
const EventTest jobspec.Event = "test"

func (n Notice) how() string {
	switch {
	case n.Signal != "":
		return paren("signal " + n.Signal)
	case n.Outcome != "" && n.Outcome != "failed":
		return paren(n.Outcome)
	case n.ExitCode != nil:
		return paren("status " + strconv.FormatInt(*n.ExitCode, 10))
	}
	return paren(n.Code)
}

func (n Notice) expiry() string {
	if n.Expires == nil {
		return "expires"
	}
	if !n.Expires.After(n.Time) {
		return "has expired"
	}
	return "expires at " + n.Expires.UTC().Format(time.RFC3339)
}

func paren(s string) string {
	if s == "" {
		return ""
	}
	return " (" + s + ")"
}

// Body is the notice in lines of text. The notice must be clean.
func (n Notice) Body() string {
	var b strings.Builder
	line := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&b, "%-11s %s\n", name, value)
		}
	}
	b.WriteString(n.what() + "\n\n")
	line("host", n.Host+paren(n.HostID))
	line("job", n.Job)
	line("principal", n.Principal)
	line("event", string(n.Event))
	line("at", n.Time.UTC().Format(time.RFC3339))
	line("slot", n.Slot)
	line("run", n.Run)
	line("outcome", n.Outcome)
	if n.ExitCode != nil {
		line("status", strconv.FormatInt(*n.ExitCode, 10))
	}
	line("signal", n.Signal)
	line("code", n.Code)
	line("about", n.Target)
	line("detail", n.Detail)
	if n.Since != nil && n.Count > 1 {
		line("so far", fmt.Sprintf("%d times since %s", n.Count, n.Since.UTC().Format(time.RFC3339)))
	}
	line("do", n.Remedy)
	if n.Job != "" {
		line("look", "sbxcron explain "+n.Job+", sbxcron history "+n.Job)
	}
	if len(n.More) > 0 {
		b.WriteString("\nalso, since the last notice over this channel:\n")
		for _, m := range n.More {
			fmt.Fprintf(&b, "  %s %s%s, %d times\n", m.Event, m.Job, paren(m.Code), m.Count)
		}
	}
	if n.Dropped > 0 {
		fmt.Fprintf(&b, "\n%d earlier notices could not be delivered and were given up\n", n.Dropped)
	}
	if len(n.Output) > 0 {
		b.WriteString("\nlast lines of the output, as far as it is kept:\n")
		for _, l := range n.Output {
			b.WriteString("| " + l + "\n")
		}
	}
	return b.String()
}
