package jobtoml

// The structs below are the files, key by key. The tags feed the decoder and the
// schemas: toml is the key, doc its sentence, form and enum what its text may
// be. Numbers that must not be zero are pointers, so that a zero is seen.

type jobFile struct {
	Name          string            `toml:"name" doc:"Name of the job." form:"name"`
	Note          string            `toml:"note" doc:"Shown, never used."`
	Schedule      string            `toml:"schedule" doc:"Five cron fields, or an @name such as @daily. Exactly one of schedule, every and at."`
	Every         string            `toml:"every" doc:"Interval of at least one minute." form:"span"`
	At            string            `toml:"at" doc:"One instant, RFC 3339 with an offset."`
	Timezone      string            `toml:"timezone" doc:"IANA name of the zone that the schedule is meant in; default: the machine's, else UTC."`
	Jitter        string            `toml:"jitter" doc:"Shifts each start by up to this much, always the same for one approval." form:"span"`
	Missed        string            `toml:"missed" doc:"What becomes of slots that passed while nothing ran: skip, the default, or once, the newest of them." enum:"skip,once"`
	StartDeadline string            `toml:"start_deadline" doc:"With missed = once: how late a slot may start; default half the smallest distance of two slots, 2m to 2h." form:"span"`
	Overlap       string            `toml:"overlap" doc:"What becomes of a slot while the job still runs: skip, the default, queue (one) or replace." enum:"skip,queue,replace"`
	Retries       int64             `toml:"retries" doc:"Further attempts of a run that fails, at most 10; never after a refusal or a denial."`
	Expires       string            `toml:"expires" doc:"When the approval ends, counted from signing; default 90d." form:"span"`
	Tier          string            `toml:"tier" doc:"How much of the file system the job may change; default: scratch without a cwd, read-only with one." enum:"scratch,read-only,workspace"`
	Cwd           string            `toml:"cwd" doc:"Folder that the job runs in."`
	Command       []string          `toml:"command" doc:"Program and arguments, never split and never rewritten."`
	Script        scriptTable       `toml:"script" doc:"A program text inside the signature, in place of a program file."`
	Stdin         string            `toml:"stdin" doc:"Text on standard input; default: nothing."`
	Files         []string          `toml:"files" doc:"Further files bound by their digest."`
	Env           map[string]string `toml:"env" doc:"Variables added to the fixed base; the environment starts empty."`
	RunAs         string            `toml:"run_as" doc:"Account that the job runs as, in system mode."`
	StateDir      bool              `toml:"state_dir" doc:"A folder of the job's own that survives runs, at $STATE_DIRECTORY; removed with the job."`
	Result        string            `toml:"result" doc:"How the end is read." enum:"exit,claude-json,codex-json,gemini-json"`
	Fs            fsTable           `toml:"fs" doc:"Paths beyond the tier, at the same place inside."`
	Bind          []bindTable       `toml:"bind" doc:"Host paths shown at another place inside."`
	Net           netTable          `toml:"net" doc:"Network of the job."`
	Credential    []credentialTable `toml:"credential" doc:"Secrets by name."`
	Limits        limitsTable       `toml:"limits" doc:"Bounds of a run."`
	Denials       denialsTable      `toml:"denials" doc:"What a stopped attempt does to the run; permits nothing."`
	Backend       backendTable      `toml:"backend" doc:"Sandboxes that the owner accepts."`
	Weaker        []string          `toml:"weaker" doc:"Weaker choices by name; reduces security: each also needs the policy, and each run under it says so." enum:"weaker_backend_landlock,weaker_nested_sandbox,weaker_soft_limits,weaker_exec_identity_package,weaker_landlock_missing"`
	Notify        notifyTable       `toml:"notify" doc:"What somebody is told about."`
}

type scriptTable struct {
	Interpreter string `toml:"interpreter" doc:"Absolute path of the program that runs the text."`
	Body        string `toml:"body" doc:"The text, at most 64 KiB."`
}

type fsTable struct {
	Read      []string `toml:"read" doc:"Paths that are readable."`
	Write     []string `toml:"write" doc:"Paths that are writable; tier workspace only."`
	Deny      []string `toml:"deny" doc:"Holes in the above; the longest prefix wins, a tie denies."`
	Git       string   `toml:"git" doc:"What a .git in a writable cwd is; commit opens all of it but config, hooks, info and modules, and is an ask." enum:"read-only,commit"`
	MayCreate []string `toml:"may_create" doc:"Protected names that the job may create."`
}

type bindTable struct {
	Source string `toml:"source" doc:"Path on the host. A file with mode ro is bound by its digest, everything else is shown as it is at each run."`
	Target string `toml:"target" doc:"Path inside, absolute or ~/ and a path in the private home."`
	Mode   string `toml:"mode" doc:"Must be given." enum:"ro,rw"`
}

type netTable struct {
	Mode    string   `toml:"mode" doc:"Network mode; default none." enum:"none,proxy"`
	Allow   []string `toml:"allow" doc:"Hosts with port that the proxy lets through."`
	Deny    []string `toml:"deny" doc:"Hosts that it never lets through."`
	Forward []string `toml:"forward" doc:"Fixed hosts and ports seen inside as 127.0.0.1."`
	Sockets []string `toml:"sockets" doc:"Unix sockets that the job may use."`
}

type credentialTable struct {
	Name string `toml:"name" doc:"Name of the secret, never a place."`
	As   string `toml:"as" doc:"file, path:~/PLACE or env:NAME."`
}

type limitsTable struct {
	Timeout         string `toml:"timeout" doc:"Longest run; default 15m." form:"span"`
	Grace           string `toml:"grace" doc:"From TERM to KILL; default 10s." form:"span"`
	Memory          string `toml:"memory" doc:"Memory of the whole job." form:"size"`
	CPUs            string `toml:"cpus" doc:"Cores, such as 1.5." form:"cpus"`
	PIDs            *int64 `toml:"pids" doc:"Processes; default 256."`
	FileSize        string `toml:"file_size" doc:"Largest file; default 1GiB." form:"size"`
	OpenFiles       *int64 `toml:"open_files" doc:"Open files of a process; default 1024."`
	Output          string `toml:"output" doc:"Kept of each stream; default 1MiB." form:"size"`
	Tmp             string `toml:"tmp" doc:"Size of each private tmp; default 64MiB." form:"size"`
	WorkspaceGrowth string `toml:"workspace_growth" doc:"How much the cwd may grow." form:"size"`
	Connections     *int64 `toml:"connections" doc:"Connections of a run."`
	Bytes           string `toml:"bytes" doc:"Bytes over the network." form:"size"`
	State           string `toml:"state" doc:"Size of the state folder; default 256MiB." form:"size"`
}

type denialsTable struct {
	Expected []expectedTable `toml:"expected" doc:"Denials that do not make the run denied; still stopped and recorded."`
	OnDenial string          `toml:"on_denial" doc:"What an unexpected denial does." enum:"fail,kill"`
	Max      int64           `toml:"max" doc:"Denials after which the run is killed."`
}

type expectedTable struct {
	Code   string `toml:"code" doc:"Code of the denial."`
	Target string `toml:"target" doc:"What it is about, exactly."`
}

type backendTable struct {
	AnyOf   []string `toml:"any_of" doc:"Backends that are accepted; default bwrap."`
	Require []string `toml:"require" doc:"Capabilities that the backend must have."`
	Devices []string `toml:"devices" doc:"Devices that the job may use."`
	Image   string   `toml:"image" doc:"Image of a container backend."`
	Host    string   `toml:"host" doc:"Host of a remote backend."`
	User    string   `toml:"user" doc:"User on that host."`
	Port    int64    `toml:"port" doc:"Port of that host."`
}

type notifyTable struct {
	On []string `toml:"on" doc:"Events; left out: those that notify.toml of the installation gives every job." enum:"failed,denied,refused,missed,would_be_refused,expiring,recovered,key_revoked"`
}
