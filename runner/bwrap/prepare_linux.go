package bwrap

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/record"
	"github.com/sbxcron/sbxcron/runner"
	"github.com/sbxcron/sbxcron/runner/stub"
	"golang.org/x/sys/unix"
)

// Prepare builds the sandbox up to the barrier.
func (b *Backend) Prepare(ctx context.Context, plan *runner.Plan) (runner.Armed, error) {
	m, err := b.machineFor(ctx, plan)
	if err != nil {
		return nil, err
	}
	return b.prepareOn(ctx, plan, m)
}

// machineFor is the machine that a plan meets. That it has no fresh procfs to
// give counts only where the plan does without: what the probe found was tried a
// while ago, and a machine that was mended gives the stronger sandbox.
func (b *Backend) machineFor(ctx context.Context, plan *runner.Plan) (runner.Machine, error) {
	m, err := b.machine()
	if err == nil && plan.Valid() && plan.Blueprint().Accepts(jobspec.WeakerNestedSandbox) {
		m.NoFreshProc = slices.Contains(b.Probe(ctx).Needs, jobspec.WeakerNestedSandbox)
	}
	return m, err
}

func (b *Backend) prepareOn(ctx context.Context, plan *runner.Plan, m runner.Machine) (runner.Armed, error) {
	r, err := b.prepare(ctx, plan, m)
	if err == nil {
		return r, nil
	}
	var no *runner.Refusal
	var p *problem
	switch {
	case errors.As(err, &no) && no.Target == "landlock" && !strings.Contains(no.Detail, landlockRemedy):
		return nil, refusal(no.Reason, no.Target, "%s; %s", no.Detail, landlockRemedy)
	case errors.As(err, &no):
		return nil, no
	case errors.As(err, &p):
		return nil, refusal(p.code, b.path, "%s; %s", p.detail, p.remedy)
	}
	return nil, refusal(jobspec.CodeSbxSetupFailed, "", "%v", err)
}

func (b *Backend) prepare(ctx context.Context, plan *runner.Plan, m runner.Machine) (*run, error) {
	if !plan.Valid() {
		return nil, refusal(jobspec.CodeInternal, "", "the plan is empty")
	}
	p := plan.Blueprint()
	if err := b.checkNeeds(p); err != nil {
		return nil, err
	}
	ahead := b.ahead(p)
	defer ahead.drop()
	prog, err := b.program()
	if err != nil {
		return nil, err
	}
	table, err := plan.Steps(m)
	if err != nil {
		return nil, err
	}
	defer table.Clear() // bwrap has its own copy by then
	guards, err := b.openGuards(p)
	if err != nil {
		return nil, err
	}
	defer closeGuards(guards)
	proc, ours, err := b.launchHeld(prog, p, procfs{b.masks, m.NoFreshProc}, table, guards, ahead)
	if err != nil {
		return nil, err
	}
	r := &run{b: b, p: p, table: table, pipes: ours, proc: proc, leaf: ahead.leaf, channel: ahead.events,
		denials: runner.NewDenials(p.Denials, b.now), exited: make(chan struct{}), ended: make(chan struct{}), payload: -1, init: -1, secrets: p.Mask()}
	go r.reap(watchStarted(proc))
	// What bwrap does not need is done while it builds: a supervisor that must be
	// started first would otherwise be waited for.
	if r.helper, err = b.startSupervisor(p); err != nil {
		r.discard()
		return nil, err
	}
	r.facts = b.plannedFacts(plan, prog, table, m)
	if err := r.arm(ctx, table, guards); err != nil {
		err = r.tooSmall(err)
		r.discard()
		return nil, err
	}
	r.facts.Probe = "passed"
	return r, nil
}

// plannedFacts are what the record says of a run whose probe passes. They take a
// while to write and to hash.
func (b *Backend) plannedFacts(plan *runner.Plan, prog *program, table *stub.Table, m runner.Machine) record.Facts {
	p := plan.Blueprint()
	return record.Facts{Backend: Name, BackendFile: prog.digest, Plan: plan.Digest(), Stub: b.stub.Digest(),
		Layers: append(runner.Layers(table, m), cgroupLayer(m.Held)...), UID: p.Account.UID, Soft: p.Soft(m.Held), Credentials: p.CredentialNames()}
}

// checkNeeds refuses what this backend cannot do and accounts that it cannot
// take on.
func (b *Backend) checkNeeds(p *runner.Blueprint) error {
	for _, need := range p.Require {
		if !slices.Contains(b.capabilities(), need) {
			return refusal(jobspec.CodeSbxFeatureMissing, need, "backend %s does not have %q", Name, need)
		}
	}
	root := os.Geteuid() == 0
	switch {
	case root && !p.Account.Drop:
		return refusal(jobspec.CodeRunAsForbidden, "", "a service that is root must change to another account")
	case !root && (p.Account.UID != os.Geteuid() || p.Account.GID != os.Getegid()):
		return refusal(jobspec.CodeRunAsForbidden, "", "only root can run a job as uid %d, gid %d", p.Account.UID, p.Account.GID)
	}
	return nil
}

// arm waits until the stub says that everything holds, and takes hold of the
// sandbox's init and of the process that will be the payload.
func (r *run) arm(ctx context.Context, table *stub.Table, guards []guarded) error {
	deadline := time.Now().Add(setupTime)
	if err := errors.Join(r.pipes.status.SetReadDeadline(deadline), r.pipes.json.SetReadDeadline(deadline)); err != nil {
		return err
	}
	// What needs no sandbox is done while bwrap builds it.
	if err := errors.Join(r.openOutputs(), r.watchGuards(guards)); err != nil {
		return err
	}
	initPID, err := r.readChild()
	if err != nil {
		return r.setupError(err)
	}
	if r.init, err = unix.PidfdOpen(initPID, 0); err != nil {
		return r.early(table, fmt.Errorf("hold the sandbox's init: %w", err))
	}
	if r.initGone, err = goneOf(initPID); err != nil {
		return r.early(table, fmt.Errorf("hold the sandbox's init: %w", err))
	}
	if ended(r.init, 0) { // then the number may be another's by the second look
		return r.early(table, errors.New("the sandbox's init ended"))
	}
	defer r.killAtEnd(ctx)() // not before: see killEarly
	if err := r.expect(initPID); err != nil {
		return err
	}
	leaf := r.measureLeaf(initPID) // told behind what the sandbox says of itself
	if err := r.awaitReady(initPID, table, deadline); err != nil {
		return err
	}
	if leaf != nil {
		return leaf
	}
	r.channel.Unlink()
	if r.payload < 0 {
		if _, r.payload, err = onlyChild(initPID); err != nil {
			return err
		}
	}
	r.began = time.Now()
	if err := r.measureBefore(); err != nil {
		return err
	}
	if err := r.leaf.Throttle(); err != nil { // here and not at Release, which nothing shall delay
		return refusal(jobspec.CodeSbxResource, "limits.cpus", "%v", err)
	}
	return errors.Join(ctx.Err(), r.pipes.status.SetReadDeadline(time.Time{}), r.pipes.json.SetReadDeadline(time.Time{}))
}

// early is why a sandbox was over before it could be held: the row that its stub
// could not do, where it said so.
func (r *run) early(table *stub.Table, cause error) error {
	if err := r.pipes.status.SetReadDeadline(time.Now().Add(wordTime)); err != nil {
		return err
	}
	for {
		msg, err := r.readMessage()
		if err != nil {
			return r.setupError(cause)
		}
		if stub.IsListener(msg) {
			continue
		}
		if ready, report, err := stub.ParseMessage(msg); err == nil && !ready {
			return rowRefusal(table, report)
		}
		return r.setupError(cause)
	}
}

// wordTime is how long the stub's word may take when the supervisor has seen it, or
// the end of the stub.
const wordTime = 200 * time.Millisecond

// awaitReady waits for the supervisor, which looks for the stub's first word, and
// then reads what the stub says until it is ready. Where the supervisor could not
// begin, what the stub says is the better reason. The private places are held while
// the stub measures.
func (r *run) awaitReady(initPID int, table *stub.Table, until time.Time) error {
	taken := r.handOver(initPID, until)
	var private error
	if taken == nil {
		private = r.openPrivate(initPID)
	} else if err := r.pipes.status.SetReadDeadline(time.Now().Add(wordTime)); err != nil {
		return err
	}
	msg, err := r.readMessage()
	listens := err == nil && stub.IsListener(msg)
	if listens {
		msg, err = r.readMessage()
	}
	switch {
	case taken != nil && (listens && err != nil || errors.Is(err, os.ErrDeadlineExceeded)):
		return taken
	case err != nil:
		return r.setupError(fmt.Errorf("the stub said nothing: %w", err))
	}
	ready, report, err := stub.ParseMessage(msg)
	switch {
	case err != nil:
		return err
	case !ready:
		return rowRefusal(table, report)
	case listens:
		return errors.Join(taken, private)
	}
	return r.openPrivate(initPID)
}

func (r *run) readMessage() ([]byte, error) {
	msg := make([]byte, stub.MessageSize)
	if _, err := io.ReadFull(r.pipes.status, msg); err != nil {
		return nil, err
	}
	return msg, nil
}

// killAtEnd kills the init, and all with it, when ctx ends. What it returns ends
// that, and waits for a kill that has begun: the descriptor may be another's
// once the run is released.
func (r *run) killAtEnd(ctx context.Context) (stop func()) {
	init, done := r.init, make(chan struct{})
	undo := context.AfterFunc(ctx, func() {
		defer close(done)
		r.signal(init, unix.SIGKILL)
	})
	return func() {
		if !undo() {
			<-done
		}
	}
}

// readChild reads bwrap's first status document, which names its child: the
// init of the pid namespace.
func (r *run) readChild() (int, error) {
	r.json = json.NewDecoder(r.pipes.json)
	var doc struct {
		Child int `json:"child-pid"`
	}
	if err := r.json.Decode(&doc); err != nil {
		return 0, fmt.Errorf("bwrap named no child: %w", err)
	}
	if doc.Child <= 1 {
		return 0, fmt.Errorf("bwrap named child %d", doc.Child)
	}
	return doc.Child, nil
}

// setupError says why bwrap ended before the stub was ready. At this point
// nothing of the job has run: what stands on the error stream is bwrap's.
func (r *run) setupError(cause error) error {
	r.killEarly()
	var text [1024]byte
	if err := r.pipes.err.SetReadDeadline(time.Now().Add(time.Second)); err != nil {
		return cause
	}
	n, _ := io.ReadFull(r.pipes.err, text[:])
	said := strings.TrimSpace(string(bytes.ToValidUTF8(text[:n], []byte("?"))))
	if p := r.b.noUserNamespaces(r.p.Account); p != nil {
		return refusal(p.code, "userns", "%s; %s", p.detail, p.remedy)
	}
	if said == "" {
		return refusal(jobspec.CodeSbxSetupFailed, "", "%v", cause)
	}
	return refusal(jobspec.CodeSbxSetupFailed, "", "bwrap: %q", said)
}

// onlyChild opens the one child of the sandbox's init: the stub, which becomes
// the payload. It waits at the barrier, so it cannot end or fork now.
func onlyChild(init int) (pid, pidfd int, err error) {
	path := fmt.Sprintf("/proc/%d/task/%d/children", init, init)
	list, err := os.ReadFile(path)
	if err != nil {
		return 0, -1, fmt.Errorf("find the payload: %w", err)
	}
	pid, err = strconv.Atoi(strings.TrimSpace(string(list)))
	if err != nil {
		return 0, -1, fmt.Errorf("find the payload: children of the sandbox's init are %q", list)
	}
	pidfd, err = unix.PidfdOpen(pid, 0)
	if err != nil {
		return 0, -1, fmt.Errorf("hold the payload: %w", err)
	}
	return pid, pidfd, nil
}
