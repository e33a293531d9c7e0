package client

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/sbxcron/sbxcron/cmd/internal/api"
	"github.com/sbxcron/sbxcron/jobspec"
)

// Head asks what a new op must extend.
func (c *Client) Head(ctx context.Context) (out api.Head, err error) {
	return out, c.get(ctx, requestTime, &out, nil, "head")
}

// Submit hands over a signed op.
func (c *Client) Submit(ctx context.Context, s api.Submission) (out api.Accepted, err error) {
	return out, c.post(ctx, requestTime, s, &out, "ops")
}

// SubmitAll hands over signed ops that follow each other.
func (c *Client) SubmitAll(ctx context.Context, all []api.Submission) (out []api.Accepted, err error) {
	return out, c.post(ctx, startTime, all, &out, "plans")
}

// Jobs lists the jobs.
func (c *Client) Jobs(ctx context.Context) (out []api.Job, err error) {
	return out, c.get(ctx, requestTime, &out, nil, "jobs")
}

// Listed gives the line of one job.
func (c *Client) Listed(ctx context.Context, name jobspec.Name) (out api.Job, err error) {
	v := url.Values{}
	set(v, "name", string(name))
	return out, c.get(ctx, requestTime, &out, v, "jobs")
}

// Job tells everything about one job.
func (c *Client) Job(ctx context.Context, name jobspec.Name) (out api.JobDetail, err error) {
	return out, c.get(ctx, requestTime, &out, nil, "jobs", string(name))
}

// Next lists coming slots.
func (c *Client) Next(ctx context.Context, q api.NextQuery) (out []api.Next, err error) {
	v := url.Values{}
	set(v, "job", string(q.Job))
	set(v, "expr", q.Expr)
	set(v, "timezone", q.Timezone)
	setTime(v, "from", q.From)
	setTime(v, "until", q.Until)
	setInt(v, "count", int64(q.Count))
	return out, c.get(ctx, requestTime, &out, v, "next")
}

// Days counts what is due on each day.
func (c *Client) Days(ctx context.Context, q api.DaysQuery) (out []api.Day, err error) {
	v := url.Values{}
	set(v, "job", string(q.Job))
	set(v, "timezone", q.Timezone)
	setTime(v, "from", q.From)
	setTime(v, "until", q.Until)
	return out, c.get(ctx, requestTime, &out, v, "days")
}

// History lists runs, newest first.
func (c *Client) History(ctx context.Context, q api.HistoryQuery) (out []api.Run, err error) {
	v := url.Values{}
	set(v, "job", string(q.Job))
	setTime(v, "since", q.Since)
	setTime(v, "until", q.Until)
	words := make([]string, len(q.Outcome))
	for i, o := range q.Outcome {
		words[i] = string(o)
	}
	set(v, "outcome", strings.Join(words, ","))
	setInt(v, "limit", int64(q.Limit))
	return out, c.get(ctx, requestTime, &out, v, "history")
}

// Run tells of one run; with wait it answers when the run has ended, however
// long that takes.
func (c *Client) Run(ctx context.Context, id string, wait bool) (out api.Run, err error) {
	if wait {
		return out, c.get(ctx, noDeadline, &out, url.Values{"wait": {"1"}}, "runs", id)
	}
	return out, c.get(ctx, requestTime, &out, nil, "runs", id)
}

// Explain says what would happen to a job now.
func (c *Client) Explain(ctx context.Context, name jobspec.Name) (out api.Explanation, err error) {
	return out, c.get(ctx, requestTime, &out, nil, "jobs", string(name), "explain")
}

// Output streams the kept bytes of a run from offset on.
func (c *Client) Output(ctx context.Context, run, stream string, offset int64) (io.ReadCloser, error) {
	v := url.Values{}
	setInt(v, "offset", offset)
	ctx, cancel := context.WithTimeout(ctx, outputChunks)
	resp, err := c.do(ctx, http.MethodGet, nil, v, "runs", run, "output", stream)
	if err != nil {
		cancel()
		return nil, err
	}
	return &body{resp.Body, cancel}, nil
}

// body ends its request when it is closed.
type body struct {
	io.ReadCloser
	cancel context.CancelFunc
}

func (b *body) Close() error {
	defer b.cancel()
	return b.ReadCloser.Close()
}

// Status tells how the service is.
func (c *Client) Status(ctx context.Context) (out api.Status, err error) {
	return out, c.get(ctx, requestTime, &out, nil, "status")
}

// Start asks for a run by hand.
func (c *Client) Start(ctx context.Context, name jobspec.Name) (out api.Run, err error) {
	return out, c.post(ctx, startTime, nil, &out, "jobs", string(name), "run")
}

// Cancel ends a run.
func (c *Client) Cancel(ctx context.Context, run string) error {
	return c.post(ctx, requestTime, nil, nil, "runs", run, "cancel")
}

// Hold stops a job until it is released, or until a time where that is not zero.
func (c *Client) Hold(ctx context.Context, name jobspec.Name, reason string, until time.Time) error {
	body := api.HoldRequest{Reason: reason}
	if !until.IsZero() {
		body.Until = &until
	}
	return c.post(ctx, requestTime, body, nil, "jobs", string(name), "hold")
}

// Release lifts a hold.
func (c *Client) Release(ctx context.Context, name jobspec.Name) error {
	return c.post(ctx, requestTime, nil, nil, "jobs", string(name), "release")
}

// Prove asks for the proof of a run.
func (c *Client) Prove(ctx context.Context, q api.ProofQuery) (out api.Proof, err error) {
	v := url.Values{}
	set(v, "checkpoint", q.Checkpoint)
	if q.Full {
		v.Set("full", "1")
	}
	return out, c.get(ctx, verifyTime, &out, v, "runs", q.Run, "proof")
}

// Seal asks for the newest checkpoint.
func (c *Client) Seal(ctx context.Context, q api.SealQuery) (out api.Seal, err error) {
	v := url.Values{}
	setInt(v, "epoch", q.Epoch)
	setInt(v, "size", q.Size)
	return out, c.get(ctx, requestTime, &out, v, "seal")
}

// Verify asks the service to prove its chain.
func (c *Client) Verify(ctx context.Context) (out api.Audit, err error) {
	return out, c.get(ctx, verifyTime, &out, nil, "audit")
}

// Ops gives every op with its signature.
func (c *Client) Ops(ctx context.Context) (out []api.OpFile, err error) {
	return out, c.get(ctx, verifyTime, &out, nil, "ops")
}

func set(v url.Values, key, value string) {
	if value != "" {
		v.Set(key, value)
	}
}

func setInt(v url.Values, key string, n int64) {
	if n != 0 {
		v.Set(key, strconv.FormatInt(n, 10))
	}
}

func setTime(v url.Values, key string, t time.Time) {
	if !t.IsZero() {
		v.Set(key, t.UTC().Format(time.RFC3339Nano))
	}
}
