package cli

import (
	"context"
	"time"

	"github.com/sbxcron/sbxcron/cmd/internal/api"
	"github.com/sbxcron/sbxcron/cmd/internal/config"
	"github.com/sbxcron/sbxcron/cmd/internal/doctor"
	"github.com/sbxcron/sbxcron/cmd/internal/examine"
	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/signing"
	"github.com/sbxcron/sbxcron/signing/keysource"
	"github.com/sbxcron/sbxcron/store"
)

// Ports are what the command line needs of the rest of the program. wire.go
// fills them.
type Ports struct {
	// Service opens the installation below root ("" for that of the uid): over
	// its socket while a service listens, else on the files.
	Service func(ctx context.Context, root string) (api.Service, error)
	// ServiceAt opens the service that listens on a socket, as one that is forwarded
	// from another machine.
	ServiceAt func(ctx context.Context, socket string) (api.Service, error)
	// Site reads the configuration of that installation.
	Site func(root string) (Site, error)
	// Folders are those of a new installation.
	Folders func(root string) (store.Dirs, error)
	// Key finds a signing key. Nothing is asked and nothing signed yet.
	Key func(ctx context.Context, s keysource.Source) (keysource.Signer, error)
	// Probes are what doctor looks at.
	Probes func(ctx context.Context, root string) (doctor.Facts, error)
	// Backends tries every backend, the strongest first.
	Backends func(ctx context.Context) []jobspec.Sandbox
	// Trial makes a throw-away folder below root, or where no job reaches. Nil
	// where nothing runs.
	Trial func(root string) (*Trial, error)
	// Attempts finds the program of doctor --escape.
	Attempts func() (string, error)
	// Account is the account that jobs for which a name is given run as, and
	// whether the service is root.
	Account func(name string) (uid, gid int, system bool, err error)
	// Try has a job.toml tried by another process of this program and returns its
	// document. Nil where nothing runs.
	Try func(ctx context.Context, path string, job []byte) ([]byte, error)
	// Zone is the name of the machine's time zone, "" when it has none.
	Zone func() string
	// Notices reads notify.toml of the installation below root. Nil where nothing
	// runs.
	Notices func(root string) (Notices, error)
	// Daemon runs the service until ctx ends.
	Daemon func(ctx context.Context, o DaemonOptions) error
}

// Site is the configuration of one installation, read with the caller's rights.
type Site interface {
	// Dirs are where its files lie.
	Dirs() store.Dirs
	// Trust is allowed_signers and revoked_keys.
	Trust() (*signing.Trust, error)
	// SeenDir is where this account keeps what it has seen of hosts.
	SeenDir() (string, error)
	// Pin is the remembered head.
	Pin() (store.Pin, error)
	// DefaultKey is the key that init recorded: a path or a fingerprint, "" for none.
	DefaultKey() (string, error)
	// Policy is the policy in force, checked, with the files that it is made of.
	Policy() (*config.PolicySet, error)
	// CheckPolicy tells all that is wrong with the policy in force.
	CheckPolicy() []config.PolicyProblem
	// SelfImposed reports whether the files belong to those whom they bind.
	SelfImposed() bool
	// Replay judges an op under a policy at a time, by what the policy says alone.
	Replay(op *jobspec.Op, p *jobspec.Policy, at time.Time) (jobspec.Decision, error)
	// Candidate makes the op of a draft. It looks at everything that the draft
	// names with the rights of the account that the job would run as; relative
	// paths lie below base.
	Candidate(ctx context.Context, d *jobspec.Draft, at examine.Position, base string) (*jobspec.Op, error)
	// Rebound makes the op that replaces old with the same spec, bound to what lies
	// on the machine now.
	Rebound(ctx context.Context, old *jobspec.Op, at examine.Position) (*jobspec.Op, error)
	// Examine gathers what Decide needs to judge op at add. identity says why
	// the key does not count, "" if it does; credentials are those that the service
	// has a value for.
	Examine(ctx context.Context, op *jobspec.Op, identity jobspec.Code, detail string, credentials []string) (jobspec.Input, error)
}

// DaemonOptions are the flags of the service.
type DaemonOptions struct {
	Root        string
	LogFormat   string        // text or json
	MaxParallel int           // 0: twice the number of CPUs
	Drain       time.Duration // from SIGTERM to the end of running jobs
	Version     string
}
