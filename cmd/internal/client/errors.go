package client

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"syscall"

	"github.com/sbxcron/sbxcron/cmd/internal/api"
	"github.com/sbxcron/sbxcron/jobspec"
)

// broken is a request that got no answer. Errors of dial pass through as they
// are: nothing was sent.
func (c *Client) broken(method string, err error) error {
	if e, ok := errors.AsType[*api.Error](err); ok {
		return e
	}
	if errors.Is(err, context.Canceled) {
		return err
	}
	out := api.New(jobspec.CodeServiceDown, fmt.Sprintf("talk to service at %q: %v", c.socket, err))
	if method == http.MethodPost {
		out.Help = `whether it was done is not known; look with "sbxcron list" and "sbxcron history"`
	}
	return out
}

// dialError says why nobody answers at socket.
func dialError(socket string, err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ECONNREFUSED):
		return api.New(jobspec.CodeServiceDown, fmt.Sprintf("no service listens at %q", socket))
	case errors.Is(err, fs.ErrPermission):
		e := api.New(jobspec.CodeRoleInsufficient, fmt.Sprintf("connect to service at %q: permission denied", socket))
		e.Help = "ask an operator, or have the folders above the socket opened to your account"
		return e
	default:
		return api.New(jobspec.CodeServiceDown, fmt.Sprintf("connect to service at %q: %v", socket, err))
	}
}

// foreignServer refuses a socket that somebody else put there.
func foreignServer(socket string, got, want int) error {
	e := api.New(jobspec.CodeIdentityUnproven,
		fmt.Sprintf("socket %q is served by uid %d, not by root or uid %d", socket, got, want))
	e.Help = "nothing was sent; find out who made this socket before you go on"
	return e
}
