package escape

import (
	"slices"
	"strings"

	"github.com/sbxcron/sbxcron/jobspec"
)

// Layer is a part of the sandbox that can stop an attempt.
type Layer string

// The layers. Those up to Masks can be taken away one by one by tests; the
// others hold as long as there is a sandbox at all.
const (
	View     Layer = "view"      // what is not shown does not exist
	ReadOnly Layer = "read_only" // mounts that cannot be written
	Landlock Layer = "landlock"
	Seccomp  Layer = "seccomp" // both filters
	NetNS    Layer = "netns"
	IPCNS    Layer = "ipcns"
	UserNS   Layer = "userns"       // no user namespace is left to make
	Caps     Layer = "capabilities" // none inside
	Files    Layer = "fds"          // nothing that is open was inherited
	Rlimits  Layer = "rlimits"
	Masks    Layer = "masks" // files of procfs that are covered, /proc/sys read-only

	PidNS   Layer = "pidns"
	UID     Layer = "uid" // not root's, so that ownership of files counts
	NNP     Layer = "no_new_privs"
	OuterNS Layer = "outer_userns" // mounts and namespaces belong to a user namespace that the job is not in
	NoTTY   Layer = "no_tty"
	Env     Layer = "environment" // begins empty
	Sizes   Layer = "sizes"       // of private places
	Shims   Layer = "shims"       // stand in for programs that ask
	Kernel  Layer = "kernel"      // whatever the sandbox is: no such device, no such call, other mount
)

// Removable lists the layers that a test can take away one at a time.
func Removable() []Layer {
	return []Layer{View, ReadOnly, Landlock, Seccomp, NetNS, IPCNS, UserNS, Caps, Files, Rlimits, Masks}
}

// Attempt is one thing that a job tries.
type Attempt struct {
	ID   string // of the list of cases, with a letter where a case has several ways
	What string
	// Do is the verb and its operands, as the program of attempts understands
	// them. {name} stands for a target of the stage.
	Do string
	// Layers stop it, each for itself. With one taken away the others still do.
	Layers []Layer
	// Want are the answers that the whole sandbox may give.
	Want []string
	// Through are answers that only whoever got through can get, though nothing
	// came of it: the machine has no such thing.
	Through []string
	// Code and Target are the event in the record; no event if Code is "".
	Code   jobspec.Code
	Target string

	tiers  []jobspec.Tier // empty: all
	alone  bool
	arch   string
	system bool
	heard  bool
	there  bool
	net    jobspec.Net // 0: whatever the job may reach
	beyond bool
}

// Alone reports whether the attempt needs a process of its own: one that it may
// end or stop.
func (a Attempt) Alone() bool { return a.alone }

// Heard reports whether only the stage knows if it succeeded: a datagram can be
// sent to nobody.
func (a Attempt) Heard() bool { return a.heard }

// IfThere reports whether a machine may lack what the attempt is after.
func (a Attempt) IfThere() bool { return a.there }

// Beyond reports whether the attempt is after another machine, or would take the
// stage away. Tests that take the layers away do not make it.
func (a Attempt) Beyond() bool { return a.beyond }

// Where says what an attempt can be made in.
type Where struct {
	Tier   jobspec.Tier
	Net    jobspec.Net
	Arch   string // GOARCH
	System bool   // the service is root
}

// Select lists the attempts of a place, in their order.
func Select(w Where) []Attempt {
	var list []Attempt
	for _, a := range Attempts() {
		switch {
		case len(a.tiers) > 0 && !slices.Contains(a.tiers, w.Tier):
		case a.arch != "" && a.arch != w.Arch:
		case a.net != jobspec.NoNet && a.net != w.Net:
		case a.system && !w.System:
		default:
			list = append(list, a)
		}
	}
	return list
}

// Attempts is the whole list. What would change the view for those after it
// comes last.
func Attempts() []Attempt {
	return slices.Concat(writes(), protected(), setIDs(), links(), kernelFiles(), secrets(), processes(), namespaces(), kernelCalls(),
		rights(), network(), proxied(), localSockets(), limits(), terminals(), ourselves(), mounts(), ground())
}

// try makes an attempt. layers and want are words.
func try(id, what, do, layers, want string) Attempt {
	a := Attempt{ID: id, What: what, Do: do, Want: strings.Fields(want)}
	for _, l := range strings.Fields(layers) {
		a.Layers = append(a.Layers, Layer(l))
	}
	return a
}

// or adds answers of a machine that has nothing there.
func (a Attempt) or(through string) Attempt {
	a.Through = strings.Fields(through)
	return a
}

// tells adds the event that the record must have.
func (a Attempt) tells(code jobspec.Code, target string) Attempt {
	a.Code, a.Target = code, target
	return a
}

func (a Attempt) in(tiers ...jobspec.Tier) Attempt {
	a.tiers = tiers
	return a
}

func (a Attempt) byItself() Attempt {
	a.alone = true
	return a
}

func (a Attempt) on(arch string) Attempt {
	a.arch = arch
	return a
}

func (a Attempt) asRoot() Attempt {
	a.system = true
	return a
}

func (a Attempt) ifHeard() Attempt {
	a.heard = true
	return a
}

// without is for jobs that reach nothing.
func (a Attempt) without() Attempt {
	a.net = jobspec.NetNone
	return a
}

// behind is for jobs behind a proxy.
func (a Attempt) behind() Attempt {
	a.net = jobspec.NetProxy
	return a
}

func (a Attempt) ifThere() Attempt {
	a.there = true
	return a
}

func (a Attempt) outside() Attempt {
	a.beyond = true
	return a
}
