package pin

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/sbxcron/sbxcron/jobspec"
)

// MaxSealed is the default cap on the size of one bound file, in bytes, and on
// that of all sealed copies of one call together, since they live in memory.
const MaxSealed = 512 << 20

// Request names one path that a spec wants, and what for.
type Request struct {
	Use  jobspec.Use
	Role jobspec.Role // for UseBound
	Path string       // absolute and clean
}

// Account is whose rights open the paths. With Drop a child process opens them
// that has UID, GID and no groups; only root can make one, and neither id may be
// 0. Without Drop the rights are this process's own, UID must say so, and root
// is refused: it could open everything. So the zero value opens nothing.
type Account struct {
	UID, GID int
	Drop     bool
}

// Options tune Open. The zero value is right for most callers.
type Options struct {
	MaxBytes int64    // cap on a bound file, and on all copies of one call together; 0 means MaxSealed
	Cache    *Cache   // digests of files that only root can change; nil means none
	Openers  *Openers // keeps the children of accounts with Drop; nil starts one a call

	trace func(stage) // tests count what happens between the steps
}

// stage is a point inside one Open that a test can observe.
type stage uint8

const (
	stageStart  stage = iota // before the first component is opened
	stageOpened              // the file is open, no byte was read
	stageHashed              // the digest is known
)

func (o Options) at(s stage) {
	if o.trace != nil {
		o.trace(s)
	}
}

func (o Options) maxBytes() int64 {
	if o.MaxBytes > 0 {
		return o.MaxBytes
	}
	return MaxSealed
}

// Set holds what Open opened, in the order of the requests, until Close.
type Set struct {
	pins []held

	began  time.Time // before anything was opened
	mounts []byte    // mountinfo at that time, nil where nobody keeps it
	table  mounts
}

// held is one open path. file is nil exactly when the observation has a problem.
type held struct {
	seen   jobspec.Observation
	file   *os.File
	sealed bool
	origin *origin // nil where it was not kept
}

// Len is the number of requests.
func (s *Set) Len() int { return len(s.pins) }

// Observation is what was seen of request i.
func (s *Set) Observation(i int) jobspec.Observation { return s.pins[i].seen }

// Observations are what was seen of all requests, in their order.
func (s *Set) Observations() []jobspec.Observation {
	all := make([]jobspec.Observation, len(s.pins))
	for i, p := range s.pins {
		all[i] = p.seen
	}
	return all
}

// File is the descriptor of request i, owned by the set; nil when the
// observation has a problem. For a bound file it is open for reading at offset
// 0; for every other path it is an O_PATH descriptor to mount from.
func (s *Set) File(i int) *os.File { return s.pins[i].file }

// Sealed reports whether File(i) is a sealed copy. If it is not, a bound file is
// the inode itself, which only root can change.
func (s *Set) Sealed(i int) bool { return s.pins[i].sealed }

// Adopt adds what the caller opened itself to the set, which then owns the file:
// the job's state folder, which lies where the job's account reaches nothing.
func (s *Set) Adopt(seen jobspec.Observation, f *os.File) {
	h := held{seen: seen, file: f}
	h.adoptOrigin()
	s.pins = append(s.pins, h)
}

// Belongs notes the package that holds the bytes of request i at their path.
func (s *Set) Belongs(i int, pkg string) { s.pins[i].seen.Package = pkg }

// Close closes every descriptor of the set. It may be called more than once.
func (s *Set) Close() error {
	var all []error
	for i := range s.pins {
		if f := s.pins[i].file; f != nil {
			all = append(all, f.Close())
			s.pins[i].file = nil
		}
		if o := s.pins[i].origin; o != nil {
			all = append(all, o.at.Close())
			s.pins[i].origin = nil
		}
	}
	return errors.Join(all...)
}

// SearchPath is where bare names are looked for: the PATH of every job.
func SearchPath() []string { return []string{"/usr/local/bin", "/usr/bin", "/bin"} }

// Failure is a path that could not be found or used, as data for a refusal.
type Failure struct {
	Reason jobspec.Code
	Path   string
	Detail string
}

func (f *Failure) Error() string { return fmt.Sprintf("%q: %s", f.Path, f.Detail) }

// Code is the stable code of the failure.
func (f *Failure) Code() string { return string(f.Reason) }
