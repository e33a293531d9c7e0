package supervise

import (
	"github.com/sbxcron/sbxcron/runner"
)

// childName is the argv[0] by which our own program knows that it is the
// supervisor of a run. Whoever starts it so by hand gets a process that serves
// descriptor childSocket with the rights that he has anyway.
const childName = "sbxcron: supervise"

// The child's descriptors beside 0, 1, 2: its end of the socket, and the names
// as JSON in a sealed memory file. Its own program is the last.
const (
	childSocket = 3
	childNames  = 4
	childExe    = 5
)

// maxMessage bounds a message; the longest carries a path or two.
const maxMessage = 16 << 10

// order tells the child to take the listener of a waiting process. A descriptor
// of the process travels beside it.
type order struct {
	PID int `json:"pid"`
}

// answer is what the child says: at first Ready or a problem, then one message
// for each execve that was refused.
type answer struct {
	Ready   bool    `json:"ready,omitempty"`
	Problem problem `json:"problem,omitempty"`
	Target  string  `json:"target,omitempty"`
	Detail  string  `json:"detail,omitempty"`
	Drifted bool    `json:"drifted,omitempty"` // Target is the name
}

// problem says why the child could not begin. The zero value is none.
type problem string

const (
	problemListener problem = "listener" // it could not be taken
	problemName     problem = "name"     // a name does not mean its bytes
	problemOther    problem = "other"
)

// Error is why a supervisor did not begin.
type Error struct {
	Moved    bool   // Target does not mean the approved bytes any more
	Listener bool   // the listener could not be taken
	Target   string // a path inside the sandbox, or ""
	Detail   string
}

func (e *Error) Error() string { return e.Detail }

func (a answer) failure() *Error {
	return &Error{Moved: a.Problem == problemName, Listener: a.Problem == problemListener, Target: a.Target, Detail: a.Detail}
}

// names is what the child is given at its start.
type names struct {
	List []runner.Name `json:"list"`
}
