package send

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/sbxcron/sbxcron/jobspec"
)

// Class is how a delivery ended. The zero value is no end.
type Class uint8

// The classes. Refused will be refused again; Delayed may work later.
const (
	Delivered Class = iota + 1
	Refused
	Delayed
	Misconfigured
)

func (c Class) String() string {
	switch c {
	case Delivered:
		return "delivered"
	case Refused:
		return "refused"
	case Delayed:
		return "delayed"
	case Misconfigured:
		return "misconfigured"
	}
	return "unknown"
}

// Result is the end of one attempt. Text is printable ASCII, at most MaxSaid
// bytes: what the server or the program said, without the channel's secrets.
type Result struct {
	Class Class
	Text  string
}

func result(c Class, format string, args ...any) Result {
	return Result{c, plain(fmt.Sprintf(format, args...), MaxSaid)}
}

// Task is one attempt.
type Task struct {
	Channel jobspec.Channel   `json:"channel"`
	Secrets map[string][]byte `json:"secrets"` // by name
	Notice  Notice            `json:"notice"`
	Sent    time.Time         `json:"sent"` // stands in the signature of a webhook
}

// attemptTime bounds one attempt.
const attemptTime = 30 * time.Second

// Deliver makes one attempt. It runs in the sender's process.
func Deliver(ctx context.Context, t Task) Result {
	ctx, done := context.WithTimeout(ctx, attemptTime)
	defer done()
	t.Notice = t.Notice.Clean()
	res := deliver(ctx, t)
	res.Text = t.mask(res.Text)
	return res
}

func deliver(ctx context.Context, t Task) Result {
	switch t.Channel.Kind {
	case jobspec.ChannelSMTP:
		return bySMTP(ctx, t)
	case jobspec.ChannelSendmail:
		return bySendmail(ctx, t)
	case jobspec.ChannelWebhook:
		return byWebhook(ctx, t)
	case jobspec.ChannelNtfy:
		return byNtfy(ctx, t)
	case jobspec.ChannelPing:
		return byPing(ctx, t)
	}
	return result(Misconfigured, "a channel of kind %q cannot be used", t.Channel.Kind)
}

// secret is the value of a named credential, "" where none is named.
func (t Task) secret(name string) (string, error) {
	if name == "" {
		return "", nil
	}
	v, ok := t.Secrets[name]
	if !ok {
		return "", fmt.Errorf("credential %q is missing", name)
	}
	for len(v) > 0 && (v[len(v)-1] == '\n' || v[len(v)-1] == '\r') {
		v = v[:len(v)-1]
	}
	if len(v) == 0 {
		return "", fmt.Errorf("credential %q is empty", name)
	}
	for _, b := range v {
		if b < ' ' || b > '~' {
			return "", fmt.Errorf("credential %q holds more than one line of printable ASCII", name)
		}
	}
	return string(v), nil
}

// tlsConfig trusts the machine's certificates, or those of the channel alone.
func (t Task) tlsConfig(server string) (*tls.Config, error) {
	c := &tls.Config{ServerName: server, MinVersion: tls.VersionTLS12}
	if t.Channel.CA == "" {
		return c, nil
	}
	c.RootCAs = x509.NewCertPool()
	if !c.RootCAs.AppendCertsFromPEM(t.Secrets[t.Channel.CA]) {
		return nil, fmt.Errorf("credential %q holds no certificate in PEM", t.Channel.CA)
	}
	return c, nil
}

// ofNetwork is the end that an error of the network means: a certificate that does
// not fit will not fit in a minute either, yet its server may be mended, so
// everything is tried again.
func ofNetwork(err error) Result {
	var cert *tls.CertificateVerificationError
	var name *net.DNSError
	switch {
	case errors.Is(err, context.DeadlineExceeded) || errors.Is(err, net.ErrClosed):
		return result(Delayed, "no answer within %s", attemptTime)
	case errors.As(err, &cert):
		return result(Delayed, "the server's certificate is not trusted: %v", cert.Err)
	case errors.As(err, &name):
		return result(Delayed, "its name cannot be resolved: %v", name.Err)
	}
	var timeout net.Error
	if errors.As(err, &timeout) && timeout.Timeout() {
		return result(Delayed, "no answer within %s", attemptTime)
	}
	return result(Delayed, "%v", err)
}
