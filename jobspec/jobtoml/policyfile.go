package jobtoml

type policyFile struct {
	Serial            int64                     `toml:"serial" doc:"Rises with each edit; an older file than one seen is refused. What counts is the sum over policy.toml and policy.d."`
	EnabledPlatforms  []string                  `toml:"enabled_platforms" doc:"Platforms on which jobs run; empty: none." enum:"linux"`
	Weaker            []string                  `toml:"weaker" doc:"Weaker choices that specs may name; reduces security: default none." enum:"weaker_backend_landlock,weaker_nested_sandbox,weaker_soft_limits,weaker_exec_identity_package,weaker_landlock_missing"`
	UnmatchedCommands string                    `toml:"unmatched_commands" doc:"What becomes of a command that no rule allows: ask its owner, or allow, the default, since the owner signs it." enum:"ask,allow"`
	Upstream          string                    `toml:"upstream" doc:"http://host:port that reaches public hosts for jobs; which address a name leads to is then judged there and not here. Default direct."`
	AgentCLI          string                    `toml:"agent_cli" doc:"Whether a job may start the command line of a coding agent: deny, or ask, the default." enum:"deny,ask"`
	AgentInnerSandbox string                    `toml:"agent_inner_sandbox" doc:"off: an owner may be asked to let an agent run with its own inner sandbox off; reduces security: only ours stays around it." enum:"on,off"`
	ManagedOnly       managedOnlyTable          `toml:"managed_only" doc:"What only managed files may allow."`
	Roles             rolesTable                `toml:"roles" doc:"Accounts with a part in running the service."`
	MaxConcurrent     concurrentTable           `toml:"max_concurrent" doc:"Most runs of a tier at a time; what is above it starts late."`
	Principals        map[string]principalTable `toml:"principals" doc:"Who may approve jobs, and up to where."`
	Rules             []ruleTable               `toml:"rules" doc:"Judgements on commands; the strictest wins."`
}

type managedOnlyTable struct {
	Commands   bool  `toml:"commands" doc:"A command runs only when rules in this file allow every part of it."`
	ReadPaths  bool  `toml:"read_paths" doc:"The cwd and every path must lie below what read or write of the principal lists."`
	WritePaths bool  `toml:"write_paths" doc:"A writable cwd and every writable path must lie below what write of the principal lists."`
	Domains    *bool `toml:"domains" doc:"Always so: hosts are listed here or nowhere. May be written as true only." enum:"true"`
	Binds      *bool `toml:"binds" doc:"Always so: sources of binds beyond the cwd are listed here or nowhere. May be written as true only." enum:"true"`
}

type rolesTable struct {
	Operators []string `toml:"operators" doc:"Accounts that may run, cancel, hold and release any job."`
	Auditors  []string `toml:"auditors" doc:"Accounts that may read everything."`
}

type principalTable struct {
	MaxTier       string       `toml:"max_tier" doc:"Highest tier; left out: none, so no job." enum:"scratch,read-only,workspace"`
	MaxNet        string       `toml:"max_net" doc:"Highest network mode; left out: none." enum:"none,proxy"`
	Hosts         []string     `toml:"hosts" doc:"Hosts with port that net.allow may name: a name, *.name for all below it, or a range."`
	PrivateHosts  []string     `toml:"private_hosts" doc:"Hosts and ranges that may lie in private networks."`
	Forward       []string     `toml:"forward" doc:"Hosts with port that net.forward may name."`
	Sockets       []string     `toml:"sockets" doc:"Unix sockets, or folders of them, that net.sockets may name."`
	Credentials   []string     `toml:"credentials" doc:"Secrets that specs may name."`
	RunAs         []string     `toml:"run_as" doc:"Accounts that jobs may run as, the first by default; empty: nobody."`
	Users         []string     `toml:"users" doc:"Accounts that may see and run this principal's jobs, and keep owner.d/PRINCIPAL.toml."`
	Read          []string     `toml:"read" doc:"Folders whose contents specs may name for reading."`
	Write         []string     `toml:"write" doc:"Folders whose contents specs may name for writing."`
	Bind          []string     `toml:"bind" doc:"Folders or files beyond the cwd that a bind may show; for rw also in write."`
	Backends      []string     `toml:"backends" doc:"Sandboxes that specs may accept; left out: bwrap." enum:"bwrap,landlock"`
	Windows       []string     `toml:"windows" doc:"Times in which runs may start, such as Mon-Fri 01:00-05:00 Europe/Berlin; left out: always." form:"window"`
	Require       requireTable `toml:"require" doc:"What signing for a tier needs beside a key."`
	MaxTTL        string       `toml:"max_ttl" doc:"Longest time from signing to expiry; default 90d." form:"span"`
	MinInterval   string       `toml:"min_interval" doc:"Shortest time between slots; default 1m." form:"span"`
	MaxJobs       *int64       `toml:"max_jobs" doc:"Most jobs in force; default 20."`
	MaxConcurrent *int64       `toml:"max_concurrent" doc:"Most runs at a time; what is above it starts late. Left out: those of the service, less a seat for each other principal."`
	Disabled      bool         `toml:"disabled" doc:"None of the principal's jobs runs."`
	Limits        limitsTable  `toml:"limits" doc:"Highest limits; left out: the floor's."`
}

type requireTable struct {
	Scratch   []string `toml:"scratch" doc:"For tier scratch." enum:"terminal,touch"`
	ReadOnly  []string `toml:"read-only" doc:"For tier read-only." enum:"terminal,touch"`
	Workspace []string `toml:"workspace" doc:"For tier workspace. terminal: the command line signs only for somebody on a terminal. touch: a key that is touched, which cannot be used yet, so everything is refused." enum:"terminal,touch"`
}

type concurrentTable struct {
	Scratch   *int64 `toml:"scratch" doc:"For tier scratch."`
	ReadOnly  *int64 `toml:"read-only" doc:"For tier read-only."`
	Workspace *int64 `toml:"workspace" doc:"For tier workspace."`
}

type ruleTable struct {
	ID       string     `toml:"id" doc:"Name of the rule, part of each ask."`
	Effect   string     `toml:"effect" doc:"What the rule demands." enum:"deny,ask,allow"`
	Why      string     `toml:"why" doc:"What the owner reads."`
	Name     string     `toml:"name" doc:"Name of the program, without a slash."`
	Path     string     `toml:"path" doc:"Pattern of the program's real path; * and ? stop at a slash."`
	Args     []argItem  `toml:"args" doc:"The arguments in their order, none beyond them unless rest is set; empty: no arguments; left out: any."`
	Rest     bool       `toml:"rest" doc:"Further arguments may follow args."`
	Has      []string   `toml:"has" doc:"Words that must all occur among the arguments."`
	Cwd      string     `toml:"cwd" doc:"Pattern of the folder that the command starts in."`
	Match    [][]string `toml:"match" doc:"Command lines that the rule must match, tried when the file is read."`
	NotMatch [][]string `toml:"not_match" doc:"Command lines that it must not match."`
}

// argItem is one argument of a rule: a text, or a table of argTable with one key.
// TOML lets a list hold both.
type argItem any

type argTable struct {
	Any bool     `toml:"any" doc:"Any one argument; written as true only." enum:"true"`
	Alt []string `toml:"alt" doc:"One of these."`
	Re  string   `toml:"re" doc:"A pattern (RE2) that the whole argument matches."`
}
