package egress

import (
	"fmt"
	"strings"

	"github.com/sbxcron/sbxcron/jobspec"
)

// Refusal is a "no" to one request. It is an event for the record and what the
// client is told.
type Refusal struct {
	Reason jobspec.Code
	Target string // "host:port"; quoted, and cut, where it could not be read
	Rule   string // the rule that said no, or the field that does not list it
	Detail string
}

func (r *Refusal) Error() string { return fmt.Sprintf("%s: %s: %s", r.Reason, r.Target, r.Detail) }

// Code is the stable reason.
func (r *Refusal) Code() string { return string(r.Reason) }

func refuse(code jobspec.Code, t Target, rule, detail string) *Refusal {
	return &Refusal{Reason: code, Target: t.String(), Rule: rule, Detail: detail}
}

// ruleForm is the rule of whatever could not be read.
const ruleForm = "floor.net_form"

// maxQuoted bounds the part of an unreadable target that the record repeats.
const maxQuoted = 80

// unreadable refuses a target that has no one reading.
func unreadable(text string, why error) *Refusal {
	if len(text) > maxQuoted {
		text = text[:maxQuoted]
	}
	return &Refusal{Reason: jobspec.CodeNetDeniedDomain, Target: jobspec.Quote(text), Rule: ruleForm, Detail: why.Error()}
}

// response is the answer of an HTTP proxy. Every part of it is ours or went
// through ParseAuthority or Quote, and is ASCII without control bytes.
func (r *Refusal) response() string {
	body := fmt.Sprintf("sbxcron: %s: %s: %s (rule %s)\nhint: %s\n", r.Reason, r.Target, r.Detail, r.Rule, r.Reason.Remedy())
	return answer("403 Forbidden", body, "X-Sbxcron-Code: "+string(r.Reason), "X-Sbxcron-Rule: "+r.Rule)
}

// answer is a whole response that ends the connection.
func answer(status, body string, fields ...string) string {
	var t strings.Builder
	fmt.Fprintf(&t, "HTTP/1.1 %s\r\n", status)
	for _, f := range fields {
		t.WriteString(f + "\r\n")
	}
	fmt.Fprintf(&t, "Content-Type: text/plain; charset=us-ascii\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s", len(body), body)
	return t.String()
}
