//go:build !linux

package client

import (
	"context"
	"net"

	"github.com/sbxcron/sbxcron/cmd/internal/api"
	"github.com/sbxcron/sbxcron/jobspec"
)

// dial finds nobody: the service runs on Linux only.
func dial(context.Context, string, int) (net.Conn, error) {
	return nil, api.New(jobspec.CodeServiceDown, "the service runs on linux only")
}
