package runner

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/runner/egress"
)

// Places inside every sandbox.
const (
	PrivateDir = "/.sbxcron"            // ours; a job can read only its own script there
	StubPath   = PrivateDir + "/stub"   // hidden by landlock once the stub is done
	ScriptPath = PrivateDir + "/script" // an embedded script
	HomePath   = jobspec.JobHome
	StateDir   = jobspec.StatePlace // the job's own folder that survives runs
	ScratchDir = "/scratch"         // the cwd in tier scratch
	TmpPath    = "/tmp"
	BasePath   = ShimDir + ":/usr/local/bin:/usr/bin:/bin"
)

// Blueprint is the content of a plan.
type Blueprint struct {
	Job     jobspec.Name
	Op      jobspec.Digest
	Run     string
	Tier    jobspec.Tier
	Net     jobspec.Net
	Account Account
	Limits  jobspec.Limits
	Require []string // capabilities that the spec wants from the backend
	Weaker  []string // weaker choices that were accepted, by policy and spec

	Mounts  []Mount        // in the order in which they are made
	Access  []Access       // what landlock grants; nothing else
	Guard   []Guard        // writable directories whose protected names are bound read-only
	Names   []Name         // files whose names the host can take away while the job opens them
	Egress  *egress.Config // what the proxy lets through, nil without one
	Sockets []string       // of the host, at their own places
	Cwd     Cwd
	Argv    []string // of the file that is executed
	Exec    Exec
	Env     []string // NAME=value, sorted
	Stdin   string

	SecretEnv []SecretVar // variables that Env does not hold
	Secrets   []*Secret   // each credential of the job once

	MayCreate []string
	Result    string              // whose own result is read, "exit" for nobody's
	Denials   jobspec.DenialRules // what a stopped attempt does to the run
	Pins      Pins
	Outputs   Outputs
}

// Cwd is the directory that the job starts in.
type Cwd struct {
	Path     string
	Writable bool
	Pin      int            // index in Pins, -1 for the private one
	ID       jobspec.FileID // of the pinned directory
}

// Exec is the file that is executed and how its identity shows inside. It never
// is a script: of one, the interpreter is executed (see drawCommand).
type Exec struct {
	Path   string
	Script string         // the script that it interprets, "" for a program
	Sealed bool           // a copy that only the sandbox has; else ID tells
	Size   int64          // of the copy
	ID     jobspec.FileID // of the pinned inode
}

// Name is a bound file that processes of the job open by its name, below a
// directory of the host: whoever can rename there can make the name mean other
// bytes. A supervisor answers such opens (runner/supervise).
type Name struct {
	Path    string
	Aliases []string // other paths that the approved command calls it by, through links
	Sealed  bool     // a copy that only the sandbox has; else ID tells
	Size    int64
	What    jobspec.Digest
	ID      jobspec.FileID
}

// Guard is a writable directory in which protected names lie.
type Guard struct {
	Path string // inside
	Host string // on the host, for records
	Pin  int
	Git  bool // the job may commit: .git is writable but for some names in it
}

// MountKind says what a mount is.
type MountKind uint8

// The kinds. The zero value mounts nothing and is refused by backends.
const (
	NoMount    MountKind = iota
	Tmpfs                // private, Size bytes
	Proc                 // a new procfs, /proc/sys read-only
	Dev                  // null, zero, full, random, urandom, tty and a private devpts
	Symlink              // to Src
	HostRO               // Src of the host, read-only; only for the fixed list of the root
	PinnedRO             // a pinned directory or inode, read-only
	PinnedRW             // a pinned directory or file, writable
	Copy                 // the sealed bytes of a pin, read-only, executable
	Data                 // Bytes, read-only
	HideDir              // an empty directory that cannot be entered
	HideFile             // an empty file that cannot be read
	Channel              // the backend's pipe, through which shims tell what was tried
	Credential           // the value of Secret, read-only
)

var mountWords = [...]string{NoMount: "none", Tmpfs: "tmpfs", Proc: "proc", Dev: "dev", Symlink: "symlink", HostRO: "host-ro",
	PinnedRO: "pinned-ro", PinnedRW: "pinned-rw", Copy: "copy", Data: "data", HideDir: "hide-dir", HideFile: "hide-file", Channel: "channel", Credential: "credential"}

// String names the kind.
func (k MountKind) String() string {
	if int(k) >= len(mountWords) {
		return fmt.Sprintf("mount(%d)", uint8(k))
	}
	return mountWords[k]
}

// Mount is one thing that appears at Dst.
type Mount struct {
	Kind  MountKind
	Dst   string
	Src   string
	Pin   int
	Bytes []byte
	Perm  uint32
	Size  int64
	What  jobspec.Digest // of the bytes, for Copy, Data and pinned files

	Secret *Secret // what a credential shows
}

// Right is what landlock grants below a path. The zero value grants nothing.
type Right uint8

// The rights.
const (
	NoRight   Right = iota
	List            // directories may be listed
	Read            // read and execute
	ReadFile        // the same for a single file
	Devices         // read and write what exists
	Write           // read and change; no sockets, no device nodes
	WriteFile       // read and change a single file
	Private         // like Write, and sockets
	Tell            // write to a single pipe, and not read it
	Node            // read and write a single device
)

var rightWords = [...]string{NoRight: "nothing", List: "list", Read: "read", ReadFile: "read-file", Devices: "devices",
	Write: "write", WriteFile: "write-file", Private: "private", Tell: "tell", Node: "node"}

// String names the right.
func (r Right) String() string {
	if int(r) >= len(rightWords) {
		return fmt.Sprintf("right(%d)", uint8(r))
	}
	return rightWords[r]
}

// Access grants a right.
type Access struct {
	Path  string
	Right Right
}

func (b *Blueprint) mount(m Mount)                  { b.Mounts = append(b.Mounts, m) }
func (b *Blueprint) grant(path string, right Right) { b.Access = append(b.Access, Access{path, right}) }

// CompareMounts is the one order in which mounts are made: what lies deeper
// comes later, and of two at one place the stricter comes later and so wins.
func CompareMounts(x, y Mount) int {
	return cmp.Or(
		cmp.Compare(depth(x.Dst), depth(y.Dst)),
		cmp.Compare(x.Dst, y.Dst),
		cmp.Compare(strictness(x.Kind), strictness(y.Kind)))
}

// finish orders the mounts and keeps the way to what lies in hidden places.
func (b *Blueprint) finish() {
	slices.SortStableFunc(b.Mounts, CompareMounts)
	for i, m := range b.Mounts {
		if m.Kind == HideDir && b.mountsBelow(m.Dst) {
			b.Mounts[i].Perm = 0o111 // the way to what a longer prefix opens
		}
	}
}

func (b *Blueprint) mountsBelow(dir string) bool {
	for _, m := range b.Mounts {
		if strings.HasPrefix(m.Dst, dir+"/") {
			return true
		}
	}
	return false
}

func depth(path string) int { return strings.Count(strings.TrimRight(path, "/"), "/") }

// strictness orders kinds at one place.
func strictness(k MountKind) int {
	switch k {
	case HideDir, HideFile:
		return 3
	case PinnedRO, Copy, Data, Credential:
		return 2
	case PinnedRW:
		return 1
	}
	return 0
}

// Accepts reports whether the run may do without what a weaker choice names.
func (b *Blueprint) Accepts(choice string) bool { return slices.Contains(b.Weaker, choice) }

// dump prints a mount: by far most lines of a plan, so without fmt.
func (m Mount) dump(t *strings.Builder) {
	t.WriteString("mount " + m.Kind.String() + " " + m.Dst + " src " + strconv.Quote(m.Src) + " size " + strconv.FormatInt(m.Size, 10) + " perm ")
	perm := strconv.FormatUint(uint64(m.Perm), 8)
	for range 4 - len(perm) {
		t.WriteByte('0')
	}
	t.WriteString(perm + " " + m.What.String() + "\n")
}

// Dump prints the blueprint. Its digest names the plan in the record.
func (b *Blueprint) Dump() string {
	var t strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&t, format+"\n", args...) }
	line("plan v1 job %s run %s op %s", b.Job, b.Run, b.Op)
	line("tier %s net %s account %s uid %d gid %d drop %t", b.Tier, b.Net, b.Account.User, b.Account.UID, b.Account.GID, b.Account.Drop)
	line("limits %+v", b.Limits)
	line("require %q may_create %q", b.Require, b.MayCreate)
	if len(b.Weaker) > 0 {
		line("weaker %q", b.Weaker)
	}
	for _, m := range b.Mounts {
		m.dump(&t)
		if m.Secret != nil {
			line("  of %s", m.Secret)
		}
	}
	for _, a := range b.Access {
		line("access %s %s", a.Right, a.Path)
	}
	for _, g := range b.Guard {
		line("guard %s", g.words())
	}
	for _, n := range b.Names {
		line("supervised %s aliases %q sealed %t size %d %s", n.Path, n.Aliases, n.Sealed, n.Size, n.What)
	}
	b.netDump(line)
	line("cwd %s writable %t", b.Cwd.Path, b.Cwd.Writable)
	line("exec %s script %q sealed %t size %d", b.Exec.Path, b.Exec.Script, b.Exec.Sealed, b.Exec.Size)
	line("argv %q", b.Argv)
	line("env %q", b.Env)
	for _, v := range b.SecretEnv {
		line("env %q from %s", v.Name, v.Secret)
	}
	line("stdin %q", b.Stdin)
	line("result %q denials %+v", b.Result, b.Denials)
	return t.String()
}
