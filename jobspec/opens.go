package jobspec

import (
	"fmt"
	"slices"
)

// Opens lists what the sandbox of a job opens beyond the system's own programs.
type Opens struct {
	Read        []string `json:"read"`
	Write       []string `json:"write"`
	Hosts       []string `json:"hosts"`
	Credentials []string `json:"credentials"`
	Sockets     []string `json:"sockets"`
}

// OpensOf reads it from the op. Bound files count as read; lists are never nil.
func OpensOf(op *Op) Opens {
	o := Opens{Read: []string{}, Write: []string{}, Hosts: []string{}, Credentials: []string{}, Sockets: []string{}}
	if op == nil || op.Spec == nil {
		return o
	}
	s := op.Spec
	if s.Cwd.Path != "" && op.Tier == Workspace {
		o.Write = append(o.Write, s.Cwd.Path)
	} else if s.Cwd.Path != "" {
		o.Read = append(o.Read, s.Cwd.Path)
	}
	o.Read = append(o.Read, s.Read...)
	o.Write = append(o.Write, s.Write...)
	for _, b := range s.Bind {
		if b.Mode == BindRW {
			o.Write = append(o.Write, b.Source)
		} else if b.Live() {
			o.Read = append(o.Read, b.Source)
		}
	}
	for _, b := range s.Bound {
		if !slices.Contains(o.Read, b.Real) {
			o.Read = append(o.Read, b.Real)
		}
	}
	if op.Net == NetProxy {
		o.Hosts = append(o.Hosts, s.NetAllow...)
		o.Hosts = append(o.Hosts, s.Forward...)
	}
	for _, c := range s.Credentials {
		if !slices.Contains(o.Credentials, c.Name) {
			o.Credentials = append(o.Credentials, c.Name)
		}
	}
	o.Sockets = append(o.Sockets, s.Sockets...)
	return o
}

// Lines name each place that is opened, one a line and quoted. How a credential
// is shown is not told by its name: Credential says it.
func (o Opens) Lines() []string {
	var all []string
	for _, l := range []struct {
		what  string
		items []string
	}{{"write", o.Write}, {"read", o.Read}, {"host", o.Hosts}, {"socket", o.Sockets}} {
		for _, item := range l.items {
			all = append(all, fmt.Sprintf("%s %s", l.what, Quote(item)))
		}
	}
	return all
}
