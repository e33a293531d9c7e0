package jobspec

import "time"

// Observation is what an opener saw when it opened one path that a spec names,
// with the rights of the account that the job runs as. The opener keeps the
// file open; the observation is what Decide judges.
type Observation struct {
	Use     Use    // what the spec wants the path for
	Role    Role   // for bound files
	Typed   string // as in the spec
	Real    string // path without symbolic links, "" when it could not be reached
	Symlink bool   // a component of Typed is a symbolic link
	Kind    FileKind
	UID     int
	Mode    uint32 // permission and set-id bits
	Size    int64
	SHA256  Digest // of the bytes that would run; zero for directories
	Problem Code   // PathUnreachable, DriftExecMissing, DriftTooLarge ...; "" when open
	Detail  string // cause in words, for Problem
	Places  Location
	// Package is the distribution's package whose list of files has the digest of
	// these very bytes, "" for none or where nobody looked. Only a file that
	// nobody but root can change has one.
	Package string
}

// Use says what a path is for.
type Use string

// The uses of a path.
const (
	UseBound Use = "bound"
	UseCwd   Use = "cwd"
	UseRead  Use = "read"
	UseWrite Use = "write"
	UseDeny  Use = "deny"

	UseBindRO Use = "bind_ro" // the live source of a bind
	UseBindRW Use = "bind_rw"
	UseSocket Use = "socket"
	UseState  Use = "state" // the job's own folder; the service opens it, not the job's account
)

// FileKind is the type of a file.
type FileKind string

// The kinds of file that matter.
const (
	KindRegular FileKind = "regular"
	KindDir     FileKind = "directory"
	KindSocket  FileKind = "socket"
	KindDevice  FileKind = "device"
	KindOther   FileKind = "other"
)

// FileID identifies a file across links, bind mounts and renames.
type FileID struct {
	Dev, Ino uint64
}

// Location is where a path lies, told so that links, bind mounts and renames
// change nothing.
type Location struct {
	Self      FileID
	Ancestors []FileID // from the parent up to "/"
	// Device is the path within its file system, "major:minor:/path": what
	// /proc/self/mountinfo gives as root of the mount, joined with the rest.
	Device string
	// Below are the Device forms of the roots of all mounts under the path.
	Below []string
}

// Sensitive is one place that no job gets, as found on this host.
type Sensitive struct {
	What  string // "CONF", "home of alice", ".ssh" ... shown in the refusal
	Path  string
	Reach Reach
	Where Location
}

// Reach says which relation to a sensitive place is refused.
type Reach uint8

// The relations. Every sensitive place refuses at least itself.
const (
	Itself   Reach = 1 << iota // the path is the place
	Contains                   // the path contains the place
	Below                      // the path lies below the place
	ReadOK                     // with Below: lying below is refused for writing only
	SocketOK                   // a socket of net.sockets may lie below
)

// Host is what the machine says.
type Host struct {
	ID       HostID
	Platform string    // runtime.GOOS
	Now      time.Time // effective time
	Hold     bool      // clock_hold: the clock is far below the highest time seen
	UID      int       // of the service
	System   bool      // system mode
	// Zone finds a time zone by its name, in data that no variable replaces. Where
	// it is nil only UTC is known.
	Zone func(name string) (*time.Location, error)
	// LookupUser resolves an account. The CLI and the service pass the real one.
	LookupUser func(name string) (RunAs, bool)
}

// Sandbox is what a backend's probe found.
type Sandbox struct {
	Backend      string
	Usable       bool
	Problem      Code   // why not
	Detail       string //
	Remedy       string // what to install or switch on; never what to switch off
	Version      string
	Capabilities []string // userns, netns, seccomp, landlock ...
	Digest       Digest   // of the sandbox program
	// Needs are the weaker choices without which nothing runs here.
	Needs []string
	// Lasting says of a problem that it stays until somebody mends the machine.
	Lasting bool
}
