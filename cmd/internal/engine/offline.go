package engine

import (
	"context"
	"time"

	"github.com/sbxcron/sbxcron/cmd/internal/api"
	"github.com/sbxcron/sbxcron/jobspec"
)

// What needs a running service is refused by name without one.

// Start needs the service. Where the chain cannot be proven a service would not
// help, so that is said first.
func (e *Engine) Start(context.Context, jobspec.Name) (api.Run, error) {
	if err := e.Proven(); err != nil {
		return api.Run{}, err
	}
	return api.Run{}, noService("run a job")
}

// Cancel needs the service.
func (e *Engine) Cancel(context.Context, string) error { return noService("cancel a run") }

// Hold needs the service.
func (e *Engine) Hold(context.Context, jobspec.Name, string, time.Time) error {
	return noService("hold a job")
}

// Release needs the service.
func (e *Engine) Release(context.Context, jobspec.Name) error { return noService("release a job") }

func noService(what string) error {
	return api.New(jobspec.CodeServiceDown, what+": no service is running on these files")
}
