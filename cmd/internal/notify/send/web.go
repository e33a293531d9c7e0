package send

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/sbxcron/sbxcron/jobspec"
)

// The headers of a webhook. The signature is HMAC-SHA256, by the channel's secret,
// over timestamp, ".", and the body; the body holds the notice's id. A receiver
// that refuses old timestamps and ids that it has seen takes nothing twice.
const (
	HeaderTime      = "X-Sbxcron-Timestamp"
	HeaderSignature = "X-Sbxcron-Signature"
	HeaderID        = "X-Sbxcron-Id"
)

// Signature is the value of HeaderSignature.
func Signature(key, timestamp string, body []byte) string {
	m := hmac.New(sha256.New, []byte(key))
	m.Write([]byte(timestamp + "."))
	m.Write(body)
	return "v1=" + hex.EncodeToString(m.Sum(nil))
}

// hook is the body of a webhook.
type hook struct {
	Schema  string `json:"schema"`
	Subject string `json:"subject"`
	Notice
}

func byWebhook(ctx context.Context, t Task) Result {
	body, err := json.Marshal(hook{"sbxcron.notice/v1", t.Notice.Subject(), t.Notice})
	if err != nil {
		return result(Misconfigured, "%v", err)
	}
	header := http.Header{"Content-Type": {"application/json"}, HeaderID: {t.Notice.ID}}
	key, err := t.secret(t.Channel.Secret)
	if err != nil {
		return result(Misconfigured, "%v", err)
	}
	if key != "" {
		at := strconv.FormatInt(t.Sent.Unix(), 10)
		header.Set(HeaderTime, at)
		header.Set(HeaderSignature, Signature(key, at, body))
	}
	return post(ctx, t, t.Channel.URL, header, body)
}

func byNtfy(ctx context.Context, t Task) Result {
	header := http.Header{"Content-Type": {"text/plain"}, "Title": {t.Notice.Subject()}, "Tags": {"sbxcron," + string(t.Notice.Event)}}
	switch t.Notice.Event {
	case jobspec.EventRecovered, EventTest:
		header.Set("Priority", "default")
	default:
		header.Set("Priority", "high")
	}
	return post(ctx, t, t.Channel.URL, header, []byte(t.Notice.Body()))
}

// byPing tells a watcher of silence: /start, nothing for a success, the exit
// status where there is one, else /fail.
func byPing(ctx context.Context, t Task) Result {
	base := t.Channel.URL
	if t.Channel.Secret != "" {
		text, err := t.secret(t.Channel.Secret)
		if err == nil {
			err = jobspec.CheckNoticeURL(jobspec.ChannelPing, text)
		}
		if err != nil {
			return result(Misconfigured, "%v", err) // says nothing of the value
		}
		base = text
	}
	place := strings.TrimSuffix(strings.ReplaceAll(base, jobspec.JobPlace, url.PathEscape(t.Notice.Job)), "/")
	header := http.Header{"Content-Type": {"text/plain"}}
	return post(ctx, t, place+pingPath(t.Notice), header, []byte(t.Notice.Body()))
}

func pingPath(n Notice) string {
	switch {
	case n.Event == jobspec.EventStarted:
		return "/start"
	case n.Event == jobspec.EventSucceeded || n.Event == jobspec.EventRecovered:
		return ""
	case n.Event == EventTest:
		return "/log"
	case n.Event == jobspec.EventFailed && n.ExitCode != nil && *n.ExitCode > 0 && *n.ExitCode < 256:
		return "/" + strconv.FormatInt(*n.ExitCode, 10)
	}
	return "/fail"
}

// post sends one request. No redirect is followed: it would carry body, token and
// signature to a place that nobody wrote down. No variable names a proxy.
func post(ctx context.Context, t Task, place string, header http.Header, body []byte) Result {
	u, err := url.Parse(place)
	if err != nil {
		return result(Misconfigured, "the URL cannot be used")
	}
	secure, err := t.tlsConfig(u.Hostname())
	if err != nil {
		return result(Misconfigured, "%v", err)
	}
	token, err := t.secret(t.Channel.Token)
	if err != nil {
		return result(Misconfigured, "%v", err)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, place, bytes.NewReader(body))
	if err != nil {
		return result(Misconfigured, "the URL cannot be used")
	}
	header.Set("User-Agent", "sbxcron")
	if token != "" {
		header.Set("Authorization", "Bearer "+token)
	}
	r.Header = header
	c := http.Client{
		Transport:     &http.Transport{TLSClientConfig: secure, DisableKeepAlives: true, MaxResponseHeaderBytes: maxTalk, ForceAttemptHTTP2: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	answer, err := c.Do(r)
	if err != nil {
		if wrapped, ok := err.(*url.Error); ok { // its text holds the URL, which may be a secret
			err = wrapped.Err
		}
		return ofNetwork(err)
	}
	defer answer.Body.Close()
	return ofHTTP(answer)
}

func ofHTTP(answer *http.Response) Result {
	said, err := io.ReadAll(io.LimitReader(answer.Body, MaxSaid))
	if err != nil {
		said = nil // the status says enough
	}
	text := strings.TrimSpace(answer.Status + " " + strings.TrimSpace(string(said)))
	switch code := answer.StatusCode; {
	case code >= 200 && code < 300:
		return result(Delivered, "%s", text)
	case code >= 300 && code < 400:
		return result(Refused, "%s: redirects are not followed", answer.Status)
	case code == http.StatusRequestTimeout || code == http.StatusTooEarly || code == http.StatusTooManyRequests || code >= 500:
		return result(Delayed, "%s", text)
	}
	return result(Refused, "%s", text)
}
