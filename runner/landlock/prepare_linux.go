package landlock

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/record"
	"github.com/sbxcron/sbxcron/runner"
	"github.com/sbxcron/sbxcron/runner/cause"
	"github.com/sbxcron/sbxcron/runner/cgroup"
	"github.com/sbxcron/sbxcron/runner/internal/ends"
	"github.com/sbxcron/sbxcron/runner/internal/machine"
	"github.com/sbxcron/sbxcron/runner/stub"
)

// noCgroup is why limits are soft here.
const noCgroup = "backend " + Name + " keeps its runs in no cgroup"

func asRefusal(err error) error {
	var no *runner.Refusal
	if !errors.As(err, &no) {
		return refusal(jobspec.CodeSbxSetupFailed, "", "%v", err)
	}
	if no.Target == "landlock" {
		c := cause.Landlock(cause.Read(), runner.LandlockAlone)
		return refusal(no.Reason, no.Target, "%s; %s", no.Detail, c.Remedy)
	}
	return no
}

func (b *Backend) prepare(ctx context.Context, plan *runner.Plan) (*run, error) {
	if !plan.Valid() {
		return nil, refusal(jobspec.CodeInternal, "", "%v", errNoPlan)
	}
	p := plan.Blueprint()
	if err := checkNeeds(p); err != nil {
		return nil, err
	}
	if err := p.CheckHeld(cgroup.Held{}, noCgroup); err != nil {
		return nil, err
	}
	m, err := machine.Read()
	if err != nil {
		return nil, err
	}
	r := &run{b: b, p: p, denials: runner.NewDenials(p.Denials, b.now), payload: -1, ended: make(chan struct{}), began: time.Now()}
	if err := r.build(ctx, plan, m); err != nil {
		r.discard()
		return nil, err
	}
	return r, nil
}

// build makes everything that the run needs, starts the stub and waits until all
// of its rows hold.
func (r *run) build(ctx context.Context, plan *runner.Plan, m runner.Machine) error {
	var err error
	r.secrets = r.p.Mask()
	if r.channel, err = r.b.events.Pipe(); err != nil {
		return err
	}
	if r.place, err = newPlace(r.b.folder, r.p, r.channel); err != nil {
		return err
	}
	l, err := localize(r.p, r.place, r.channel)
	if err != nil {
		return err
	}
	defer l.close()
	if r.table, err = plan.StepsAlone(m, l.Local); err != nil {
		return err
	}
	if err := r.openOutputs(); err != nil {
		return err
	}
	if err := r.watchGuards(); err != nil {
		return err
	}
	if err := r.launch(ctx, l); err != nil {
		return err
	}
	r.facts = record.Facts{Backend: Name, Plan: plan.Digest(), Stub: r.b.stub.Digest(), Layers: runner.Layers(r.table, m), Probe: "passed",
		UID: r.p.Account.UID, Soft: append(r.p.Soft(cgroup.Held{}), "pids", "tmp"), Credentials: r.p.CredentialNames()}
	return ctx.Err()
}

// launch starts the keeper with the stub and waits for the stub's word.
func (r *run) launch(ctx context.Context, l *local) error {
	until := time.Now().Add(setupTime)
	image, err := r.table.Encode()
	if err != nil {
		return err
	}
	var theirs []*os.File
	defer func() {
		for _, f := range theirs {
			f.Close()
		}
	}()
	take := func(f *os.File, err error) error {
		if err == nil {
			theirs = append(theirs, f)
		}
		return err
	}
	if err := take(ends.Stdin(r.p.Stdin)); err != nil {
		return err
	}
	for _, end := range []struct {
		name   string
		ours   **os.File
		weRead bool
	}{{"out", &r.out, true}, {"err", &r.err, true}, {"table", nil, false}, {"status", &r.status, true}, {"barrier", &r.barrier, false}} {
		if end.ours == nil {
			err = take(ends.Sealed(end.name, image))
		} else {
			var other *os.File
			*end.ours, other, err = ends.Pipe(end.name, end.weRead)
			err = take(other, err)
		}
		if err != nil {
			return err
		}
	}
	program, err := r.b.stub.Open()
	if err != nil {
		return err
	}
	defer program.Close()
	k, pid, err := startKeeper(ctx, append(theirs[:len(theirs):len(theirs)], l.files...), program, until)
	if err != nil {
		return err
	}
	r.keeper = k
	r.b.note(r, true)
	defer context.AfterFunc(ctx, k.kill)()
	return r.await(pid, until)
}

// await waits until the stub says that everything holds, and takes hold of it: it
// waits at the barrier now, so its number is still its own.
func (r *run) await(pid int, until time.Time) error {
	if err := r.status.SetReadDeadline(until); err != nil {
		return err
	}
	msg := make([]byte, stub.MessageSize)
	if _, err := io.ReadFull(r.status, msg); err != nil {
		return fmt.Errorf("the stub said nothing: %w", err)
	}
	ready, report, err := stub.ParseMessage(msg)
	if err != nil {
		return err
	}
	if !ready {
		return rowRefusal(r.table, report)
	}
	if r.payload, err = unix.PidfdOpen(pid, 0); err != nil {
		return fmt.Errorf("hold the payload: %w", err)
	}
	return r.status.SetReadDeadline(time.Time{})
}

// rowRefusal says which row of the table did not hold.
func rowRefusal(t *stub.Table, r stub.Report) error {
	text, row := t.RowText(r.Row), stub.Row{}
	if r.Row >= 0 && r.Row < len(t.Rows()) {
		row = t.Rows()[r.Row]
	}
	switch row.Name {
	case "landlock_create_ruleset", "landlock_add_rule", "landlock_restrict_self":
		return refusal(jobspec.CodeSbxFeatureMissing, "landlock", "row %d: %s, got %d", r.Row, text, r.Result)
	case "seccomp":
		return refusal(jobspec.CodeSbxFeatureMissing, "seccomp", "row %d: %s, got %d; use a kernel with seccomp filters", r.Row, text, r.Result)
	}
	return refusal(jobspec.CodeSbxSelftestFailed, row.Name, "row %d: %s, got %d", r.Row, text, r.Result)
}

// note keeps the list of runs that Close ends.
func (b *Backend) note(r *run, there bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if there {
		b.running[r] = true
		return
	}
	delete(b.running, r)
}
