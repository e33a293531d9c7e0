package jobspec

import "fmt"

// Fact is one thing of the machine that a spec binds, for a comparison of two.
type Fact struct {
	Path   string   `json:"path,omitempty"`
	Kind   FileKind `json:"kind,omitempty"`
	Size   int64    `json:"size,omitempty"`
	SHA256 Digest   `json:"sha256,omitzero"`
	UID    int      `json:"uid"`
	GID    int      `json:"gid,omitempty"`
	Mode   string   `json:"mode,omitempty"`
}

// Change is one bound thing that is not what it was: a file, the folder, the
// source of a bind, or the account.
type Change struct {
	What  string `json:"what"`  // the role of a file, "cwd", "bind" or "account"
	Typed string `json:"typed"` // as the owner wrote it
	Was   *Fact  `json:"was,omitempty"`
	Is    *Fact  `json:"is,omitempty"`
	// Package is what the file at Is belongs to, where the machine can say.
	Package string `json:"package,omitempty"`
}

// Changes compares what two specs of one job bind. Everything else of them is
// not looked at.
func Changes(was, is *Spec) []Change {
	c := comparison{was: facts(was), is: facts(is)}
	return c.all()
}

// named is a fact with the name under which both specs have it.
type named struct {
	what, typed string
	fact        Fact
}

func facts(s *Spec) []named {
	var all []named
	for _, b := range s.Bound {
		all = append(all, named{string(b.Role), b.Typed, Fact{Path: b.Real, Size: b.Size, SHA256: b.SHA256, UID: b.UID, Mode: b.Mode}})
	}
	if s.Cwd.Path != "" {
		all = append(all, named{"cwd", s.Cwd.Path, Fact{Path: s.Cwd.Path, UID: s.Cwd.UID}})
	}
	for _, b := range s.Bind {
		if b.Live() {
			all = append(all, named{"bind", b.Source, Fact{Path: b.Source, Kind: b.Kind, UID: b.UID}})
		}
	}
	if !s.RunAs.IsZero() {
		all = append(all, named{"account", s.RunAs.User, Fact{UID: s.RunAs.UID, GID: s.RunAs.GID}})
	}
	return all
}

type comparison struct{ was, is []named }

func (c comparison) all() []Change {
	var out []Change
	for _, old := range c.was {
		now, ok := find(c.is, old)
		switch {
		case !ok:
			out = append(out, Change{What: old.what, Typed: old.typed, Was: &old.fact})
		case now.fact != old.fact:
			out = append(out, Change{What: old.what, Typed: old.typed, Was: &old.fact, Is: &now.fact})
		}
	}
	for _, now := range c.is {
		if _, ok := find(c.was, now); !ok {
			out = append(out, Change{What: now.what, Typed: now.typed, Is: &now.fact})
		}
	}
	return out
}

func find(all []named, like named) (named, bool) {
	for _, n := range all {
		if n.what == like.what && n.typed == like.typed {
			return n, true
		}
	}
	return named{}, false
}

// Lines say what changed, a line each, with foreign text quoted.
func (c Change) Lines() []string {
	head := fmt.Sprintf("%s %s", c.What, Quote(c.Typed))
	if c.Package != "" {
		head += " (package " + Quote(c.Package) + ")"
	}
	switch {
	case c.Was == nil:
		return []string{head + " was not bound", "  is  " + c.Is.words()}
	case c.Is == nil:
		return []string{head + " is not used any more", "  was " + c.Was.words()}
	}
	return []string{head, "  was " + c.Was.words(), "  is  " + c.Is.words()}
}

func (f Fact) words() string {
	text := fmt.Sprintf("uid %d", f.UID)
	if f.GID != 0 {
		text += fmt.Sprintf(", gid %d", f.GID)
	}
	if f.Mode != "" {
		text += ", mode " + Quote(f.Mode)
	}
	if !f.SHA256.IsZero() {
		text = fmt.Sprintf("%d bytes, %s, %s", f.Size, f.SHA256.Short(), text)
	}
	if f.Kind != "" {
		text = escape(string(f.Kind)) + ", " + text
	}
	if f.Path != "" {
		text = Quote(f.Path) + ", " + text
	}
	return text
}
