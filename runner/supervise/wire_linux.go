package supervise

import (
	"github.com/sbxcron/sbxcron/jobspec/record"
	"github.com/sbxcron/sbxcron/runner"
	"github.com/sbxcron/sbxcron/runner/egress"
	"github.com/sbxcron/sbxcron/runner/seccomp"
)

// childName is the argv[0] by which our own program knows that it is a
// supervisor. Whoever starts it so by hand gets a process that serves
// descriptor childSocket with the rights that he has anyway.
const childName = "sbxcron: supervise"

// The child's descriptors beside 0, 1, 2: its end of the socket. Its own program
// is the last.
const (
	childSocket = 3
	childExe    = 4
)

// maxMessage bounds a message; the longest carries a path or two.
const maxMessage = 16 << 10

// maxConfig bounds what travels beside an order.
const maxConfig = 64 << 20

// Config is what the supervisor of one run needs to know. It travels with the
// order to begin, not at the start of the process, which can be there before
// anybody knows for which run.
type Config struct {
	Names []runner.Name `json:"names,omitempty"` // bound files that are opened by name
	Opens seccomp.Opens `json:"opens"`           // socket families that exist for the job

	Net     *egress.Config `json:"net,omitempty"`     // what the proxy lets through, nil without one
	Ports   []uint16       `json:"ports,omitempty"`   // of the sockets that are taken: the proxy's, then one for each forward
	Sockets []string       `json:"sockets,omitempty"` // of the host, at their own places
}

// Event is what a job tried and was stopped at.
type Event = runner.Attempt

// order is one message to the child. The first of a run names the sandbox's init:
// the pipe that the stub speaks through, the Config as JSON in a sealed memory file,
// and a pidfd of the init travel beside it. When the stub has spoken, the child takes the listener
// that it waits with. End ends the run, and the child waits for the next.
type order struct {
	Init int  `json:"init,omitempty"`
	End  bool `json:"end,omitempty"`
}

// answer is what the child says: at first Ready or a problem, then Events and
// connections that are Used as they come, and Over when the run was ended and all was told.
// With Last it serves no other run.
type answer struct {
	Ready   int                `json:"ready,omitempty"` // the process whose listener was taken
	Problem problem            `json:"problem,omitempty"`
	Target  string             `json:"target,omitempty"`
	Detail  string             `json:"detail,omitempty"`
	Event   *Event             `json:"event,omitempty"`
	Used    *record.Connection `json:"used,omitempty"`
	Over    bool               `json:"over,omitempty"`
	Last    bool               `json:"last,omitempty"`
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
