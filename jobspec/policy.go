package jobspec

import "time"

// policyFile is the file that grants; the others are named below CONF.
const policyFile = "policy.toml"

// Policy is what the layers above a spec allow. It is made of files: policy.toml,
// which grants, those in policy.d, and the owner's own, which only narrow. Its
// zero value allows nobody anything.
//
// In a file that narrows, a nil list and a zero number say nothing; see Meet. In
// policy.toml they are the strict end, and ReadPolicy of jobtoml fills them in.
type Policy struct {
	Serial           int64
	EnabledPlatforms []string
	ManagedOnly      ManagedOnly
	// Upstream is "http://host:port" through which public hosts are reached, or
	// "direct"; managed files only. Then which address a name leads to is judged
	// by the upstream and not here.
	Upstream          string
	Weaker            []string // weaker choices that the machine permits, by name
	AgentCLI          string   // "deny" or "ask", which "" means too
	AgentInnerSandbox string   // "off": an agent's inner sandbox may be off where ours stays
	UnmatchedCommands string   // "ask": the owner is asked about a command that no rule allows; else it is allowed, see docs/adr/0001
	// Open says that a principal without a ceiling here is not restricted by this
	// file. Where it is false such a principal may do nothing.
	Open       bool
	Principals map[Principal]Ceiling
	// MaxConcurrent bounds the runs of a tier at one time; a tier that is not in it
	// has no bound of its own.
	MaxConcurrent map[Tier]int64
	Operators     []string // account names
	Auditors      []string
	Rules         []Rule
	Digest        Digest // of the managed files' bytes
	// Further names the files of policy.d that narrow policy.toml. It decides
	// nothing, and lets a refusal name the files that it may come from.
	Further []string
	// Owners are what principals have laid down for their own jobs. Decide applies
	// the one of the op's principal.
	Owners map[Principal]OwnerLayer
}

// OwnerLayer is the file that a principal keeps about the own jobs. A fault in
// it refuses that principal's jobs and nobody else's.
type OwnerLayer struct {
	Policy *Policy // nil where Reason says why
	Digest Digest
	Reason Code
	Detail string
}

// ManagedOnly says that only what managed files list may be used. Domains and
// binds need no switch: only managed files can list them.
type ManagedOnly struct {
	Commands   bool
	ReadPaths  bool // the cwd and each path must lie below what the ceiling lists
	WritePaths bool
	// Lists names the files that set Commands: each must allow every part of a
	// command by its own rules, so a further file can never widen another's list.
	Lists []string
}

// Ceiling bounds one principal. Zero values are the strict end: no tier, no
// path beyond the cwd, nobody to run as, and the floor's maximum for limits.
type Ceiling struct {
	MaxTier      Tier
	MaxNet       Net
	Hosts        []string // for net.allow, "name:port", "*.name:port"
	PrivateHosts []string // of those, the ones that may lie in private ranges; ranges as "10.0.0.0/8:443"
	Forward      []string // for net.forward, "name:port"
	Sockets      []string // prefixes
	Credentials  []string // names
	RunAs        []string // first = default, empty = nobody
	Users        []string // accounts that may see and run this principal's jobs
	Read         []string // prefixes
	Write        []string // prefixes
	Bind         []string // prefixes of bind sources beyond the cwd
	Backends     []string // nil: bwrap
	Limits       Limits   // zero fields: the floor's maximum
	MaxTTL       time.Duration
	MinInterval  time.Duration
	MaxJobs      int64
	// MaxConcurrent is how many runs are prepared or going on at one time, 0 for no
	// bound of its own. It delays starts and refuses none.
	MaxConcurrent int64
	Windows       [][]Window        // a run starts inside one window of each list; none: always
	Require       map[Tier][]string // what signing for a tier needs: "terminal", "touch"
	Disabled      bool
}

// Rule judges commands. Effect is "deny", "ask" or "allow"; any other word
// refuses the file.
type Rule struct {
	ID     string
	Layer  string
	File   string // "" for policy.toml, else its name below CONF
	Effect string
	Why    string
	Name   string   // base name; see CheckRule for how generously it is compared
	Path   string   // glob on the real path
	Args   []Token  // the arguments from the first on; nil: any, empty: none
	Rest   bool     // further arguments may follow Args
	Has    []string // tokens that must all occur, in any place
	Cwd    string   // glob on the job's cwd; "" matches any, and none
}

// Token matches one argument, whole. Exactly one of its fields is set; a zero
// token is the empty argument.
type Token struct {
	Literal string
	Any     bool
	Alt     []string // one of these
	Re      string   // RE2, anchored at both ends
}
