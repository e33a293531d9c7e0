package jobspec

import "time"

// Draft is what the owner typed, in job.toml or as flags: unresolved, unsigned,
// and permitted nothing. A zero field was not typed; Resolve writes the default
// for it where there is one and refuses the draft where there is none.
type Draft struct {
	Name Name
	Note string

	// Exactly one of Cron, Every and At says when.
	Cron          string
	Every         time.Duration
	At            time.Time
	Timezone      string
	Jitter        time.Duration
	Missed        string
	StartDeadline time.Duration
	Overlap       string
	Retries       int64
	Expires       time.Duration // from now

	Tier Tier
	Net  Net
	Cwd  string // as typed; Facts has the real path

	Command  []string
	Script   Script
	Stdin    string
	Files    []string
	Env      map[string]string
	RunAs    string
	StateDir bool
	Result   string

	Read, Write, Deny []string
	Git               string
	MayCreate         []string
	Bind              []Bind

	NetAllow, NetDeny []string
	Forward, Sockets  []string
	Credentials       []Credential

	Limits  Limits // zero fields: DefaultLimits
	Denials DenialRules
	Backend BackendNeed
	Weaker  []string
	Notify  []string
}

// Facts are what Resolve cannot know from the draft: the chain, the clock, and
// what was found when the paths were opened with the job's rights.
type Facts struct {
	Host      HostID
	Seq       int64
	Prev      Digest
	Action    Action // Add or Replace
	Revision  int64
	Principal Principal
	Now       time.Time
	ApplyFor  time.Duration // how long the op may be applied; 0 for DefaultApplyFor

	Zone  string // name of the machine's zone, "" when it has none
	Words string // the calendar's sentence for the schedule
	// Gap is the shortest distance of two slots of the schedule, 0 where there is one
	// slot only.
	Gap time.Duration

	Cwd               Place // real path and owner; zero when the draft names none
	Read, Write, Deny []string
	HasGit            bool // .git lies in a writable cwd
	Bound             []Bound
	Bind              []Bind // as in the draft, with absolute sources, their kinds and owners
	RunAs             RunAs  // zero when no account is bound

	Policy PolicyDigests
}
