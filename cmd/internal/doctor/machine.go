package doctor

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/runner"
	"github.com/sbxcron/sbxcron/runner/cause"
)

// machine judges what the kernel and the place around us give for sandboxes. The
// probe of the sandbox has tried all of it; these checks say where to look.
func machine(f Facts) []Check {
	checks := []Check{
		caused("landlock", cause.Landlock(f.Machine, runner.LandlockFloor), fmt.Sprintf("ABI %d", f.Machine.Landlock)),
		caused("seccomp", cause.Seccomp(f.Machine), "the kernel loads system call filters"),
		caused("user_namespaces", f.Userns, "no switch of the kernel refuses them"),
		proc(f), state(f.StateFS),
	}
	for _, s := range f.Weaker {
		checks = append(checks, weaker(s))
	}
	return checks
}

func caused(name string, c cause.Cause, fine string) Check {
	if c != (cause.Cause{}) {
		return fail(name, c.Detail, c.Remedy)
	}
	return ok(name, fine)
}

// switchedOff is why the kernel's switches refuse user namespaces to a uid. A
// restriction by AppArmor is not among them: the distribution's profile lifts it
// for bwrap, and only trying tells.
func switchedOff(f cause.Facts, uid int) cause.Cause {
	f.AppArmor, f.Filtered = -1, false
	if !f.UserNS || f.MaxUserNS == 0 || f.UnprivClone == 0 && uid != 0 {
		return cause.NoUserNS(f, nil)
	}
	return cause.Cause{}
}

// proc warns of a procfs that is covered in part: no sandbox below gets one of its
// own. It matters only where the probe says so too.
func proc(f Facts) Check {
	if !slices.Contains(f.Sandbox.Needs, jobspec.WeakerNestedSandbox) {
		return ok("proc", "a sandbox has one of its own, or none was tried")
	}
	c := cause.NoProc(f.Machine)
	return warn("proc", c.Detail, c.Remedy)
}

// state judges where chain and ledger lie: what was made durable must be there
// after a crash, and one lock must hold for all.
func state(fs string) Check {
	const name = "state_filesystem"
	switch fs {
	case "nfs", "cifs", "9p":
		return fail(name, fmt.Sprintf("STATE lies on %s, where locks and durable writes are somebody else's promise", fs), "move STATE to a local file system")
	case "tmpfs":
		return warn(name, "STATE lies in memory (tmpfs): history, and what was revoked, is gone after a restart", "move STATE to a disk")
	case "overlay":
		return warn(name, "STATE lies in the writable layer of a container (overlay): it goes with the container", "put STATE on a volume")
	case "fuse":
		return warn(name, "STATE lies on a file system of a user's process (fuse)", "move STATE to a local file system whose durable writes you can rely on")
	}
	return ok(name, "nothing is known against it")
}

// weaker tells of a backend that only those get who accept it by name.
func weaker(s jobspec.Sandbox) Check {
	name := "backend_" + s.Backend
	if s.Usable {
		return ok(name, fmt.Sprintf("works, %s, for jobs whose owner and whose policy.toml accept %s", s.Version, strings.Join(s.Needs, ", ")))
	}
	return ok(name, "not usable: "+s.Detail)
}
