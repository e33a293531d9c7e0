package doctor

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sbxcron/sbxcron/jobspec"
)

// maxAhead is how far the highest time seen may lie ahead of the clock before
// nothing starts any more (clock_hold).
const maxAhead = 24 * time.Hour

// Examine judges the facts, in the order in which one would mend things.
func Examine(f Facts) []Check {
	if f.Platform != "linux" {
		return []Check{fail("platform", fmt.Sprintf("jobs run on linux only, this is %q", f.Platform),
			"run the service on linux; signing, reading and auditing work here")}
	}
	checks := files(f.Files)
	checks = append(checks, clock(f), zone(f), sandbox(f.Sandbox))
	if f.Sandbox.Usable {
		checks = append(checks, limits(f))
	}
	checks = append(checks, machine(f)...)
	checks = append(checks, sameUID(f), service(f), signingKey(f))
	checks = append(checks, history(f)...)
	return append(checks, notices(f.Notices)...)
}

func files(found []FileFact) []Check {
	if len(found) == 0 {
		return []Check{fail("files", "no installation was found", "sbxcron init")}
	}
	var checks []Check
	for _, file := range found {
		if file.Err != nil {
			checks = append(checks, fail("files", file.Err.Error(), hintOf(file.Err)))
		}
	}
	if len(checks) == 0 {
		checks = append(checks, ok("files", fmt.Sprintf("%d files and folders belong to whom they should", len(found))))
	}
	return checks
}

func hintOf(err error) string {
	if h, ok := errors.AsType[interface {
		error
		Hint() string
	}](err); ok {
		return h.Hint()
	}
	return "make it belong to the owner of the installation, and writable by nobody else"
}

func clock(f Facts) Check {
	const name = "clock"
	switch {
	case f.Now.Add(maxAhead).Before(f.HighestSeen):
		return fail(name, fmt.Sprintf("the clock says %s, but %s was seen before", f.Now.UTC().Format(time.RFC3339), f.HighestSeen.UTC().Format(time.RFC3339)),
			"set the clock right; nothing starts before that")
	case f.Synchronised == Yes:
		return ok(name, "synchronised")
	case f.Synchronised == No:
		return warn(name, "the kernel does not say that the clock is synchronised", "run a time service such as systemd-timesyncd or chrony")
	default:
		return warn(name, "whether the clock is synchronised cannot be seen from here", "run a time service such as systemd-timesyncd or chrony")
	}
}

func zone(f Facts) Check {
	if f.Zone == "" {
		return warn("zone", "this machine's zone has no name, so jobs get UTC unless they name one", "give --timezone with each job, or set the machine's zone")
	}
	return ok("zone", f.Zone)
}

func sandbox(s jobspec.Sandbox) Check {
	if !s.Usable {
		code, remedy := s.Problem, s.Remedy
		if code == "" {
			code = jobspec.CodeSbxBackendMissing
		}
		if remedy == "" {
			remedy = code.Remedy()
		}
		return fail("sandbox", fmt.Sprintf("%s: %s", code, s.Detail), remedy)
	}
	if len(s.Needs) > 0 {
		return warn("sandbox", fmt.Sprintf("%s %s works, but only for jobs whose owner and whose policy.toml accept %s: %s", s.Backend, s.Version, strings.Join(s.Needs, ", "), s.Detail), s.Remedy)
	}
	return ok("sandbox", fmt.Sprintf("%s %s, tried just now", s.Backend, s.Version))
}

// limits says whether a job is held as a whole. It is tried in the group that
// this command runs in, which need not be the service's.
func limits(f Facts) Check {
	var soft []string
	for _, x := range []struct{ name, capability string }{{"memory", jobspec.CapCgroupMemory}, {"CPU", jobspec.CapCgroupCPU}} {
		if !slices.Contains(f.Sandbox.Capabilities, x.capability) {
			soft = append(soft, x.name)
		}
	}
	if len(soft) == 0 {
		return ok("limits", "memory and CPU are held for a job as a whole")
	}
	return warn("limits", strings.Join(soft, " and ")+" of jobs started from here are soft: held for each process and not for the job as a whole", delegation(f.System))
}

// delegation is how a service comes to a cgroup of its own, and how one sees
// beforehand whether it will (systemd-run(1), loginctl(1)).
func delegation(system bool) string {
	if system {
		return "Delegate=yes in the service's unit, or systemd-run --scope -p Delegate=yes sbxcron daemon; the same before sbxcron doctor shows what it gives"
	}
	return "systemd-run --user --scope -p Delegate=yes sbxcron daemon, or Delegate=yes in a unit of systemctl --user; the same before sbxcron doctor shows what it gives; loginctl enable-linger lets it go on when you are logged out"
}

// sameUID always warns in user mode: it is a fact that the owner must know.
func sameUID(f Facts) Check {
	if f.System {
		return ok("same_uid", "jobs run as other accounts than the service")
	}
	return warn("same_uid", fmt.Sprintf("jobs run with the service's own uid %d; the sandbox alone holds them apart", f.UID),
		"for accounts of their own, install as root (system mode)")
}

func service(f Facts) Check {
	if f.Service {
		return ok("service", fmt.Sprintf("running, pid %d", f.ServicePID))
	}
	detail := "not running; no job starts"
	if f.ServiceError != nil {
		detail = f.ServiceError.Error()
	}
	return warn("service", detail, "sbxcron daemon")
}

// signingKey warns of a key that the service could sign with, which it never
// does: whoever takes over its uid could.
func signingKey(f Facts) Check {
	const name = "signing_key"
	switch {
	case f.Key.Path == "":
		return ok(name, "no key file is recorded")
	case !f.Key.Readable:
		return ok(name, "the service cannot read it")
	case f.Key.Encrypted == Yes:
		return ok(name, "readable by the service's uid, but under a passphrase")
	default:
		return warn(name, fmt.Sprintf("%q can be read and used by every process of the service's uid", f.Key.Path),
			"give it a passphrase (ssh-keygen -p), or keep it in an agent or on another machine")
	}
}
