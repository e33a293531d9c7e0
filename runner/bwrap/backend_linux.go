package bwrap

import (
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/sbxcron/sbxcron/runner"
	"github.com/sbxcron/sbxcron/runner/cgroup"
	"github.com/sbxcron/sbxcron/runner/internal/channel"
	host "github.com/sbxcron/sbxcron/runner/internal/machine"
	"github.com/sbxcron/sbxcron/runner/internal/stubfile"
	"github.com/sbxcron/sbxcron/runner/supervise"
	"golang.org/x/sys/unix"
)

// Name is the backend's word in specs and records.
const Name = "bwrap"

// setupTime bounds what happens between the start of bwrap and the barrier.
const setupTime = 20 * time.Second

// Options are what New needs.
type Options struct {
	RunDir string           // RUN: the stub's file lies here
	Now    func() time.Time // the clock of start and end times
}

// Backend builds sandboxes with bubblewrap. It may be used by many goroutines.
type Backend struct {
	now      func() time.Time
	host     runner.Host
	stub     stubfile.File
	masks    []string
	channels *channel.Folder
	spawn    *spawner
	helpers  *supervise.Pool
	cgroups  *cgroup.Tree
	reaped   []string       // runs of a dead service that were still there
	leaving  sync.WaitGroup // groups of ended runs that are being removed
	path     string         // of the program

	mu     sync.Mutex
	opened *program
	probed probeResult
}

var _ runner.Backend = (*Backend)(nil)

// New writes the stub and starts the thread that starts sandboxes. The process
// becomes the reaper of its descendants (PR_SET_CHILD_SUBREAPER): the init of a
// sandbox is waited for by nobody else when bwrap has ended, and what the job
// used is counted there. A missing bwrap is not an error here but what Probe
// says.
func New(o Options) (*Backend, error) { return newBackend(o, Program) }

func newBackend(o Options, path string) (*Backend, error) {
	host, err := runner.ReadHost()
	if err != nil {
		return nil, fmt.Errorf("open backend %s: %w", Name, err)
	}
	file, err := stubfile.Write(o.RunDir)
	if err != nil {
		return nil, fmt.Errorf("open backend %s: %w", Name, err)
	}
	channels, err := channel.Open(o.RunDir)
	if err != nil {
		return nil, fmt.Errorf("open backend %s: %w", Name, err)
	}
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return nil, fmt.Errorf("open backend %s: become reaper: %w", Name, err)
	}
	spawn, err := newSpawner()
	if err != nil {
		return nil, fmt.Errorf("open backend %s: %w", Name, err)
	}
	groups := cgroup.Open(cgroup.Folder(o.RunDir))
	reaped, err := groups.Reap()
	if err != nil {
		spawn.close()
		return nil, fmt.Errorf("open backend %s: %w", Name, err)
	}
	b := &Backend{now: o.Now, host: host, stub: file, channels: channels, masks: procMasks(), spawn: spawn, path: path,
		cgroups: groups, reaped: reaped}
	b.helpers = b.newSupervisors()
	return b, nil
}

// Name is "bwrap".
func (b *Backend) Name() string { return Name }

// Host is what plans for this backend are made with.
func (b *Backend) Host() runner.Host { return b.host }

// Reaped are the ids of runs that a dead service of the same RUN had left and
// that New has ended.
func (b *Backend) Reaped() []string { return b.reaped }

// Close ends the backend and kills every run that is left.
func (b *Backend) Close() error {
	b.spawn.close()
	b.leaving.Wait()
	b.cgroups.Close()
	b.helpers.Close()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.channels.Close()
	if b.opened == nil {
		return nil
	}
	err := b.opened.file.Close()
	b.opened = nil
	return err
}

// program opens bwrap once and keeps it; while it is missing each call looks again.
func (b *Backend) program() (*program, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.opened != nil {
		return b.opened, nil
	}
	p, err := openProgram(b.path)
	if err != nil {
		return nil, err
	}
	b.opened = p
	return p, nil
}

// machine reads what a table depends on. It is read for every run: a service
// whose landlock was taken away must not go on from memory.
func (b *Backend) machine() (runner.Machine, error) {
	m, err := machine()
	m.Held = b.cgroups.Held()
	return m, err
}

func machine() (runner.Machine, error) { return host.Read() }

const landlockRemedy = "use a kernel with landlock (5.19 or newer) and have it in the list lsm= of the kernel's command line"

// capabilities are what specs may require of this backend.
func (b *Backend) capabilities() []string {
	all := []string{"userns", "pidns", "netns", "ipcns", "utsns", "mounts", runner.FreshProc, "landlock", "seccomp", "exact_bytes", "rlimits",
		"listener", "growth", "leftovers"}
	return append(all, runner.HeldWords(b.cgroups.Held())...)
}

func closeAll(files ...*os.File) {
	for _, f := range files {
		if f != nil {
			f.Close()
		}
	}
}
