package bwrap

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/runner"
	"github.com/sbxcron/sbxcron/runner/internal/permit"
	"github.com/sbxcron/sbxcron/runner/pin"
	"golang.org/x/sys/unix"
)

// canaryProgram is the payload of the probe.
const canaryProgram = "/usr/bin/true"

// canaryPlan plans a run of true in tier scratch, pinned like any job's program.
func canaryPlan(h runner.Host, a runner.Account, weaker []string) (*runner.Plan, func() error, error) {
	real, err := filepath.EvalSymlinks(canaryProgram)
	if err != nil {
		return nil, nil, fmt.Errorf("find the canary: %w", err)
	}
	set, err := pin.Open(context.Background(), pin.Account{UID: a.UID, GID: a.GID, Drop: a.Drop},
		[]pin.Request{{Use: jobspec.UseBound, Role: jobspec.RoleExecutable, Path: real}}, pin.Options{})
	if err != nil {
		return nil, nil, fmt.Errorf("open the canary: %w", err)
	}
	seen := set.Observation(0)
	spec := &jobspec.Spec{
		Argv:  []string{canaryProgram},
		Bound: []jobspec.Bound{{Role: jobspec.RoleExecutable, Typed: canaryProgram, Real: real, Size: seen.Size, SHA256: seen.SHA256}},
		Limits: jobspec.Limits{TimeoutSeconds: 10, FileSizeBytes: 1 << 20, OpenFiles: 64, PIDs: 16, TmpBytes: 1 << 20,
			OutputBytes: 4096},
		Weaker: weaker,
	}
	plan, err := runner.PlanUnsigned(permit.New(), runner.Order{Job: "canary", Tier: jobspec.Scratch, Net: jobspec.NetNone,
		Spec: spec, Pins: set, Run: "probe", Account: a, Outputs: memoryOutputs{}, Host: h})
	if err != nil {
		set.Close()
		return nil, nil, err
	}
	return plan, set.Close, nil
}

// memoryOutputs keeps what the canary says in memory, and nobody reads it.
type memoryOutputs struct{}

// Create makes a memory file.
func (memoryOutputs) Create(stream string) (*os.File, error) {
	fd, err := unix.MemfdCreate(stream, unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("make memory file %s: %w", stream, err)
	}
	return os.NewFile(uintptr(fd), stream), nil
}
