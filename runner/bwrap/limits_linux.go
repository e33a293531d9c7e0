package bwrap

import (
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/record"
	"github.com/sbxcron/sbxcron/runner"
	"github.com/sbxcron/sbxcron/runner/cgroup"
	"github.com/sbxcron/sbxcron/runner/internal/channel"
	"github.com/sbxcron/sbxcron/runner/internal/ends"
	"github.com/sbxcron/sbxcron/runner/stub"
	"golang.org/x/sys/unix"
)

// openLeaf makes the cgroup of a run, or refuses where the owner asks for more
// than this machine can hold.
func (b *Backend) openLeaf(p *runner.Blueprint) (*cgroup.Leaf, error) {
	held := b.cgroups.Held()
	if err := p.CheckHeld(held, b.cgroups.Why()); err != nil {
		return nil, err
	}
	l, err := b.cgroups.Leaf(p.Run, p.Bounds(held))
	if err != nil {
		return nil, refusal(jobspec.CodeSbxResource, "cgroup", "%v", err)
	}
	return l, nil
}

// coming are the cgroup and the pipe of a run, which are made while other things
// are prepared: that takes a third of a millisecond, which a start need not wait for.
type coming struct {
	b      *Backend
	done   chan struct{}
	leaf   *cgroup.Leaf
	events *channel.Channel
	err    error
	used   bool
}

func (b *Backend) ahead(p *runner.Blueprint) *coming {
	c := &coming{b: b, done: make(chan struct{})}
	go func() {
		defer close(c.done)
		if c.leaf, c.err = b.openLeaf(p); c.err != nil {
			return
		}
		if c.events, c.err = b.channels.Pipe(); c.err != nil {
			b.dropLeaf(c.leaf)
		}
	}()
	return c
}

// drop removes both unless a run has them.
func (c *coming) drop() {
	if <-c.done; c.err == nil && !c.used {
		c.events.Close()
		c.b.dropLeaf(c.leaf)
	}
}

// launchHeld starts bwrap for a blueprint in a cgroup of its own, with a pipe of its
// own.
func (b *Backend) launchHeld(prog *program, p *runner.Blueprint, view procfs, table *stub.Table, guards []guarded, c *coming) (*os.Process, *pipes, error) {
	if <-c.done; c.err != nil {
		return nil, nil, c.err
	}
	mounted := append(slices.Clone(guards), guarded{path: runner.ChannelPath, file: c.events.Name()})
	proc, ours, err := b.launch(prog, p, view, table, mounted, c.leaf)
	if err != nil {
		return nil, nil, err
	}
	c.used = true
	return proc, ours, nil
}

// tooSmall puts the cause before what bwrap says when its memory ran out.
func (r *run) tooSmall(err error) error {
	if r.leaf.Events().OOMKills == 0 {
		return err
	}
	return refusal(jobspec.CodeLimitMemory, "limits.memory", "the sandbox itself does not fit into %d bytes", r.p.Limits.MemoryBytes)
}

// measureLeaf makes sure that the namespace's init, and so every process that
// comes from it, is in the run's cgroup.
func (r *run) measureLeaf(pid int) error {
	in, err := r.leaf.Has(pid)
	if err == nil && !in {
		err = refusal(jobspec.CodeSbxSelftestFailed, "cgroup", "the sandbox is not in the cgroup of its run")
	}
	return err
}

// dropLeaf removes a run's cgroup. Nobody waits for that. Nothing is left in it
// unless something went wrong; then that is killed first.
func (b *Backend) dropLeaf(l *cgroup.Leaf) {
	b.leaving.Go(func() {
		if l.Remove() != nil && l.Kill() == nil {
			l.Remove() // what cannot be killed keeps the leaf, and the next service reaps it
		}
	})
}

// How often a running job's cgroup is looked at: often at first, when a bomb
// would go off, and seldom in a long run.
const (
	firstLook = 20 * time.Millisecond
	lastLook  = 500 * time.Millisecond
)

// watchLimits ends a run that has used up what it may have. The kernel has
// refused already; what is left of such a job only burns time.
func (r *run) watchLimits() {
	defer r.watchers.Done()
	for pause := firstLook; ; pause = min(2*pause, lastLook) {
		select {
		case <-r.ended:
			return
		case <-time.After(pause):
		}
		why := exceeded(r.leaf.Events())
		if why == "" && r.full(time.Now()) {
			why = jobspec.CodeLimitTmp
		}
		if why != "" {
			r.Kill(why)
			return
		}
	}
}

// exceeded is the limit that the events tell of, "" for none.
func exceeded(e cgroup.Events) jobspec.Code {
	switch {
	case e.OOMKills > 0:
		return jobspec.CodeLimitMemory
	case e.PIDsMax > 0:
		return jobspec.CodeLimitPIDs
	}
	return ""
}

// overLimit tells which limit ended a run that nobody else has ended: the
// kernel's own counts first, then the signal that stands for one limit alone.
func (r *run) overLimit(end *record.End) jobspec.Code {
	if why := exceeded(r.events); why != "" {
		return why
	}
	switch sig := r.signalOf(end); sig {
	case unix.SignalName(unix.SIGXFSZ):
		return jobspec.CodeLimitFsize
	case unix.SignalName(unix.SIGXCPU):
		return jobspec.CodeLimitCPU
	}
	return ""
}

// signalOf is the signal that ended the payload. Where the kernel does not tell
// (before Linux 6.15), a status of 128 and the number of a signal is taken for
// it: no program ends with these two by its own choice.
func (r *run) signalOf(end *record.End) string {
	if end.Signal != "" || r.exact || !end.Exited || end.ExitCode <= 128 {
		return end.Signal
	}
	return unix.SignalName(unix.Signal(end.ExitCode - 128))
}

// limitReason is what the record says of a limit.
func (r *run) limitReason(why jobspec.Code) record.Reason {
	l := r.p.Limits
	switch why {
	case jobspec.CodeLimitTimeout:
		return record.Reason{Code: why, Target: fmt.Sprintf("%d s", l.TimeoutSeconds)}
	case jobspec.CodeLimitMemory:
		return record.Reason{Code: why, Target: fmt.Sprintf("%d bytes", l.MemoryBytes), Detail: fmt.Sprintf("the kernel killed %d processes", r.events.OOMKills)}
	case jobspec.CodeLimitPIDs:
		return record.Reason{Code: why, Target: fmt.Sprintf("%d processes", l.PIDs), Detail: fmt.Sprintf("the kernel refused %d forks", r.events.PIDsMax)}
	case jobspec.CodeLimitFsize:
		return record.Reason{Code: why, Target: fmt.Sprintf("%d bytes", l.FileSizeBytes)}
	case jobspec.CodeLimitCPU:
		return record.Reason{Code: why, Target: fmt.Sprintf("%d percent", l.CPUPercent), Detail: fmt.Sprintf("a process used %d s of processor time, as much as the whole job may", l.TimeoutSeconds*l.CPUPercent/100)}
	case jobspec.CodeLimitWorkspace:
		return record.Reason{Code: why, Target: fmt.Sprintf("%d bytes", l.WorkspaceGrowthBytes), Detail: fmt.Sprintf("what it may write to grew by %d bytes", r.grown.Load())}
	case jobspec.CodeLimitOutput:
		return record.Reason{Code: why, Target: fmt.Sprintf("%d bytes", ends.FloodBytes(l.OutputBytes)), Detail: "a stream brought more than is ever read; only limits.output of it would have been kept"}
	}
	return record.Reason{Code: why}
}

// starved adds to a run over its time that it waited for its share of CPU for
// most of that: a higher limit, not more time, would have helped.
func (r *run) starved(end *record.End) {
	if took := end.EndedAt.Sub(end.StartedAt); took > 0 && r.events.Throttled > took/2 {
		end.Reasons = append(end.Reasons, record.Reason{Code: jobspec.CodeLimitCPU, Target: fmt.Sprintf("%d percent", r.p.Limits.CPUPercent),
			Detail: fmt.Sprintf("the job waited %d of its %d ms for its share", r.events.Throttled.Milliseconds(), took.Milliseconds())})
	}
}

// cgroupLayer is the record's word for bounds that hold the run as a whole.
func cgroupLayer(h cgroup.Held) []string {
	if h.Memory && h.PIDs && h.CPU {
		return []string{"cgroup"}
	}
	return nil
}
