package jobtoml

import (
	"fmt"
	"strings"

	"github.com/sbxcron/sbxcron/jobspec"
)

// NewPolicy is what init knows of the first policy.
type NewPolicy struct {
	Principal jobspec.Principal
	RunAs     []string // accounts for jobs, in system mode
	Users     []string // accounts that may see and run the jobs, in system mode
}

// WritePolicy is the first policy.toml: one principal, the usual ceilings, no
// network, no path beyond the cwd. ReadPolicy accepts it.
func WritePolicy(n NewPolicy) []byte {
	var b strings.Builder
	say := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	say("# What this machine allows. With any fault in this file nothing runs.")
	say("# schema policy explains every key.")
	say("")
	say("serial = 1                       # raise it with each edit")
	say("enabled_platforms = [\"linux\"]    # empty: no job runs")
	say("")
	say("[roles]")
	say("operators = []                   # accounts that may run, cancel, hold and release any job")
	say("auditors = []                    # accounts that may read everything")
	say("")
	say("[principals.%s]", key(string(n.Principal)))
	say("max_tier = \"workspace\"           # scratch, read-only, workspace")
	say("max_net = \"none\"                 # none, proxy")
	say("run_as = %s                      # accounts that jobs run as in system mode, the first by default", list(n.RunAs))
	say("users = %s                       # accounts that may see and run these jobs", list(n.Users))
	say("read = []                        # folders beyond the cwd that specs may name")
	say("write = []")
	say("max_ttl = \"90d\"")
	say("min_interval = \"1m\"")
	say("max_jobs = %d                   # that many are in force at a time", FirstMaxJobs)
	return []byte(b.String())
}

// FirstMaxJobs lets the owner of a new installation import a whole crontab. Where a
// policy says nothing, fewer are allowed.
const FirstMaxJobs = 200

// key quotes a principal that is no bare key of TOML. Its characters need no
// escapes.
func key(s string) string {
	if strings.ContainsAny(s, ".@") {
		return `"` + s + `"`
	}
	return s
}

func list(items []string) string {
	quoted := make([]string, len(items))
	for i, s := range items {
		quoted[i] = `"` + s + `"`
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}
