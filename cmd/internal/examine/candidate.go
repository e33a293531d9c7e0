package examine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/runner/pin"
	"github.com/sbxcron/sbxcron/runner/throwaway"
	"github.com/sbxcron/sbxcron/scheduler/calendar"
)

// Position is where a new op stands in the chain, and who will sign it.
type Position struct {
	Host      jobspec.HostID
	Seq       int64
	Prev      jobspec.Digest
	Action    jobspec.Action
	Revision  int64
	Principal jobspec.Principal
	Now       time.Time
}

// Candidate makes the unsigned op of a draft: it finds and hashes every file
// that the command names, with the rights of the account that the job will run
// as, and resolves every default. Relative paths lie beside the job's cwd, and
// the cwd beside base.
func (x *Examiner) Candidate(ctx context.Context, d *jobspec.Draft, at Position, base string) (*jobspec.Op, error) {
	policy, err := x.policy()
	if err != nil {
		return nil, err
	}
	facts := jobspec.Facts{
		Host: at.Host, Seq: at.Seq, Prev: at.Prev, Action: at.Action, Revision: at.Revision,
		Principal: at.Principal, Now: at.Now, Zone: LocalZone(),
		Policy: digestsOf(policy, at.Principal),
	}
	if facts.RunAs, err = x.runAs(d, policy.For(at.Principal).Principals[at.Principal]); err != nil {
		return nil, err
	}
	if err := x.findPaths(ctx, d, base, &facts); err != nil {
		return nil, err
	}
	if facts.Words, facts.Gap, err = words(d, facts); err != nil {
		return nil, err
	}
	return jobspec.Resolve(d, facts)
}

// runAs is the account that is bound: the one that the draft names, else the
// first that policy gives the principal, else nobody.
func (x *Examiner) runAs(d *jobspec.Draft, c jobspec.Ceiling) (jobspec.RunAs, error) {
	name := d.RunAs
	if name == "" && x.Site.System() && len(c.RunAs) > 0 {
		name = c.RunAs[0]
	}
	if name == "" {
		return jobspec.RunAs{}, nil
	}
	r, ok := LookupUser(name)
	if ok && r.UID == 0 { // refused before any path would be opened as root
		return jobspec.RunAs{}, &jobspec.FieldError{Reason: jobspec.CodeRunAsForbidden, Field: "run_as",
			Detail: fmt.Sprintf("%q has uid 0, and no job runs as root", name)}
	}
	if !ok {
		return jobspec.RunAs{}, &jobspec.FieldError{Reason: jobspec.CodeRunAsForbidden, Field: "run_as",
			Detail: fmt.Sprintf("there is no account %q", name), Remedy: "name an account of this machine that policy gives the principal"}
	}
	return r, nil
}

// findPaths fills the cwd, the path lists and what is bound.
func (x *Examiner) findPaths(ctx context.Context, d *jobspec.Draft, base string, f *jobspec.Facts) error {
	acct := x.draftAccount(f.RunAs)
	where := "/"
	if d.Cwd != "" {
		where = absolute(d.Cwd, base)
	}
	for _, l := range []struct {
		from []string
		to   *[]string
	}{{d.Read, &f.Read}, {d.Write, &f.Write}, {d.Deny, &f.Deny}} {
		for _, p := range l.from {
			*l.to = append(*l.to, absolute(p, where))
		}
	}
	if d.Cwd != "" {
		if err := findCwd(ctx, acct, where, d.Git == jobspec.GitCommit, f); err != nil {
			return err
		}
	}
	bound, err := x.bind(ctx, acct, jobspec.PlanBinding(d.Command, d.Script, d.Files).Targets, where, slices.Contains(d.Weaker, jobspec.WeakerExecPackage))
	if err != nil {
		return err
	}
	f.Bound = bound
	return x.findBinds(ctx, acct, d.Bind, where, f)
}

// draftAccount is whose rights look at a draft. In system mode a job without an
// account gets some uid of the throw-away range: the first stands for all, since
// none of them owns anything.
func (x *Examiner) draftAccount(r jobspec.RunAs) pin.Account {
	return x.account(&jobspec.Op{Spec: &jobspec.Spec{RunAs: r}}, throwaway.First)
}

// findCwd also looks for .git, which must be a folder where the job is to commit.
func findCwd(ctx context.Context, acct pin.Account, path string, commit bool, f *jobspec.Facts) error {
	set, err := pin.Open(ctx, acct, []pin.Request{
		{Use: jobspec.UseCwd, Path: path},
		{Use: jobspec.UseRead, Path: filepath.Join(path, ".git")},
	}, pin.Options{})
	if err != nil {
		return err
	}
	defer set.Close()
	seen := set.Observation(0)
	if seen.Problem != "" {
		return unusable("cwd", path, seen.Problem, seen.Detail)
	}
	f.Cwd = jobspec.Place{Path: seen.Real, UID: seen.UID}
	git := set.Observation(1)
	f.HasGit = set.File(1) != nil && (!commit || git.Kind == jobspec.KindDir)
	return nil
}

// bind finds, opens and hashes the files that are part of the approval.
func (x *Examiner) bind(ctx context.Context, acct pin.Account, todo []jobspec.BindTarget, where string, packages bool) ([]jobspec.Bound, error) {
	var bound []jobspec.Bound
	seen := map[string]bool{}
	for len(todo) > 0 {
		t := todo[0]
		todo = todo[1:]
		b, more, err := x.bindOne(ctx, acct, t, where, packages)
		if err != nil {
			return nil, err
		}
		if key := string(b.Role) + "\x00" + b.Typed + "\x00" + b.Real; !seen[key] {
			seen[key] = true
			bound = append(bound, b)
			todo = append(todo, more...)
		}
	}
	return bound, nil
}

func (x *Examiner) bindOne(ctx context.Context, acct pin.Account, t jobspec.BindTarget, where string, packages bool) (jobspec.Bound, []jobspec.BindTarget, error) {
	typed := t.Typed
	if (t.Role == jobspec.RoleScript || t.Role == jobspec.RoleFile) && !strings.ContainsRune(typed, '/') {
		typed = "./" + typed // an operand is never looked up in PATH
	}
	real, err := pin.Resolve(ctx, acct, typed, where, pin.SearchPath())
	if err != nil {
		return jobspec.Bound{}, nil, bindError(t, err)
	}
	set, err := pin.Open(ctx, acct, []pin.Request{{Use: jobspec.UseBound, Role: t.Role, Path: real}}, pin.Options{Cache: x.Cache})
	if err != nil {
		return jobspec.Bound{}, nil, err
	}
	defer set.Close()
	o := set.Observation(0)
	if o.Problem != "" {
		return jobspec.Bound{}, nil, unusable(string(t.Role), t.Typed, o.Problem, o.Detail)
	}
	b := jobspec.Bound{Role: t.Role, Typed: t.Typed, Real: o.Real, Size: o.Size, SHA256: o.SHA256,
		UID: o.UID, Mode: fmt.Sprintf("%04o", o.Mode)}
	if packages && isProgram(t.Role) && !set.Sealed(0) {
		if b.Package, err = x.lists().Owner(o.Real, io.NewSectionReader(set.File(0), 0, o.Size)); err != nil {
			return jobspec.Bound{}, nil, err
		}
	}
	more, err := interpreters(t.Role, set)
	return b, more, err
}

// interpreters lists what the #! line of a program needs; an interpreter may be
// such a program itself (execve(2)). A file that is only read needs nothing.
func interpreters(role jobspec.Role, set *pin.Set) ([]jobspec.BindTarget, error) {
	if role != jobspec.RoleExecutable && role != jobspec.RoleInterpreter {
		return nil, nil
	}
	head := make([]byte, 512)
	n, err := set.File(0).ReadAt(head, 0)
	if n == 0 && err != nil {
		return nil, nil // empty: execve will say so
	}
	return jobspec.ParseShebang(head[:n])
}

func bindError(t jobspec.BindTarget, err error) error {
	f, ok := errors.AsType[*pin.Failure](err)
	if !ok {
		return err
	}
	return unusable(string(t.Role), t.Typed, f.Reason, f.Detail)
}

// unusable refuses a path of a draft. The codes are those of the trigger, whose
// remedies speak of what was signed; here nothing is, so some are said anew.
func unusable(field, typed string, code jobspec.Code, detail string) error {
	e := &jobspec.FieldError{Reason: code, Field: field, Detail: detail}
	if quoted := jobspec.Quote(typed); !strings.HasPrefix(detail, quoted) {
		e.Detail = quoted + ": " + detail
	}
	switch code {
	case jobspec.CodeDriftCwd:
		e.Remedy = "name a folder that exists"
	case jobspec.CodeDriftBindSrc:
		e.Remedy = "name a file or folder that exists, by a path without symbolic links"
	case jobspec.CodeDriftExecMissing:
		e.Remedy = "name a file that exists: a path begins at the cwd, a bare name of a program is looked for in " + strings.Join(pin.SearchPath(), ", ")
	}
	return e
}

// words reads the schedule once more than needed so that its sentence becomes
// part of the signed bytes, and its shortest distance of slots what is late.
func words(d *jobspec.Draft, f jobspec.Facts) (string, time.Duration, error) {
	zone := d.Timezone
	if zone == "" {
		zone = f.Zone
	}
	if zone == "" {
		zone = jobspec.DefaultZone
	}
	s := jobspec.Schedule{Cron: d.Cron, EverySeconds: int64(d.Every.Seconds()), Timezone: zone}
	if !d.At.IsZero() {
		s.At = jobspec.InstantOf(d.At)
	}
	if s.Cron == "" && s.EverySeconds == 0 && s.At.IsZero() {
		return "", 0, nil // Resolve names what is missing
	}
	c, err := calendar.FromSpec(s, f.Now)
	if err != nil {
		return "", 0, err
	}
	text := c.Words()
	if d.Jitter >= time.Second {
		text += ", up to " + jobspec.FormatSpan(d.Jitter.Truncate(time.Second)) + " later"
	}
	return text, time.Duration(c.Gap()) * time.Second, nil
}

// LocalZone is the name of the machine's zone, "" when it has none: what
// /etc/localtime points to below a zoneinfo folder, or /etc/timezone.
func LocalZone() string {
	if to, err := os.Readlink("/etc/localtime"); err == nil {
		if _, name, ok := strings.Cut(to, "zoneinfo/"); ok && known(name) {
			return name
		}
	}
	b, err := os.ReadFile("/etc/timezone")
	if name := strings.TrimSpace(string(b)); err == nil && known(name) {
		return name
	}
	return ""
}

func known(zone string) bool {
	_, err := calendar.Location(zone)
	return err == nil
}

// digestsOf says under which policy a principal signs.
func digestsOf(p *jobspec.Policy, who jobspec.Principal) jobspec.PolicyDigests {
	return jobspec.PolicyDigests{Floor: jobspec.FloorDigest(), Managed: p.Digest, Owner: p.Owners[who].Digest, Serial: p.Serial}
}
