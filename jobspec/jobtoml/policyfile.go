package jobtoml

type policyFile struct {
	Serial           int64                     `toml:"serial" doc:"Rises with each edit; an older file than one seen is refused."`
	EnabledPlatforms []string                  `toml:"enabled_platforms" doc:"Platforms on which jobs run; empty: none." enum:"linux"`
	Weaker           []string                  `toml:"weaker" doc:"Weaker choices that specs may name; reduces security: default none." enum:"weaker_backend_landlock,weaker_nested_sandbox,weaker_soft_limits,weaker_exec_identity_package,weaker_landlock_missing"`
	ManagedOnly      managedOnlyTable          `toml:"managed_only" doc:"What only this file may allow."`
	Roles            rolesTable                `toml:"roles" doc:"Accounts with a part in running the service."`
	Principals       map[string]principalTable `toml:"principals" doc:"Who may approve jobs, and up to where."`
	Rules            []ruleTable               `toml:"rules" doc:"Judgements on commands; the strictest wins."`
}

type managedOnlyTable struct {
	Commands bool `toml:"commands" doc:"A command runs only when a rule here allows every part of it."`
}

type rolesTable struct {
	Operators []string `toml:"operators" doc:"Accounts that may run, cancel, hold and release any job."`
	Auditors  []string `toml:"auditors" doc:"Accounts that may read everything."`
}

type principalTable struct {
	MaxTier     string      `toml:"max_tier" doc:"Highest tier; left out: none, so no job." enum:"scratch,read-only,workspace"`
	MaxNet      string      `toml:"max_net" doc:"Highest network mode; left out: none." enum:"none,proxy"`
	RunAs       []string    `toml:"run_as" doc:"Accounts that jobs may run as, the first by default; empty: nobody."`
	Users       []string    `toml:"users" doc:"Accounts that may see and run this principal's jobs."`
	Read        []string    `toml:"read" doc:"Folders whose contents specs may name for reading."`
	Write       []string    `toml:"write" doc:"Folders whose contents specs may name for writing."`
	MaxTTL      string      `toml:"max_ttl" doc:"Longest time from signing to expiry; default 90d." form:"span"`
	MinInterval string      `toml:"min_interval" doc:"Shortest time between slots; default 1m." form:"span"`
	MaxJobs     *int64      `toml:"max_jobs" doc:"Most jobs in force; default 20."`
	Disabled    bool        `toml:"disabled" doc:"None of the principal's jobs runs."`
	Limits      limitsTable `toml:"limits" doc:"Highest limits; left out: the floor's."`
}

type ruleTable struct {
	ID       string     `toml:"id" doc:"Name of the rule, part of each ask."`
	Effect   string     `toml:"effect" doc:"What the rule demands." enum:"deny,ask,allow"`
	Why      string     `toml:"why" doc:"What the owner reads."`
	Name     string     `toml:"name" doc:"Name of the program, without a slash."`
	Path     string     `toml:"path" doc:"Pattern of the program's real path; * and ? stop at a slash."`
	Has      []string   `toml:"has" doc:"Words that must all occur among the arguments."`
	Match    [][]string `toml:"match" doc:"Command lines that the rule must match, tried when the file is read."`
	NotMatch [][]string `toml:"not_match" doc:"Command lines that it must not match."`
}
