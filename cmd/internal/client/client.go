package client

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/sbxcron/sbxcron/cmd/internal/api"
	"github.com/sbxcron/sbxcron/jobspec"
)

const (
	maxBody      = 64 << 20
	dialTime     = 5 * time.Second
	requestTime  = 30 * time.Second
	startTime    = 5 * time.Minute // a start waits for a free place
	verifyTime   = 10 * time.Minute
	outputChunks = 10 * time.Minute // for one reading of a stream's kept bytes
)

// noDeadline is for a request that ends when a run ends.
const noDeadline time.Duration = 0

// Client is a service that listens on a socket.
type Client struct {
	socket string
	http   *http.Client
}

var _ api.Service = (*Client)(nil)

// Dial finds out whether a process of root or of uid listens on socket. The
// connection is not kept: each request makes its own and checks again.
func Dial(ctx context.Context, socket string, uid int) (*Client, error) {
	conn, err := dial(ctx, socket, uid)
	if err != nil {
		return nil, err
	}
	conn.Close()
	transport := &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return dial(ctx, socket, uid)
		},
	}
	noRedirect := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &Client{socket: socket, http: &http.Client{Transport: transport, CheckRedirect: noRedirect}}, nil
}

// Close ends nothing but idle connections, of which there are none.
func (c *Client) Close() error {
	c.http.CloseIdleConnections()
	return nil
}

// get decodes the answer to a GET into out.
func (c *Client) get(ctx context.Context, limit time.Duration, out any, query url.Values, path ...string) error {
	return c.call(ctx, limit, http.MethodGet, nil, out, query, path...)
}

// post sends body as JSON and decodes the answer into out; nil stands for none.
func (c *Client) post(ctx context.Context, limit time.Duration, body, out any, path ...string) error {
	return c.call(ctx, limit, http.MethodPost, body, out, nil, path...)
}

func (c *Client) call(ctx context.Context, limit time.Duration, method string, body, out any, query url.Values, path ...string) error {
	if limit != noDeadline {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, limit)
		defer cancel()
	}
	resp, err := c.do(ctx, method, body, query, path...)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(resp.Body, maxBody+1))
	switch {
	case err != nil:
		return c.broken(method, err)
	case len(raw) > maxBody:
		return c.broken(method, fmt.Errorf("the answer is longer than %d bytes", maxBody))
	case out == nil:
		return nil
	}
	if err := json.Unmarshal(raw, out); err != nil {
		return c.broken(method, fmt.Errorf("the answer is not what was asked for: %w", err))
	}
	return nil
}

// do makes the request; an answer that is not 2xx is returned as its error. The
// caller closes the body.
func (c *Client) do(ctx context.Context, method string, body any, query url.Values, path ...string) (*http.Response, error) {
	var payload io.Reader
	if body != nil {
		raw, err := json.Marshal(body)
		if err != nil {
			return nil, fmt.Errorf("encode request: %w", err)
		}
		payload = bytes.NewReader(raw)
	}
	req, err := http.NewRequestWithContext(ctx, method, target(query, path...), payload)
	if err != nil {
		return nil, fmt.Errorf("make request: %w", err)
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, c.broken(method, err)
	}
	if resp.StatusCode/100 == 2 {
		return resp, nil
	}
	defer resp.Body.Close()
	return nil, c.refusal(resp)
}

// target joins escaped path segments; the host is a name for the protocol only.
func target(query url.Values, path ...string) string {
	u := "http://sbxcron/v1"
	for _, p := range path {
		u += "/" + url.PathEscape(p)
	}
	if len(query) > 0 {
		u += "?" + query.Encode()
	}
	return u
}

// wireError is api.Error as it comes over the socket. Its code is plain text: a
// newer service may know codes that this client does not.
type wireError struct {
	Code    string       `json:"code"`
	Exit    int          `json:"exit"`
	Class   string       `json:"exit_class"`
	Message string       `json:"message"`
	Hint    string       `json:"hint"`
	Job     jobspec.Name `json:"job"`
	Reasons []wireReason `json:"reasons"`
	Head    *api.Head    `json:"head"`
}

type wireReason struct {
	Code   string `json:"code"`
	Layer  string `json:"layer"`
	Rule   string `json:"rule"`
	Target string `json:"target"`
	Detail string `json:"detail"`
	Remedy string `json:"remedy"`
}

// refusal reads an error document. An exit status of 0 would turn a refusal
// into a success, so it never comes through.
func (c *Client) refusal(resp *http.Response) error {
	raw, err := io.ReadAll(io.LimitReader(resp.Body, maxBody))
	var w wireError
	if err == nil {
		err = json.Unmarshal(raw, &w)
	}
	if err != nil || w.Code == "" {
		return api.New(jobspec.CodeInternal, fmt.Sprintf("service at %q answered %q without saying why", c.socket, resp.Status))
	}
	out := &api.Error{ErrCode: jobspec.Code(w.Code), Exit: max(w.Exit, 1), Class: w.Class,
		Message: w.Message, Help: w.Hint, Job: w.Job, Head: w.Head}
	for _, r := range w.Reasons {
		out.Reasons = append(out.Reasons, api.Reason{Code: jobspec.Code(r.Code), Layer: r.Layer, Rule: r.Rule,
			Target: r.Target, Detail: r.Detail, Remedy: r.Remedy})
	}
	return out
}
