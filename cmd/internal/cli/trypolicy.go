package cli

import (
	"fmt"
	"os"
	"os/user"
	"strings"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/jobtoml"
)

// tryPolicy allows the caller all that the floor allows, for one try. It gives
// nobody a right: the job runs as the caller, or as an account that root names.
func tryPolicy(who jobspec.Principal, d *jobspec.Draft, system bool) ([]byte, error) {
	var b strings.Builder
	say := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	say("serial = 1")
	say("enabled_platforms = [\"linux\"]")
	say("agent_inner_sandbox = \"off\"")
	say("[principals.%s]", jobspec.Quote(string(who)))
	say("max_tier = \"workspace\"")
	say("max_net = \"proxy\"")
	say("max_ttl = \"3650d\"")
	places, err := everywhere()
	if err != nil {
		return nil, err
	}
	for _, list := range []string{"read", "write", "bind"} {
		say("%s = [%s]", list, places)
	}
	hosts := strings.Join(endpoints(jobspec.WithPorts(d.NetAllow)), ", ")
	say("hosts = [%s]\nprivate_hosts = [%s]", hosts, hosts)
	say("forward = [%s]", strings.Join(endpoints(d.Forward), ", "))
	say("sockets = [%s]", places)
	if system && d.RunAs != "" {
		say("run_as = [%s]", jobspec.Quote(d.RunAs))
	}
	text := []byte(b.String())
	if _, err := jobtoml.ReadPolicy(text); err != nil {
		return nil, fmt.Errorf("the policy of a try: %w", err)
	}
	return text, nil
}

// everywhere names each entry of the root, since no policy can name the root.
// What no job gets stays out of reach whatever is named.
func everywhere() (string, error) {
	entries, err := os.ReadDir("/")
	if err != nil {
		return "", fmt.Errorf("look at the root folder: %w", err)
	}
	var all []string
	for _, e := range entries {
		all = append(all, jobspec.Quote("/"+e.Name()))
	}
	return strings.Join(all, ", "), nil
}

// endpoints are those that can be read; the decision names the others.
func endpoints(items []string) []string {
	var all []string
	for _, s := range items {
		if _, err := jobspec.ParseEndpoint(s); err == nil {
			all = append(all, jobspec.Quote(s))
		}
	}
	return all
}

// callerName is the account of this process as a principal.
func callerName() jobspec.Principal {
	u, err := user.Current()
	if err != nil {
		return tryName
	}
	p, err := jobspec.ParsePrincipal(u.Username)
	if err != nil {
		return tryName
	}
	return p
}
