package jobspec

import "slices"

// setField is a list of a Ceiling with the relation that orders its items.
type setField struct {
	name   string
	value  func(*Ceiling) *[]string
	covers func(outer, inner string) bool
}

// setFields are the lists of a ceiling by their names in policy.toml.
func setFields() []setField {
	return []setField{
		{"hosts", func(c *Ceiling) *[]string { return &c.Hosts }, endpointCovers},
		{"private_hosts", func(c *Ceiling) *[]string { return &c.PrivateHosts }, endpointCovers},
		{"forward", func(c *Ceiling) *[]string { return &c.Forward }, endpointCovers},
		{"sockets", func(c *Ceiling) *[]string { return &c.Sockets }, pathCovers},
		{"credentials", func(c *Ceiling) *[]string { return &c.Credentials }, sameName},
		{"run_as", func(c *Ceiling) *[]string { return &c.RunAs }, sameName},
		{"users", func(c *Ceiling) *[]string { return &c.Users }, sameName},
		{"read", func(c *Ceiling) *[]string { return &c.Read }, pathCovers},
		{"write", func(c *Ceiling) *[]string { return &c.Write }, pathCovers},
		{"bind", func(c *Ceiling) *[]string { return &c.Bind }, pathCovers},
		{"backends", func(c *Ceiling) *[]string { return &c.Backends }, sameName},
	}
}

func sameName(a, b string) bool           { return a == b }
func pathCovers(outer, inner string) bool { return isCleanPath(inner) && pathWithin(inner, outer) }

func meetNames(a, b []string) []string { return meetSets(a, b, sameName) }

// meetSets lists what both cover. The items of one file nest or lie apart, so of
// each pair the inner one is what they share. nil covers everything. Lists that
// are equal keep their order, of which the first is a default (run_as); else the
// result is sorted, and so the same whichever file was read first.
func meetSets(a, b []string, covers func(outer, inner string) bool) []string {
	switch {
	case a == nil:
		return slices.Clone(b)
	case b == nil, slices.Equal(a, b):
		return slices.Clone(a)
	}
	var shared []string
	for _, x := range a {
		for _, y := range b {
			switch {
			case covers(x, y):
				shared = append(shared, y)
			case covers(y, x):
				shared = append(shared, x)
			}
		}
	}
	return reduced(shared, covers)
}

// reduced is a sorted list without items that another one covers; never nil.
func reduced(items []string, covers func(outer, inner string) bool) []string {
	slices.Sort(items)
	items = slices.Compact(items)
	out := []string{}
	for _, x := range items {
		if !slices.ContainsFunc(items, func(y string) bool { return x != y && covers(y, x) }) {
			out = append(out, x)
		}
	}
	return out
}
