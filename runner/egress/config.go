package egress

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/sbxcron/sbxcron/jobspec"
)

// Config says what one run may reach. It travels to the supervisor as JSON. Its
// zero value allows nothing.
type Config struct {
	Allow       []Opening `json:"allow,omitempty"`       // net.allow
	Deny        []string  `json:"deny,omitempty"`        // net.deny; wins
	Forward     []string  `json:"forward,omitempty"`     // net.forward, in the order of the listeners
	Upstream    string    `json:"upstream,omitempty"`    // "http://host:port" that reaches public hosts for us
	Connections int64     `json:"connections,omitempty"` // limits.connections, 0 for none
	Bytes       int64     `json:"bytes,omitempty"`       // limits.bytes, both ways together, 0 for none
}

// Opening is one rule of net.allow.
type Opening struct {
	Rule    string `json:"rule"`
	Private bool   `json:"private,omitempty"` // policy and spec name it as a private host
}

// grant is what a decision says yes with.
type grant struct {
	rule string
	open opened
}

// allowed is a rule that allows.
type allowed struct {
	to   jobspec.Endpoint
	open opened
	text string
}

// rules are a Config that was read.
type rules struct {
	allow   []allowed
	deny    []jobspec.Endpoint
	forward []allowed
}

// Check reports whether a server can be made of the config.
func (c Config) Check() error {
	_, err := c.read()
	if err == nil && c.Upstream != "" {
		_, err = readUpstream(c.Upstream)
	}
	return err
}

func (c Config) read() (*rules, error) {
	r := &rules{}
	for _, o := range c.Allow {
		e, err := jobspec.ParseEndpoint(o.Rule)
		if err != nil {
			return nil, fmt.Errorf("read net.allow: %w", err)
		}
		r.allow = append(r.allow, allowed{e, openingOf(e, o.Private), "net.allow " + o.Rule})
	}
	for _, text := range c.Deny {
		e, err := jobspec.ParseEndpoint(text)
		if err != nil {
			return nil, fmt.Errorf("read net.deny: %w", err)
		}
		r.deny = append(r.deny, e)
	}
	for _, text := range c.Forward {
		e, err := jobspec.ParseEndpoint(text)
		switch {
		case err != nil:
			return nil, fmt.Errorf("read net.forward: %w", err)
		case !e.IsOne():
			return nil, fmt.Errorf("read net.forward: %s is not one host", jobspec.Quote(text))
		}
		r.forward = append(r.forward, allowed{e, openingOf(e, true), "net.forward " + text})
	}
	return r, nil
}

// openingOf says which addresses a rule reaches. Only the one name that means
// the machine itself leads to its loopback.
func openingOf(e jobspec.Endpoint, private bool) opened {
	switch {
	case !private:
		return publicOnly
	case e.Name == jobspec.LocalHost && !e.Below:
		return selfToo
	}
	return privateToo
}

// endpoint is a target in the form that rules are compared with.
func (t Target) endpoint() jobspec.Endpoint {
	e := jobspec.Endpoint{Name: t.Name, Port: t.Port}
	if t.Name == "" {
		e.Range = netip.PrefixFrom(t.Addr, t.Addr.BitLen())
	}
	return e
}

// targetOf is the one host of an endpoint.
func targetOf(e jobspec.Endpoint) Target {
	t := Target{Name: e.Name, Port: e.Port}
	if e.Name == "" {
		t.Addr = e.Range.Addr()
	}
	return t
}

// decide is the one decision on a target.
func (r *rules) decide(t Target) (grant, *Refusal) {
	want := t.endpoint()
	for _, d := range r.deny {
		if d.Covers(want) {
			return grant{}, refuse(jobspec.CodeNetDeniedDomain, t, "net.deny "+d.String(), "net.deny lists it")
		}
	}
	best, found, port := grant{}, false, false
	for _, a := range r.allow {
		other := a.to
		other.Port = t.Port
		port = port || other.Covers(want)
		if a.to.Covers(want) && (!found || a.open > best.open) {
			best, found = grant{a.text, a.open}, true
		}
	}
	if found {
		return best, nil
	}
	if port {
		return grant{}, refuse(jobspec.CodeNetDeniedPort, t, "net.allow", "net.allow lists the host with another port")
	}
	if class := ""; t.Name == "" {
		if class = refusedClass(t.Addr, publicOnly); class != "" {
			return grant{}, refuse(jobspec.CodeNetDeniedLocal, t, floorRule(class), "the address is "+words(class))
		}
	}
	return grant{}, refuse(jobspec.CodeNetDeniedDomain, t, "net.allow", "no rule of net.allow lists it")
}

// judge decides on an address that is about to be connected to.
func (r *rules) judge(t Target, addr netip.Addr, g grant) *Refusal {
	addr = addr.WithZone("").Unmap()
	if class := refusedClass(addr, g.open); class != "" {
		return refuse(jobspec.CodeNetDeniedLocal, t, floorRule(class), fmt.Sprintf("it leads to %s, which is %s", addr, words(class)))
	}
	at := Target{Addr: addr, Port: t.Port}.endpoint()
	for _, d := range r.deny {
		if d.Covers(at) {
			return refuse(jobspec.CodeNetDeniedDomain, t, "net.deny "+d.String(), fmt.Sprintf("it leads to %s, which net.deny lists", addr))
		}
	}
	return nil
}

func floorRule(class string) string { return "floor.net_" + class }

func words(class string) string {
	switch class {
	case "loopback":
		return "the machine itself"
	case "metadata":
		return "where clouds hand out credentials"
	case "private", "shared", "unique_local", "site_local":
		return "in a private network"
	}
	return "no public address (" + strings.ReplaceAll(class, "_", " ") + ")"
}
