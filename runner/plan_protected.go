package runner

import "github.com/sbxcron/sbxcron/jobspec"

// words tell of a guard, for the plan's text.
func (g Guard) words() string {
	text := g.Path
	if g.Host != g.Path {
		text += " of " + g.Host
	}
	if g.Git {
		text += " with commits"
	}
	return text
}

// Protect are the names that a guard is about, by their path from its directory.
// Where the job may commit, .git itself is bound writable, as a mount of its
// own so that it cannot be moved away, and the names in it take its place.
func (g Guard) Protect() []string {
	names := jobspec.ProtectedNames()
	if !g.Git {
		return names
	}
	var all []string
	for _, n := range names {
		if n != jobspec.GitFolder {
			all = append(all, n)
		}
	}
	for _, n := range jobspec.ProtectedGitNames() {
		all = append(all, jobspec.GitFolder+"/"+n)
	}
	return all
}
