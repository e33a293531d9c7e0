package bwrap

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/record"
	"github.com/sbxcron/sbxcron/runner"
	"github.com/sbxcron/sbxcron/runner/cause"
	"github.com/sbxcron/sbxcron/runner/internal/ends"
	"golang.org/x/sys/unix"
)

// How long a probe's answer is believed. A failure may be repaired at any time.
const (
	goodFor = 10 * time.Minute
	badFor  = 2 * time.Second
)

// canaryID is the account of the canary in system mode, out of the range of
// throw-away ids (61184 to 65519), next to it.
const canaryID = 61183

// probeResult is an answer and what it was the answer about.
type probeResult struct {
	key  string
	at   time.Time
	said jobspec.Sandbox
}

// Probe runs a canary through the very road that jobs take. The answer is kept
// for a while for the same kernel, boot and program, and is for all jobs: one that
// is held or removed while it asks must not make it a no.
func (b *Backend) Probe(ctx context.Context) jobspec.Sandbox {
	ctx = context.WithoutCancel(ctx)
	prog, err := b.program()
	if err != nil {
		return b.unusable(err, jobspec.Sandbox{Backend: Name})
	}
	key, version := machineKey(prog), ""
	b.mu.Lock()
	last := b.probed
	b.mu.Unlock()
	keep := badFor
	if last.said.Usable {
		keep = goodFor
	}
	if age := time.Since(last.at); last.key == key && !last.at.IsZero() && age < keep {
		return last.said
	}
	said := jobspec.Sandbox{Backend: Name, Digest: prog.digest, Capabilities: b.capabilities()}
	version, err = b.version(prog)
	said.Version = version
	if err == nil {
		said, err = b.try(ctx, prog, said)
	}
	if err != nil {
		said = b.unusable(err, said)
	}
	b.mu.Lock()
	b.probed = probeResult{key: key, at: time.Now(), said: said}
	b.mu.Unlock()
	return said
}

// try runs canaries: the whole sandbox first, and where it fails for want of one
// thing that a weaker choice names, the sandbox without that.
func (b *Backend) try(ctx context.Context, prog *program, said jobspec.Sandbox) (jobspec.Sandbox, error) {
	m, err := b.machine()
	if err != nil {
		return said, err
	}
	without := func(choice, capability string, c cause.Cause) {
		said.Needs, said.Detail, said.Remedy = []string{choice}, c.Detail, c.Remedy
		said.Capabilities = slices.DeleteFunc(said.Capabilities, func(s string) bool { return s == capability })
	}
	said.Usable = true
	if c := cause.Landlock(cause.Facts{Landlock: m.LandlockABI}, runner.LandlockFloor); c != (cause.Cause{}) {
		without(jobspec.WeakerLandlockMissing, "landlock", c)
		return said, b.canary(ctx, m, said.Needs...)
	}
	nested := m
	nested.NoFreshProc = true
	weaker, err := needsWeaker(func() error { return b.canary(ctx, m) }, func() error {
		if old := b.tooOld(prog, said.Version); old != nil {
			return old
		}
		return b.canary(ctx, nested, jobspec.WeakerNestedSandbox)
	})
	if weaker {
		without(jobspec.WeakerNestedSandbox, runner.FreshProc, cause.NoProc(cause.Read()))
	}
	return said, err
}

// needsWeaker reports whether the machine lacks what the weaker canary does
// without. The whole one must fail before it and after it: a job that uses up what
// a canary needs can make one fail, and must not bring others into a weaker sandbox.
func needsWeaker(whole, weaker func() error) (bool, error) {
	err := whole()
	var no *runner.Refusal
	if !errors.As(err, &no) || no.Reason != jobspec.CodeSbxSetupFailed {
		return false, err
	}
	if other := weaker(); other != nil {
		if old, ok := errors.AsType[*problem](other); ok && old.lasting {
			return false, old
		}
		return false, err
	}
	if again := whole(); again == nil || !errors.As(again, &no) || no.Reason != jobspec.CodeSbxSetupFailed {
		return false, again
	}
	return true, nil
}

// unusable writes an error into the answer.
func (b *Backend) unusable(err error, said jobspec.Sandbox) jobspec.Sandbox {
	said.Usable, said.Capabilities, said.Needs = false, nil, nil
	said.Problem, said.Detail = jobspec.CodeSbxSelftestFailed, err.Error()
	said.Remedy = "run sbxcron doctor and repair what it names"
	var p *problem
	var no *runner.Refusal
	switch {
	case errors.As(err, &p):
		said.Problem, said.Detail, said.Remedy, said.Lasting = p.code, p.detail, p.remedy, p.lasting
	case errors.As(err, &no):
		said.Problem, said.Detail = no.Reason, no.Detail
		if no.Target == "landlock" {
			said.Remedy = landlockRemedy
		}
		if p := b.noUserNamespaces(canaryAccount()); no.Target == "userns" && p != nil {
			said.Remedy, said.Lasting = p.remedy, p.lasting
		}
	}
	return said
}

func machineKey(p *program) string {
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		return "" // matches nothing: probe again
	}
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return unix.ByteSliceToString(u.Release[:]) + " " + strings.TrimSpace(string(boot)) + " " + p.digest.String()
}

// canaryAccount is this process's own account, or as root one that nobody has.
func canaryAccount() runner.Account {
	if os.Geteuid() == 0 {
		return runner.Account{UID: canaryID, GID: canaryID, Drop: true}
	}
	return runner.Account{UID: os.Geteuid(), GID: os.Getegid()}
}

// credential is what a child of the spawn thread changes to.
func credential(a runner.Account) *syscall.Credential {
	if !a.Drop {
		return nil
	}
	return &syscall.Credential{Uid: uint32(a.UID), Gid: uint32(a.GID), Groups: []uint32{}}
}

// canary runs true in tier scratch and wants it to succeed.
func (b *Backend) canary(ctx context.Context, m runner.Machine, weaker ...string) error {
	plan, closePins, err := canaryPlan(b.host, canaryAccount(), weaker)
	if err != nil {
		return err
	}
	defer closePins()
	armed, err := b.prepareOn(ctx, plan, m)
	if err != nil {
		return err
	}
	proc, err := armed.Release()
	if err != nil {
		return err
	}
	if end := proc.Wait(); end.Outcome != record.OutcomeSucceeded {
		return &problem{jobspec.CodeSbxSelftestFailed, fmt.Sprintf("the canary ended as %s, exit code %d, signal %q: %v", end.Outcome, end.ExitCode, end.Signal, end.Reasons),
			"run sbxcron doctor and repair what it names", false}
	}
	return nil
}

// noUserNamespaces tries to make a user namespace as the account; nil means
// that it can.
func (b *Backend) noUserNamespaces(a runner.Account) *problem {
	err := b.tryUserNamespace(a)
	if err == nil {
		return nil
	}
	return missing(cause.NoUserNS(cause.Read(), err))
}

func (b *Backend) tryUserNamespace(a runner.Account) error {
	prog, err := b.program()
	if err != nil {
		return err
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer null.Close()
	proc, err := b.spawn.start(prog, []string{"bwrap", "--unshare-user", "--ro-bind", "/", "/", "/bin/true"}, []*os.File{null, null, null}, credential(a))
	if err != nil {
		return err
	}
	state, err := proc.Wait()
	if err != nil || state.Success() {
		return err
	}
	if err := b.spawn.userNamespace(prog, null, a); err != nil {
		return err
	}
	return fmt.Errorf("bwrap ended with %s", state)
}

// userNamespace starts a program in a namespace of its own, to learn what the
// kernel says. Only an ordinary user can ask so: where the account is not ours,
// its ids are not known in the new namespace.
func (s *spawner) userNamespace(p *program, null *os.File, a runner.Account) error {
	if a.Drop {
		return nil
	}
	var said error
	err := s.do(func() {
		proc, err := os.StartProcess("/proc/self/fd/3", []string{"bwrap", "--version"}, &os.ProcAttr{Dir: "/", Env: []string{},
			Files: []*os.File{null, null, null, p.file}, Sys: &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWUSER, Pdeathsig: syscall.SIGKILL}})
		if said = err; err == nil {
			_, said = proc.Wait()
		}
	})
	return errors.Join(err, said)
}

// version asks the program, with nothing of a job near it.
func (b *Backend) version(prog *program) (string, error) {
	text, err := b.ask(prog, "--version", 256)
	return strings.TrimSpace(strings.TrimPrefix(text, "bubblewrap")), err
}

// tooOld names an option that every run gives and the program does not know; nil
// where it knows all. It is asked only when a canary has failed.
func (b *Backend) tooOld(prog *program, version string) *problem {
	text, err := b.ask(prog, "--help", 64<<10)
	if err != nil || text == "" {
		return nil
	}
	for _, option := range []string{"--args", "--bind-fd", "--ro-bind-fd", "--ro-bind-data", "--perms", "--size", "--disable-userns", "--json-status-fd", "--cap-drop"} {
		if !strings.Contains(text, option+" ") && !strings.Contains(text, option+"\n") {
			return missing(cause.OldBwrap(version, option))
		}
	}
	return nil
}

// ask runs the program with one option and returns what it prints.
func (b *Backend) ask(prog *program, option string, most int64) (string, error) {
	ours, theirs, err := ends.Pipe("answer", true)
	if err != nil {
		return "", err
	}
	defer ours.Close()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		theirs.Close()
		return "", err
	}
	proc, err := b.spawn.start(prog, []string{"bwrap", option}, []*os.File{null, theirs, theirs}, credential(canaryAccount()))
	closeAll(null, theirs)
	if err != nil {
		return "", fmt.Errorf("ask bwrap %s: %w", option, err)
	}
	if err := ours.SetReadDeadline(time.Now().Add(setupTime)); err != nil {
		return "", err
	}
	text, err := io.ReadAll(io.LimitReader(ours, most))
	if _, werr := proc.Wait(); err != nil || werr != nil {
		return "", errors.Join(err, werr)
	}
	return string(text), nil
}
