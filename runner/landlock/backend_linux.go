package landlock

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/runner"
	"github.com/sbxcron/sbxcron/runner/internal/channel"
	"github.com/sbxcron/sbxcron/runner/internal/stubfile"
	"github.com/sbxcron/sbxcron/runner/seccomp"
)

// Name is the backend's word in specs and records.
const Name = jobspec.BackendLandlock

// setupTime bounds what happens between the start of a keeper and the barrier.
const setupTime = 20 * time.Second

// Options are what New needs.
type Options struct {
	RunDir string           // RUN: the stub's file and the folders of runs lie here
	Now    func() time.Time // the clock of start and end times
}

// Backend holds jobs with landlock and filters. It may be used by many goroutines.
type Backend struct {
	now    func() time.Time
	host   runner.Host
	stub   stubfile.File
	folder string
	events *channel.Folder

	mu      sync.Mutex
	probed  probeResult
	running map[*run]bool
}

var _ runner.Backend = (*Backend)(nil)

// New writes the stub and removes what a service left that was killed. That the
// kernel gives no landlock is not an error here but what Probe says.
func New(o Options) (*Backend, error) {
	host, err := runner.ReadHost()
	if err != nil {
		return nil, fmt.Errorf("open backend %s: %w", Name, err)
	}
	file, err := stubfile.Write(o.RunDir)
	if err != nil {
		return nil, fmt.Errorf("open backend %s: %w", Name, err)
	}
	runDir, err := filepath.Abs(o.RunDir)
	if err != nil {
		return nil, fmt.Errorf("open backend %s: %w", Name, err)
	}
	folder := filepath.Join(runDir, folderName)
	if err := sweep(folder); err != nil {
		return nil, fmt.Errorf("open backend %s: %w", Name, err)
	}
	events, err := channel.Open(runDir)
	if err != nil {
		return nil, fmt.Errorf("open backend %s: %w", Name, err)
	}
	return &Backend{now: o.Now, host: host, stub: file, folder: folder, events: events, running: map[*run]bool{}}, nil
}

// Name is "landlock".
func (b *Backend) Name() string { return Name }

// Host is what plans for this backend are made with.
func (b *Backend) Host() runner.Host { return b.host }

// Close kills every run that is left and waits until it is gone.
func (b *Backend) Close() error {
	b.mu.Lock()
	var left []*run
	for r := range b.running {
		left = append(left, r)
	}
	b.mu.Unlock()
	for _, r := range left {
		r.keeper.kill()
		<-r.keeper.over
	}
	b.events.Close()
	os.Remove(b.folder) // not empty: somebody has not waited for a run yet
	return nil
}

// capabilities are what specs may require of this backend.
func capabilities() []string {
	return []string{"landlock", "seccomp", "exact_bytes", "rlimits", "scope", "leftovers"}
}

// checkNeeds refuses what this backend cannot do, and who it does not do it for.
func checkNeeds(p *runner.Blueprint) error {
	if os.Geteuid() == 0 || p.Account.Drop {
		return refusal(jobspec.CodeWeakerForbidden, jobspec.WeakerBackendLandlock, "a service that is root never runs a job without namespaces")
	}
	if p.Account.UID != os.Geteuid() || p.Account.GID != os.Getegid() {
		return refusal(jobspec.CodeRunAsForbidden, "", "only root can run a job as uid %d, gid %d", p.Account.UID, p.Account.GID)
	}
	if !p.Accepts(jobspec.WeakerBackendLandlock) {
		return refusal(jobspec.CodeWeakerForbidden, jobspec.WeakerBackendLandlock, "the plan does not accept what this backend does without")
	}
	for _, need := range p.Require {
		if !slices.Contains(capabilities(), need) {
			return lacks(need, "backend.require", "the owner requires it")
		}
	}
	if p.Opens() != (seccomp.Opens{}) {
		return lacks("netns", "net", "sockets would be those of the machine")
	}
	if p.Net != jobspec.NetNone {
		return lacks("netns", "net.mode", "%s needs a network of its own", p.Net)
	}
	if p.Limits.WorkspaceGrowthBytes > 0 {
		return lacks("growth", "limits.workspace_growth", "nobody watches what a run adds")
	}
	return nil
}

// Prepare holds a job up to the barrier.
func (b *Backend) Prepare(ctx context.Context, plan *runner.Plan) (runner.Armed, error) {
	r, err := b.prepare(ctx, plan)
	if err != nil {
		return nil, asRefusal(err)
	}
	return r, nil
}
