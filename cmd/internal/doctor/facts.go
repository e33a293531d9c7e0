package doctor

import (
	"time"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/runner/cause"
)

// Facts are what was found on this machine. A zero fact is judged as a failure
// where jobs depend on it.
type Facts struct {
	Platform string // runtime.GOOS
	System   bool   // system mode
	UID      int

	Files []FileFact // CONF, STATE and what lies in them

	Now          time.Time // wall clock
	HighestSeen  time.Time // newest time of chain and pin
	Synchronised Answer    // the kernel's clock is disciplined

	Sandbox jobspec.Sandbox   // what bwrap's probe found, by trying
	Weaker  []jobspec.Sandbox // the same of the backends for those who accept them by name
	Machine cause.Facts       // what tells why
	Userns  cause.Cause       // why the kernel's switches refuse user namespaces; zero where they do not
	StateFS string            // type of the file system that STATE lies on, "" for one that nothing is known of

	Service      bool
	ServicePID   int
	ServiceError error

	Zone string // name of the machine's zone, "" when it has none

	Key KeyFact

	Notices NoticeFact

	History HistoryFact
}

// NoticeFact is what is known of notify.toml. The zero value is that nobody looked.
type NoticeFact struct {
	Asked    bool // the caller may read it
	Channels int
	Err      error // why it cannot be used
}

// FileFact is a file or folder that must be safe to use, and why it is not.
type FileFact struct {
	Path string
	Err  error
}

// KeyFact is what is known of the signing key that init recorded.
type KeyFact struct {
	Path      string // "" when it is in an agent, or none is recorded
	Readable  bool   // by the uid of the service
	Encrypted Answer // needs a passphrase
}

// Answer is yes, no, or not known, which is the zero value.
type Answer uint8

// The answers.
const (
	Unknown Answer = iota
	No
	Yes
)
