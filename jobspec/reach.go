package jobspec

import (
	"slices"
	"strings"
)

// reach: each thing outside the sandbox that a job can get at has two gates, the
// policy's and the spec's, and both must name it: host, forward, socket,
// credential, bind source, backend. A check says which gate is shut.
func (j *judge) reach(c Ceiling) {
	j.hosts(c)
	j.sockets(c)
	j.credentials(c)
	j.binds(c)
	for _, b := range j.spec.Backend.AnyOf {
		if backends := orBackends(c.Backends); !isNoBackend(b) && !slices.Contains(backends, b) {
			j.shut("policy", CodeSbxBackendMissing, b, "backends of "+string(j.op.Principal)+" does not list it")
		}
	}
}

// orBackends is what a ceiling permits that names no backend.
func orBackends(list []string) []string {
	if list == nil {
		return []string{DefaultBackend}
	}
	return list
}

// shut refuses what only one of the two gates names.
func (j *judge) shut(gate string, code Code, target, detail string) {
	c := Check{Code: code, Target: target, Detail: "the gate of the " + gate + " is shut: " + detail}
	switch {
	case gate == "spec":
		c.Layer = LayerSpec
	case code == CodeNetOverCeiling:
		c.Remedy = "use what policy.toml lists for the principal, or have this listed there"
	case code == CodeSbxBackendMissing:
		c.Remedy = "leave it out of backend.any_of, or have backends of the principal list it in policy.toml"
	}
	j.finding(c)
}

// hosts: the network of a job leads to what both gates name, and only where the
// spec switches the proxy on.
func (j *judge) hosts(c Ceiling) {
	j.forwardPorts()
	for _, list := range []struct {
		field    string
		items    []string
		allowed  []string
		ceiling  string
		oneAlone bool
	}{
		{"net.allow", j.spec.NetAllow, c.Hosts, "hosts", false},
		{"net.deny", j.spec.NetDeny, nil, "", false},
		{"net.forward", j.spec.Forward, c.Forward, "forward", true},
	} {
		if len(list.items) > 0 && j.op.Net == NetNone {
			j.shut("spec", CodeNetOverCeiling, list.field, "net.mode is none, so there is no network to name hosts for")
		}
		for _, item := range list.items {
			e, err := ParseEndpoint(item)
			switch {
			case err != nil:
				j.no(CodeNetDomainInvalid, item, "%s: %v", list.field, err)
			case list.oneAlone && !e.IsOne():
				j.no(CodeNetDomainInvalid, item, "%s: a forward leads to one host", list.field)
			case list.ceiling == "":
			case !coveredBy(list.allowed, item):
				j.shut("policy", CodeNetOverCeiling, item, list.ceiling+" of "+string(j.op.Principal)+" does not list it")
			case e.IsPrivate() && !list.oneAlone && !coveredBy(c.PrivateHosts, item):
				j.shut("policy", CodeNetOverCeiling, item, "it lies in a private network, and private_hosts of "+string(j.op.Principal)+" does not list it")
			}
		}
	}
}

func coveredBy(list []string, item string) bool {
	return slices.ContainsFunc(list, func(outer string) bool { return endpointCovers(outer, item) })
}

// credentials are named, never placed: a name with a slash would be a path.
func (j *judge) credentials(c Ceiling) {
	for _, cred := range j.spec.Credentials {
		switch {
		case !IsCredentialName(cred.Name):
			j.no(CodeSpecMalformed, "credential", "%s is no name of a credential", Quote(cred.Name))
		case !slices.Contains(c.Credentials, cred.Name):
			j.shut("policy", CodeCredentialOverCeiling, cred.Name, "credentials of "+string(j.op.Principal)+" does not list it")
		}
	}
}

// IsCredentialName reports whether s may name a credential.
func IsCredentialName(s string) bool { return isWord(s, 63, ".", "") && !strings.Contains(s, "..") }

// binds: a source below the cwd opens nothing that is not open; another one must
// be listed, and what is written there must be writable by the ceiling too.
func (j *judge) binds(c Ceiling) {
	for _, b := range j.spec.Bind {
		inCwd := isCleanPath(b.Source) && j.inCwd(b.Source)
		switch {
		case !inCwd && !withinAny(b.Source, c.Bind):
			j.shut("policy", CodeBindOverCeiling, b.Source, "bind of "+string(j.op.Principal)+" does not list it")
		case b.Mode == BindRW && j.op.Tier != Workspace:
			j.no(CodeBindOverCeiling, b.Source, "mode is rw, and only tier workspace writes")
		case b.Mode == BindRW && !inCwd && !withinAny(b.Source, c.Write):
			j.shut("policy", CodeBindOverCeiling, b.Source, "mode is rw, and write of "+string(j.op.Principal)+" does not list it")
		}
	}
}
