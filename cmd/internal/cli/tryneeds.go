package cli

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/sbxcron/sbxcron/cmd/internal/api"
	"github.com/sbxcron/sbxcron/jobspec"
)

// fromChecks learns from what kept the job from starting.
func (n *needs) fromChecks(checks []jobspec.Check) {
	for _, c := range checks {
		switch {
		case c.Code == jobspec.CodePathOverCeiling && strings.HasPrefix(c.Allow, "--tier workspace"):
			n.draft.Tier = jobspec.Workspace
			n.because("refused: %s is written, and only tier workspace writes", jobspec.Quote(c.Target))
		case c.Code == jobspec.CodeRunAsForbidden && strings.HasPrefix(c.Allow, "--run-as"):
			n.because("refused: a workspace job of root needs run_as = \"ACCOUNT\"")
		case c.Allow != "":
			n.because("refused: %s; to allow it: %s", quietly(reasonLine(reasonOf(c))), quietly(c.Allow))
		default:
			n.because("refused, and nothing in a job.toml allows it: %s", quietly(reasonLine(reasonOf(c))))
		}
	}
}

// quietly keeps foreign text on the line it stands on.
func quietly(s string) string { return strings.Trim(jobspec.Quote(s), `"`) }

// limitOf is the limit that a denial says was met, "" for another denial.
func limitOf(c jobspec.Code) string {
	switch c {
	case jobspec.CodeLimitTimeout:
		return "timeout_seconds"
	case jobspec.CodeLimitPIDs:
		return "pids"
	case jobspec.CodeLimitOutput:
		return "output_bytes"
	case jobspec.CodeLimitFsize:
		return "file_size_bytes"
	case jobspec.CodeLimitMemory:
		return "memory_bytes"
	case jobspec.CodeLimitCPU:
		return "cpu_percent"
	case jobspec.CodeLimitTmp:
		return "tmp_bytes"
	case jobspec.CodeLimitWorkspace:
		return "workspace_growth_bytes"
	}
	return ""
}

// fromRecord learns from the denials that the run's record holds. An attempt to
// get more rights or to ask is not something that a job.toml can allow.
func (n *needs) fromRecord(r api.Run) {
	if r.Outcome == "timed_out" {
		n.raise("timeout_seconds", "observed")
	}
	for _, why := range r.Reasons {
		if limit := limitOf(why.Code); limit != "" && why.Code != jobspec.CodeLimitTimeout {
			n.raise(limit, "observed")
		}
	}
	for _, d := range r.Denials {
		how := d.Certainty
		switch d.Code {
		case jobspec.CodeFsDeniedWrite:
			n.write(d.Target, how)
		case jobspec.CodeFsDeniedRead:
			n.read(d.Target, how)
		case jobspec.CodeFsDeniedProtected, jobspec.CodeFsProtectedCreated:
			add(&n.draft.MayCreate, path.Base(d.Target))
			n.because("%s: it makes the protected name %s", how, jobspec.Quote(path.Base(d.Target)))
		case jobspec.CodeNetDeniedDomain, jobspec.CodeNetDeniedPort, jobspec.CodeNetDeniedRedirect, jobspec.CodeNetDeniedLocal:
			n.host(d.Target, how)
		case jobspec.CodeEscUnixSocket:
			add(&n.draft.Sockets, d.Target)
			n.because("%s: it uses the socket %s", how, jobspec.Quote(d.Target))
		default:
			if limit := limitOf(d.Code); limit != "" {
				n.raise(limit, how)
				continue
			}
			n.because("%s, and nothing in a job.toml allows it: %s %s; %s", how, d.Code, jobspec.Quote(d.Target), d.Code.Remedy())
		}
	}
}

// maxWords bounds the lines of standard error that are looked at.
const maxWords = 1000

// Texts of the C library (strerror(3)) and of common programs. They are words of
// a program that may say what it likes, so all that comes from them is inferred.
var (
	saysReadOnly = regexp.MustCompile(`(?i)read-only file system`)
	saysCreate   = regexp.MustCompile(`(?i)(cannot|can't|could ?n[o']t) (create|touch|write|make|mkdir)|directory nonexistent`)
	saysDenied   = regexp.MustCompile(`(?i)permission denied|no such file or directory|cannot find|not found`)
	saysNoName   = regexp.MustCompile(`(?i)could not resolve host:? ?([A-Za-z0-9.-]+)?|temporary failure in name resolution|name or service not known|network is unreachable`)
	saysFull     = regexp.MustCompile(`(?i)no space left on device`)
	saysFiles    = regexp.MustCompile(`(?i)too many open files`)
	saysSize     = regexp.MustCompile(`(?i)file too large|file size limit exceeded`)
	saysFork     = regexp.MustCompile(`(?i)(fork|thread).*resource temporarily unavailable|cannot fork`)
	namesScript  = regexp.MustCompile(`^[^:]+: (line )?[0-9]+: `)
	namesPath    = regexp.MustCompile(`['"]([^'"]+)['"]|(/[^\s:'",]+)|(\S+): [A-Z]`)
)

// fromWords infers from what the program said. The sandbox has no event for a
// path that was simply not there or not writable.
func (n *needs) fromWords(stderr string) {
	const how = "inferred from the job's own words"
	for i, l := range strings.Split(stderr, "\n") {
		if i == maxWords {
			return
		}
		switch {
		case saysReadOnly.MatchString(l):
			if p := n.pathIn(l); p != "" {
				n.write(p, how)
			}
		case saysNoName.MatchString(l):
			if m := saysNoName.FindStringSubmatch(l); m[1] != "" {
				n.host(strings.TrimSuffix(m[1], ".")+":443", how)
				continue
			}
			n.because("%s: it wants a network; net.mode = \"proxy\" and net.allow name the hosts", how)
		case saysFull.MatchString(l):
			n.raise("tmp_bytes", how)
		case saysFiles.MatchString(l):
			n.raise("open_files", how)
		case saysSize.MatchString(l):
			n.raise("file_size_bytes", how)
		case saysFork.MatchString(l):
			n.raise("pids", how)
		case saysCreate.MatchString(l):
			if p := filepath.Dir(n.pathIn(l)); filepath.IsAbs(p) && hidden(p) {
				n.write(p, how)
			}
		case saysDenied.MatchString(l):
			if p := n.pathIn(l); filepath.IsAbs(p) && hidden(p) {
				n.read(p, how)
			}
		}
	}
}

// pathIn is the path that a message is about: a quoted one, an absolute one, or
// the word before the cause.
func (n *needs) pathIn(line string) string {
	line = line[len(namesScript.FindString(line)):] // a shell's own words: which script, and where in it
	for _, m := range namesPath.FindAllStringSubmatch(line, -1) {
		for _, p := range m[1:] {
			if p = strings.TrimSuffix(p, ":"); p != "" && !strings.ContainsAny(p, "\x00") && n.plausible(p) {
				return p
			}
		}
	}
	return ""
}

// plausible keeps programs' own names and line numbers apart from paths: what
// is relative must have its folder in the cwd.
func (n *needs) plausible(p string) bool {
	full := n.absolute(p)
	if full == "" {
		return false
	}
	_, err := os.Stat(filepath.Dir(full))
	return err == nil
}

// hidden reports whether a path is there for the caller, outside the sandbox. Of
// system places the sandbox shows a list of its own.
func hidden(p string) bool {
	for _, top := range []string{"/usr", "/bin", "/lib", "/lib64", "/sbin", "/proc", "/dev", "/sys", "/run"} {
		if p == top || strings.HasPrefix(p, top+"/") {
			return false
		}
	}
	_, err := os.Stat(p)
	return err == nil
}
