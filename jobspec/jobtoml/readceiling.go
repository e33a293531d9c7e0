package jobtoml

import (
	"fmt"
	"maps"
	"path"
	"slices"

	"github.com/sbxcron/sbxcron/jobspec"
)

func (r *fields) principals(tables map[string]principalTable, which part) map[jobspec.Principal]jobspec.Ceiling {
	all := map[jobspec.Principal]jobspec.Ceiling{}
	for _, name := range slices.Sorted(maps.Keys(tables)) {
		at := "principals." + name
		p, err := jobspec.ParsePrincipal(name)
		if err != nil {
			r.fail(r.value(at, err))
			continue
		}
		if which.owner != "" && p != which.owner {
			r.fail(r.refuse(at, r.codes.value, "leave it out", "this is the file of %s, which says nothing about others", which.owner))
			continue
		}
		all[p] = r.ceiling(at, tables[name], which)
	}
	return all
}

func (r *fields) ceiling(at string, t principalTable, which part) jobspec.Ceiling {
	r.accounts(at+".run_as", t.RunAs, false)
	r.accounts(at+".users", t.Users, true)
	r.folders(at+".read", t.Read)
	r.folders(at+".write", t.Write)
	r.folders(at+".bind", t.Bind)
	r.folders(at+".sockets", t.Sockets)
	r.endpoints(at+".hosts", t.Hosts, false)
	r.endpoints(at+".private_hosts", t.PrivateHosts, false)
	r.endpoints(at+".forward", t.Forward, true)
	r.credentials(at+".credentials", t.Credentials)
	r.oneOf(at+".backends", t.Backends, []string{"bwrap", "landlock"})
	c := jobspec.Ceiling{
		MaxTier: r.tier(at+".max_tier", t.MaxTier), MaxNet: r.net(at+".max_net", t.MaxNet),
		Hosts: t.Hosts, PrivateHosts: t.PrivateHosts, Forward: t.Forward, Sockets: t.Sockets, Credentials: t.Credentials,
		RunAs: t.RunAs, Users: t.Users, Read: t.Read, Write: t.Write, Bind: t.Bind, Backends: t.Backends,
		Limits: r.limits(at+".limits", t.Limits), MaxTTL: r.span(at+".max_ttl", t.MaxTTL), MinInterval: r.span(at+".min_interval", t.MinInterval),
		MaxJobs: r.count(at+".max_jobs", t.MaxJobs), Windows: r.windows(at+".windows", t.Windows), Require: r.require(at+".require", t.Require),
		MaxConcurrent: r.count(at+".max_concurrent", t.MaxConcurrent), Disabled: t.Disabled,
	}
	return unsaid(c, t, which)
}

// concurrent reads the bounds of tiers, nil for none.
func (r *fields) concurrent(t concurrentTable) map[jobspec.Tier]int64 {
	var all map[jobspec.Tier]int64
	for _, f := range []struct {
		tier jobspec.Tier
		most *int64
	}{{jobspec.Scratch, t.Scratch}, {jobspec.ReadOnly, t.ReadOnly}, {jobspec.Workspace, t.Workspace}} {
		if f.most == nil {
			continue
		}
		if all == nil {
			all = map[jobspec.Tier]int64{}
		}
		all[f.tier] = r.count("max_concurrent."+f.tier.String(), f.most)
	}
	return all
}

// unsaid fills in what a missing tier or net means: in policy.toml no tier and no
// network, in a file that narrows nothing.
func unsaid(c jobspec.Ceiling, t principalTable, which part) jobspec.Ceiling {
	if t.MaxNet == "" {
		c.MaxNet = jobspec.NetNone
	}
	if !which.narrows() {
		return c
	}
	if t.MaxTier == "" {
		c.MaxTier = jobspec.Workspace
	}
	if t.MaxNet == "" {
		c.MaxNet = jobspec.NetProxy
	}
	return c
}

func (r *fields) word(field, word string, known ...string) {
	if word != "" && !slices.Contains(known, word) {
		r.fail(r.refuse(field, r.codes.value, "", "%s is not one of ours", jobspec.Quote(word)))
	}
}

func (r *fields) oneOf(field string, words, known []string) {
	for i, w := range words {
		if !slices.Contains(known, w) {
			r.fail(r.refuse(field, r.codes.value, "", "item %d, %s, is not one of ours", i, jobspec.Quote(w)))
		}
		if slices.Index(words, w) != i {
			r.fail(r.refuse(field, r.codes.value, "", "item %d, %s, stands there twice", i, jobspec.Quote(w)))
		}
	}
}

// accounts refuses names that are none, and root where jobs would run as it.
func (r *fields) accounts(field string, names []string, root bool) {
	for i, n := range names {
		if !isAccount(n) {
			r.fail(r.refuse(field, r.codes.value, "", "item %d, %s, is no account name", i, jobspec.Quote(n)))
		}
		if n == "root" && !root {
			r.fail(r.refuse(field, jobspec.CodeRunAsForbidden, "", "no job runs as root"))
		}
	}
}

// isAccount accepts the names that useradd(8) does; ids in digits are none.
func isAccount(s string) bool {
	if s == "" || len(s) > 32 {
		return false
	}
	for i, c := range s {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_'
		inner := c >= '0' && c <= '9' || c == '-' || c == '.' || c == '$' && i == len(s)-1
		if !letter && (i == 0 || !inner) {
			return false
		}
	}
	return true
}

func (r *fields) folders(field string, paths []string) {
	for i, p := range paths {
		if !path.IsAbs(p) || path.Clean(p) != p || p == "/" {
			r.fail(r.refuse(field, r.codes.value, "", "item %d, %s, is not an absolute path in its shortest form below /", i, jobspec.Quote(p)))
		}
	}
}

func (r *fields) endpoints(field string, items []string, one bool) {
	for i, s := range items {
		e, err := jobspec.ParseEndpoint(s)
		if err == nil && one && !e.IsOne() {
			err = fmt.Errorf("%s is more than one host", jobspec.Quote(s))
		}
		if err != nil {
			r.fail(r.refuse(field, r.codes.value, jobspec.CodeNetDomainInvalid.Remedy(), "item %d: %v", i, err))
		}
	}
}

func (r *fields) credentials(field string, names []string) {
	for i, n := range names {
		if !jobspec.IsCredentialName(n) {
			r.fail(r.refuse(field, r.codes.value, "", "item %d, %s, is no name of a credential", i, jobspec.Quote(n)))
		}
	}
}

// windows are one list: a run may start in any of them.
func (r *fields) windows(field string, texts []string) [][]jobspec.Window {
	if texts == nil {
		return nil
	}
	list := []jobspec.Window{}
	for i, s := range texts {
		w, err := jobspec.ParseWindow(s)
		if err != nil {
			r.fail(r.refuse(field, r.codes.value, "", "item %d: %v", i, err))
			continue
		}
		list = append(list, w)
	}
	return [][]jobspec.Window{list}
}

func (r *fields) require(field string, t requireTable) map[jobspec.Tier][]string {
	var all map[jobspec.Tier][]string
	for _, s := range []struct {
		tier  jobspec.Tier
		words []string
	}{{jobspec.Scratch, t.Scratch}, {jobspec.ReadOnly, t.ReadOnly}, {jobspec.Workspace, t.Workspace}} {
		r.oneOf(field+"."+s.tier.String(), s.words, []string{jobspec.RequireTerminal, jobspec.RequireTouch})
		if len(s.words) == 0 {
			continue
		}
		if all == nil {
			all = map[jobspec.Tier][]string{}
		}
		all[s.tier] = slices.Sorted(slices.Values(s.words))
	}
	return all
}
