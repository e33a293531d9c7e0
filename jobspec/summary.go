package jobspec

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Summary says in plain lines what an op approves. It is what the owner reads
// before signing, so it must be made from an op decoded from the very bytes that
// are signed. Text that somebody typed stands between quotes, in ASCII.
func Summary(op *Op) []string {
	if op == nil {
		return nil
	}
	s := &summary{op: op}
	s.header()
	if op.Spec != nil {
		s.when()
		s.what()
		s.where()
		s.limits()
		s.rest()
	}
	return s.lines
}

type summary struct {
	op    *Op
	lines []string
}

func (s *summary) say(label, format string, args ...any) {
	s.lines = append(s.lines, fmt.Sprintf("%-12s %s", label+":", fmt.Sprintf(format, args...)))
}

func (s *summary) header() {
	op := s.op
	switch op.Action {
	case Genesis:
		s.say("action", "begin the chain of host %s", Quote(string(op.Host)))
	case Attest:
		s.say("action", "attest that the ledger was seen as the checkpoint says")
	case Add:
		s.say("action", "add job %s", Quote(string(op.Job)))
	default:
		s.say("action", "%s job %s (revision %d)", escape(string(op.Action)), Quote(string(op.Job)), op.Revision)
	}
	s.say("signer", "%s, for host %s, op %d", Quote(string(op.Principal)), Quote(string(op.Host)), op.Seq)
	s.say("apply", "from %s to %s", op.Created, op.ApplyBefore)
	if op.Tier != NoTier {
		s.say("tier", "%s", tierWordsLong(op.Tier))
		s.say("network", "%s", netWordsLong(op.Net))
	}
	if op.Action == Remove {
		s.say("state", "a state folder of the job is deleted with all that lies in it")
	}
	if !op.Target.IsZero() {
		s.say("target", "%s is put back in force", op.Target)
	}
	if lines := strings.Split(op.Checkpoint, "\n"); len(lines) > 2 {
		s.say("ledger", "you have seen a checkpoint of %s lines with the root %s", Quote(lines[1]), Quote(lines[2]))
	}
	if op.Root != nil {
		s.say("audit key", "%s", Quote(op.Root.AuditKey))
	}
}

func tierWordsLong(t Tier) string {
	switch t {
	case Scratch:
		return "scratch: a private, empty folder; nothing of the machine changes"
	case ReadOnly:
		return "read-only: it reads its folder and changes nothing"
	case Workspace:
		return "workspace: it may change everything in its folder"
	}
	return t.String()
}

func netWordsLong(n Net) string {
	switch n {
	case NetNone:
		return "none"
	case NetProxy:
		return "proxy: only the hosts below"
	}
	return n.String()
}

func (s *summary) when() {
	c := s.op.Spec.Schedule
	var when []string
	if c.Cron != "" {
		when = append(when, Quote(c.Cron))
	}
	if c.EverySeconds != 0 {
		when = append(when, "every "+FormatSpan(time.Duration(c.EverySeconds)*time.Second))
	}
	if !c.At.IsZero() {
		when = append(when, "once at "+c.At.String())
	}
	if c.Words != "" {
		when = append(when, "in words "+Quote(c.Words))
	}
	s.say("schedule", "%s", strings.Join(append(when, "time zone "+Quote(c.Timezone)), ", "))
	s.say("when late", "missed: %s, overlap: %s, retries: %d", Quote(c.Missed), Quote(c.Overlap), c.Retries)
	if c.JitterSeconds+c.StartDeadlineSeconds != 0 {
		s.say("shift", "jitter up to %d s, start deadline %d s", c.JitterSeconds, c.StartDeadlineSeconds)
	}
	s.say("ends", "%s", orElse(s.op.Spec.ExpiresAt.String(), "not given, so it never runs"))
}

func (s *summary) what() {
	p := s.op.Spec
	if p.Script != (Script{}) {
		s.say("script", "by %s, %d bytes:", Quote(p.Script.Interpreter), len(p.Script.Body))
		for line := range strings.SplitSeq(strings.TrimSuffix(p.Script.Body, "\n"), "\n") {
			s.lines = append(s.lines, "  "+Quote(line))
		}
	}
	if len(p.Argv) > 0 {
		s.say(map[bool]string{true: "operands", false: "command"}[p.Script != Script{}], "%s", QuoteAll(p.Argv))
	}
	for _, b := range p.Bound {
		words := fmt.Sprintf("%s %s, typed %s, %d bytes, %s, uid %d, mode %s", escape(string(b.Role)), Quote(b.Real), Quote(b.Typed), b.Size, b.SHA256.Short(), b.UID, Quote(b.Mode))
		if b.Package != "" {
			words += ", of package " + Quote(b.Package)
		}
		s.say("bound", "%s", words)
	}
	for _, k := range slices.Sorted(maps.Keys(p.Env)) {
		s.say("environment", "%s=%s", Quote(k), Quote(p.Env[k]))
	}
	if p.Stdin != "" {
		s.say("stdin", "%d bytes: %s", len(p.Stdin), Quote(p.Stdin))
	}
	switch {
	case !p.RunAs.IsZero():
		s.say("account", "%s (uid %d, gid %d)", Quote(p.RunAs.User), p.RunAs.UID, p.RunAs.GID)
	default:
		s.say("account", "the service's own in user mode, a throw-away one in system mode")
	}
}

func (s *summary) where() {
	p := s.op.Spec
	if p.Cwd.Path != "" {
		s.say("folder", "%s, %s", Quote(p.Cwd.Path), map[bool]string{true: "read and write", false: "read only"}[s.op.Tier == Workspace])
	}
	s.list("reads", p.Read)
	s.list("writes", p.Write)
	s.list("never sees", p.Deny)
	s.list("may create", p.MayCreate)
	if p.Git == GitCommit {
		s.say("git", "it may commit: .git is writable but for config, hooks, info and modules")
	} else if p.Git != "" {
		s.say("git", "%s", Quote(p.Git))
	}
	for _, b := range p.Bind {
		s.say("bind", "%s", b.words())
	}
	s.list("hosts", p.NetAllow)
	s.list("no hosts", p.NetDeny)
	s.list("forward", p.Forward)
	s.list("sockets", p.Sockets)
	for _, c := range p.Credentials {
		s.say("credential", "%s as %s; its value may change without a new signature", Quote(c.Name), c.words())
	}
	if p.StateDir {
		s.say("state", "%s: a folder of its own that survives runs, up to %s; gone with remove", StatePlace, bytesWord(p.Limits.StateBytes))
	}
}

func (s *summary) list(label string, items []string) {
	if len(items) > 0 {
		s.say(label, "%s", QuoteAll(items))
	}
}

func (s *summary) limits() {
	l := s.op.Spec.Limits
	s.say("limits", "%d s, then TERM and after %d s KILL; %d processes, %d open files", l.TimeoutSeconds, l.GraceSeconds, l.PIDs, l.OpenFiles)
	s.say("sizes", "files to %s, output kept %s a stream, tmp %s", bytesWord(l.FileSizeBytes), bytesWord(l.OutputBytes), bytesWord(l.TmpBytes))
	var more []string
	for _, f := range []struct {
		n    int64
		text string
	}{
		{l.MemoryBytes, "memory " + bytesWord(l.MemoryBytes)},
		{l.CPUPercent, fmt.Sprintf("cpu %d %%", l.CPUPercent)},
		{l.WorkspaceGrowthBytes, "growth " + bytesWord(l.WorkspaceGrowthBytes)},
		{l.Connections, fmt.Sprintf("%d connections", l.Connections)},
		{l.NetBytes, bytesWord(l.NetBytes) + " over the network"},
	} {
		if f.n != 0 {
			more = append(more, f.text)
		}
	}
	if len(more) > 0 {
		s.say("more limits", "%s", strings.Join(more, ", "))
	}
}

func (s *summary) rest() {
	p := s.op.Spec
	if p.Result != ExitWord {
		s.say("result", "%s", Quote(p.Result))
	}
	for _, e := range p.Denials.Expected {
		s.say("expects", "%s of %s, still stopped and recorded", e.Code, Quote(e.Target))
	}
	if p.Denials.OnDenial != "" || p.Denials.Max != 0 {
		s.say("on denial", "%s, at most %d", Quote(p.Denials.OnDenial), p.Denials.Max)
	}
	s.say("backend", "%s", QuoteAll(p.Backend.AnyOf))
	s.list("needs", p.Backend.Require)
	s.list("devices", p.Backend.Devices)
	if b := p.Backend; b.Image+b.Host+b.User != "" || b.Port != 0 {
		s.say("place", "image %s, host %s, user %s, port %d", Quote(b.Image), Quote(b.Host), Quote(b.User), b.Port)
	}
	s.list("notifies on", p.Notify)
	for _, w := range p.Weaker {
		s.say("weaker", "%s", weakerWords(w))
	}
	for _, a := range p.Answers {
		s.say("answered", "ask %s (%s): allow", Quote(a.AskID), Quote(a.Rule))
	}
	if p.Note != "" {
		s.say("note", "%s", Quote(p.Note))
	}
	s.say("unbound", "%s", unboundWords(p.Coverage))
	s.say("policy", "serial %d, floor %s, managed %s", p.Policy.Serial, p.Policy.Floor.Short(), p.Policy.Managed.Short())
}

// unboundWords names what the digest of no file covers.
func unboundWords(coverage map[string]string) string {
	var open []string
	for _, k := range slices.Sorted(maps.Keys(coverage)) {
		if coverage[k] == "unbound" {
			open = append(open, escape(k))
		}
	}
	if len(open) == 0 {
		return "nothing"
	}
	return strings.Join(open, ", ") + " may change without this approval noticing"
}
