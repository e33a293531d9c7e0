package jobspec

import "time"

// Policy is the managed layer: what an organisation allows its principals. Its
// zero value allows nobody anything.
type Policy struct {
	Serial            int64
	EnabledPlatforms  []string
	ManagedOnly       ManagedOnly
	Weaker            []string // weaker choices that the machine permits, by name
	Principals        map[Principal]Ceiling
	AgentCLI          string   // "deny" or "ask"; "" is ask
	AgentInnerSandbox string   // "off": an agent may run with its own inner sandbox off, ours stays; "" refuses that
	Operators         []string // account names
	Auditors          []string
	Rules             []Rule
	Digest            Digest // of the file's bytes
}

// ManagedOnly switches off what lower layers could allow.
type ManagedOnly struct {
	Commands bool
}

// Ceiling bounds one principal. Zero values are the strict end: no tier, no
// path beyond the cwd, nobody to run as, and the floor's maximum for limits.
type Ceiling struct {
	MaxTier     Tier
	MaxNet      Net
	RunAs       []string // first = default, empty = nobody
	Users       []string // accounts that may see and run this principal's jobs
	Read        []string // prefixes
	Write       []string // prefixes
	Limits      Limits   // zero fields: the floor's maximum
	MaxTTL      time.Duration
	MinInterval time.Duration
	MaxJobs     int64
	Disabled    bool
}

// Rule judges commands. Effect is "deny", "ask" or "allow"; any other word
// refuses the file.
type Rule struct {
	ID     string
	Layer  string
	Effect string
	Why    string
	Name   string   // base name, see policy.md 2.4 for the asymmetry
	Path   string   // glob on the real path
	Args   []Token  // one for each argument, from the first on; nil: any arguments, empty: none
	Rest   bool     // with Args: further arguments may follow
	Has    []string // tokens that must all occur, in any place
	Cwd    string   // glob on the folder that the command starts in; "" for any
}

// Token judges one argument. Exactly one of its fields is set; the zero Token
// matches the empty argument only.
type Token struct {
	Literal string
	Any     bool
	Alt     []string // one of these words
	Re      string   // RE2, held against the whole argument
}
