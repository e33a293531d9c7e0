package cli

import (
	"fmt"

	"github.com/sbxcron/sbxcron/cmd/internal/api"
	"github.com/sbxcron/sbxcron/jobspec"
)

// Platform is runtime.GOOS of the build. Its zero value runs nothing.
type Platform string

// Runs reports whether jobs can run here. Elsewhere signing, reading and
// auditing work on the files.
func (p Platform) Runs() bool { return p == "linux" }

func (a *App) platformRefusal(command string) error {
	e := api.New(jobspec.CodeSbxPlatformDisabled, fmt.Sprintf("%s: jobs run on linux only, this is %q", command, a.Platform))
	e.Help = "sign, apply, show, explain, next, schema and audit work here; run the service on linux"
	return e
}
