package jobspec

// Spec is what the owner approves: everything that decides how a job runs. It
// is signed inside an Op and never on its own. Every default is resolved at add
// and written out, so a field that is absent means "none" and never "the
// reader's default". The order of the fields is the order of the signed bytes;
// a new meaning needs a new Op type, a new field is a new member that an older
// binary refuses.
type Spec struct {
	Argv        []string          `json:"argv"`        // never split, never rewritten
	Script      Script            `json:"script"`      // an embedded body in place of argv[0]
	Bound       []Bound           `json:"bound"`       // files whose bytes are part of the approval
	Cwd         Place             `json:"cwd"`         // absent in tier scratch
	Read        []string          `json:"read"`        // further paths, read-only
	Write       []string          `json:"write"`       // further paths, writable; workspace only
	Deny        []string          `json:"deny"`        // holes in the above
	Git         string            `json:"git"`         // "read-only" where .git lies in a writable cwd, or "commit"
	MayCreate   []string          `json:"may_create"`  // protected names that the job may create
	Bind        []Bind            `json:"bind"`        // host paths shown at another place
	Env         map[string]string `json:"env"`         // added to the fixed base; the environment starts empty
	Stdin       string            `json:"stdin"`       // signed text, else nothing
	Schedule    Schedule          `json:"schedule"`    //
	ExpiresAt   Instant           `json:"expires_at"`  // required
	Limits      Limits            `json:"limits"`      //
	RunAs       RunAs             `json:"run_as"`      // absent: the service's uid (user mode) or a throw-away uid (system mode)
	StateDir    bool              `json:"state_dir"`   // a folder of the job's own that survives runs
	Result      string            `json:"result"`      // "exit", or whose own result is read
	NetAllow    []string          `json:"net_allow"`   // hosts that the proxy reaches, "name:port"; empty: none
	NetDeny     []string          `json:"net_deny"`    // holes in the above
	Forward     []string          `json:"forward"`     // hosts that are shown inside as 127.0.0.1, each on its port
	Sockets     []string          `json:"sockets"`     // Unix sockets of the host, each at its own path
	Credentials []Credential      `json:"credentials"` // by name; the values are no part of the signature
	Denials     DenialRules       `json:"denials"`     //
	Backend     BackendNeed       `json:"backend"`     //
	Weaker      []string          `json:"weaker"`      // weaker choices that the owner accepts by name
	Notify      []string          `json:"notify"`      // events, see JobEvents
	Answers     []Answer          `json:"answers"`     // the owner's answers to the asks of this spec
	Policy      PolicyDigests     `json:"policy"`      // the policy in force when the owner signed
	Coverage    map[string]string `json:"coverage"`    // what is bound and how: hash, embedded, system, unbound
	Note        string            `json:"note"`        // shown, never used
}

// Script is a program text inside the signature, run by a bound interpreter.
// Argv then holds the operands only.
type Script struct {
	Interpreter string `json:"interpreter"`
	Body        string `json:"body"`
}

// Role says why a file is bound.
type Role string

// The roles of bound files.
const (
	RoleExecutable  Role = "executable"
	RoleInterpreter Role = "interpreter"
	RoleScript      Role = "script"
	RoleFile        Role = "file"
	RoleBind        Role = "bind" // the source of a bind that is a file and read-only
)

// Bound is a file whose bytes are part of the approval: at each start the bytes
// found under Real must have this size and digest, and those very bytes run.
type Bound struct {
	Role   Role   `json:"role"`
	Typed  string `json:"typed"` // as the owner wrote it
	Real   string `json:"real"`  // absolute, no symbolic link in it
	Size   int64  `json:"size"`
	SHA256 Digest `json:"sha256"`
	UID    int    `json:"uid"`
	Mode   string `json:"mode"` // permission bits as in "0755"
	// Package is the distribution's package that the file belonged to when it was
	// bound, where weaker_exec_identity_package was accepted.
	Package string `json:"package"`
}

// Place is a directory and the uid that owned it at add.
type Place struct {
	Path string `json:"path"`
	UID  int    `json:"uid"`
}

// Schedule says when. Exactly one of Cron, EverySeconds and At is set.
type Schedule struct {
	Cron                 string  `json:"cron"`          // five fields or an @name, as typed
	EverySeconds         int64   `json:"every_seconds"` // anchored at the op's created
	At                   Instant `json:"at"`
	Timezone             string  `json:"timezone"` // an IANA name; mandatory
	JitterSeconds        int64   `json:"jitter_seconds"`
	Missed               string  `json:"missed"` // "skip"
	StartDeadlineSeconds int64   `json:"start_deadline_seconds"`
	Overlap              string  `json:"overlap"` // "skip"
	Retries              int64   `json:"retries"`
	Words                string  `json:"words"` // the sentence that add showed
}

// Limits bound a run. Zero means that the limit is absent, which only some
// fields allow; Decide refuses a spec without a timeout.
type Limits struct {
	TimeoutSeconds       int64 `json:"timeout_seconds"`
	GraceSeconds         int64 `json:"grace_seconds"` // from TERM to KILL
	MemoryBytes          int64 `json:"memory_bytes"`
	CPUPercent           int64 `json:"cpu_percent"` // 100 is one core
	PIDs                 int64 `json:"pids"`
	FileSizeBytes        int64 `json:"file_size_bytes"`
	OpenFiles            int64 `json:"open_files"`
	OutputBytes          int64 `json:"output_bytes"` // kept per stream
	TmpBytes             int64 `json:"tmp_bytes"`    // size of each private tmpfs
	WorkspaceGrowthBytes int64 `json:"workspace_growth_bytes"`
	Connections          int64 `json:"connections"`
	NetBytes             int64 `json:"net_bytes"`
	StateBytes           int64 `json:"state_bytes"` // of the state folder, looked at before and after each run
}

// RunAs is the account that a job runs as in system mode: name, uid and gid are
// all bound. The zero value names nobody.
type RunAs struct {
	User string `json:"user"`
	UID  int    `json:"uid"`
	GID  int    `json:"gid"`
}

// IsZero reports whether no account is named.
func (r RunAs) IsZero() bool { return r == RunAs{} }

// Bind shows a host path at another path inside. A file that is only read is
// also Bound, with RoleBind; everything else is shown as it is at each run and
// identified by path, kind and owner.
type Bind struct {
	Source string   `json:"source"` // absolute, no symbolic link in it
	Target string   `json:"target"` // absolute, or ~/ and a path in the private HOME
	Mode   string   `json:"mode"`   // "ro" or "rw"
	Kind   FileKind `json:"kind"`   // of the source at add: regular or directory
	UID    int      `json:"uid"`    // who owned it at add
}

// Credential names a secret and how the job sees it: "file", "path:~/PLACE" or
// "env:NAME".
type Credential struct {
	Name string `json:"name"`
	As   string `json:"as"`
}

// DenialRules say what a stopped attempt does to the run. They never permit anything.
type DenialRules struct {
	Expected []ExpectedDenial `json:"expected"`
	OnDenial string           `json:"on_denial"` // "fail" or "kill"
	Max      int64            `json:"max"`
}

// ExpectedDenial names one denial that does not make a run "denied". It is
// still stopped and still recorded.
type ExpectedDenial struct {
	Code   Code   `json:"code"`
	Target string `json:"target"`
}

// BackendNeed names the backends that the owner accepts and what they must have.
type BackendNeed struct {
	AnyOf   []string `json:"any_of"`
	Require []string `json:"require"`
	Devices []string `json:"devices"`
	Image   string   `json:"image"` // of container backends; see laterTable
	Host    string   `json:"host"`  // of remote backends; see laterTable
	User    string   `json:"user"`
	Port    int64    `json:"port"`
}

// Answer is the owner's recorded "allow" to one ask.
type Answer struct {
	AskID string `json:"ask_id"`
	Rule  string `json:"rule"`
	Shown Digest `json:"shown"` // of the text that the owner saw
}

// PolicyDigests name the policy that was in force when the owner signed.
type PolicyDigests struct {
	Floor   Digest `json:"floor"`
	Managed Digest `json:"managed"`
	Owner   Digest `json:"owner"`
	Serial  int64  `json:"serial"`
}
