package landlock

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/record"
	"github.com/sbxcron/sbxcron/runner"
	"github.com/sbxcron/sbxcron/runner/cause"
	"github.com/sbxcron/sbxcron/runner/internal/permit"
	"github.com/sbxcron/sbxcron/runner/pin"
)

// How long a probe's answer is believed. A failure may be repaired at any time.
const (
	goodFor = 10 * time.Minute
	badFor  = 2 * time.Second
)

// probeResult is an answer and the ABI that it was the answer about.
type probeResult struct {
	abi  int
	at   time.Time
	said jobspec.Sandbox
}

// Probe runs a canary through the very road that jobs take. The answer is for all
// jobs: one that is held or removed while it asks must not make it a no.
func (b *Backend) Probe(ctx context.Context) jobspec.Sandbox {
	ctx = context.WithoutCancel(ctx)
	facts := cause.Read()
	b.mu.Lock()
	last := b.probed
	b.mu.Unlock()
	keep := badFor
	if last.said.Usable {
		keep = goodFor
	}
	if !last.at.IsZero() && last.abi == facts.Landlock && time.Since(last.at) < keep {
		return last.said
	}
	said := b.look(ctx, facts)
	b.mu.Lock()
	b.probed = probeResult{abi: facts.Landlock, at: time.Now(), said: said}
	b.mu.Unlock()
	return said
}

func (b *Backend) look(ctx context.Context, facts cause.Facts) jobspec.Sandbox {
	said := jobspec.Sandbox{Backend: Name, Version: "ABI " + strconv.Itoa(facts.Landlock)}
	no := func(code jobspec.Code, detail, remedy string, lasting bool) jobspec.Sandbox {
		said.Problem, said.Detail, said.Remedy, said.Lasting = code, detail, remedy, lasting
		return said
	}
	if os.Geteuid() == 0 {
		return no(jobspec.CodeWeakerForbidden, "a service that is root never runs a job without namespaces", "let bwrap work here, or run the service as an ordinary user", true)
	}
	for _, c := range []cause.Cause{cause.Landlock(facts, runner.LandlockAlone), cause.Seccomp(facts)} {
		if c != (cause.Cause{}) {
			return no(jobspec.CodeSbxFeatureMissing, c.Detail, c.Remedy, c.Lasting)
		}
	}
	if err := b.canary(ctx); err != nil {
		code := jobspec.CodeSbxSelftestFailed
		var refused *runner.Refusal
		if errors.As(err, &refused) {
			code = refused.Reason
		}
		return no(code, err.Error(), "run sbxcron doctor and repair what it names", false)
	}
	said.Usable, said.Capabilities, said.Needs = true, capabilities(), []string{jobspec.WeakerBackendLandlock}
	return said
}

// canaryProgram is the payload of the probe.
const canaryProgram = "/usr/bin/true"

// canary runs true in tier scratch and wants it to succeed.
func (b *Backend) canary(ctx context.Context) error {
	real, err := filepath.EvalSymlinks(canaryProgram)
	if err != nil {
		return fmt.Errorf("find the canary: %w", err)
	}
	a := runner.Account{UID: os.Geteuid(), GID: os.Getegid()}
	set, err := pin.Open(ctx, pin.Account{UID: a.UID, GID: a.GID}, []pin.Request{{Use: jobspec.UseBound, Role: jobspec.RoleExecutable, Path: real}}, pin.Options{})
	if err != nil {
		return fmt.Errorf("open the canary: %w", err)
	}
	defer set.Close()
	seen := set.Observation(0)
	spec := &jobspec.Spec{
		Argv:   []string{canaryProgram},
		Bound:  []jobspec.Bound{{Role: jobspec.RoleExecutable, Typed: canaryProgram, Real: real, Size: seen.Size, SHA256: seen.SHA256}},
		Limits: jobspec.Limits{TimeoutSeconds: 10, FileSizeBytes: 1 << 20, OpenFiles: 64, PIDs: 16, TmpBytes: 1 << 20, OutputBytes: 4096},
		Weaker: []string{jobspec.WeakerBackendLandlock},
	}
	plan, err := runner.PlanUnsigned(permit.New(), runner.Order{Job: "canary", Tier: jobspec.Scratch, Net: jobspec.NetNone,
		Spec: spec, Pins: set, Run: "probe", Account: a, Outputs: memoryOutputs{}, Host: b.host})
	if err != nil {
		return err
	}
	armed, err := b.Prepare(ctx, plan)
	if err != nil {
		return err
	}
	proc, err := armed.Release()
	if err != nil {
		return err
	}
	if end := proc.Wait(); end.Outcome != record.OutcomeSucceeded {
		return fmt.Errorf("the canary ended as %s, exit code %d, signal %q: %v", end.Outcome, end.ExitCode, end.Signal, end.Reasons)
	}
	return nil
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
