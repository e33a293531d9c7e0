package jobspec

import (
	"fmt"
	"slices"
	"strings"
)

// Ports inside a job's network.
const (
	ProxyPort     = 3128 // where the proxy listens
	LowestForward = 1024 // nobody in a sandbox may listen below
)

// Words of Policy.Upstream beside an address.
const (
	UpstreamDirect = "direct"   // none; what a file that grants means by leaving it out
	upstreamClash  = "conflict" // two files name different ones
)

// NetGrant is what a decision knows about the network of a run that its spec
// alone does not say. The zero value opens nothing private and has no upstream.
type NetGrant struct {
	Private  []string // those items of net.allow that may lie in private networks
	Upstream string   // "http://host:port" that reaches public hosts for the job; "": directly
}

// netGrant is what the policy says about the hosts of the spec. A private host is
// opened by its own name in the spec; a range is a name for each of its addresses.
func (j *judge) netGrant() NetGrant {
	c, known := j.ceiling()
	if !known || j.op.Net != NetProxy {
		return NetGrant{}
	}
	var g NetGrant
	for _, item := range j.spec.NetAllow {
		if e, err := ParseEndpoint(item); err == nil && !e.Below && coveredBy(c.PrivateHosts, item) {
			g.Private = append(g.Private, item)
		}
	}
	if up := j.in.Policy.Upstream; up != UpstreamDirect {
		g.Upstream = up
	}
	return g
}

// WithPorts writes out the port of hosts that were given without one: that of
// https. What is signed names each port.
func WithPorts(hosts []string) []string {
	all := slices.Clone(hosts)
	for i, h := range all {
		_, plain := ParseEndpoint(h)
		if _, err := ParseEndpoint(h + ":443"); plain != nil && err == nil {
			all[i] = h + ":443"
		}
	}
	return all
}

// ParseUpstream reads "http://host:port", and nothing more than that. Its hosts
// are those of rules: a name, or a literal address.
func ParseUpstream(text string) (Endpoint, error) {
	bad := func(detail string) (Endpoint, error) {
		return Endpoint{}, &FieldError{Reason: CodeNetDomainInvalid, Field: "upstream " + Quote(text), Detail: detail}
	}
	host, ok := strings.CutPrefix(text, "http://")
	if !ok {
		return bad("it is http://host:port")
	}
	e, err := ParseEndpoint(host)
	switch {
	case err != nil:
		return bad("it is http://host:port: " + err.Error())
	case !e.IsOne():
		return bad("it is one host")
	}
	return e, nil
}

// meetUpstream is one address where both files say the same or only one says
// anything. Two different ones leave none: a job would go another way than the
// one that each file was written for.
func meetUpstream(a, b string) string {
	switch {
	case a == "" || a == b:
		return b
	case b == "":
		return a
	}
	return upstreamClash
}

// upstream: the way out that the policy names is one.
func (j *judge) upstream(p *Policy) {
	if j.op.Net != NetProxy || p.Upstream == "" || p.Upstream == UpstreamDirect {
		return
	}
	if p.Upstream == upstreamClash {
		j.no(CodePolicySchema, "upstream", "the files of the policy name different ones, so no job has a network")
	} else if _, err := ParseUpstream(p.Upstream); err != nil {
		j.no(CodePolicySchema, "upstream", "%v", err)
	}
}

// forwardPorts: each forward has a port of its own inside, which somebody without
// rights can listen on.
func (j *judge) forwardPorts() {
	taken := []uint16{ProxyPort}
	for _, item := range j.spec.Forward {
		e, err := ParseEndpoint(item)
		if err != nil {
			continue // hosts tells it
		}
		switch {
		case e.Port < LowestForward:
			j.finding(Check{Code: CodeNetDomainInvalid, Target: item, Layer: LayerSpec, Detail: fmt.Sprintf("net.forward: nobody in a sandbox can listen on a port below %d", LowestForward),
				Remedy: "reach the host through the proxy with net.allow"})
		case slices.Contains(taken, e.Port):
			j.finding(Check{Code: CodeNetDomainInvalid, Target: item, Layer: LayerSpec, Detail: fmt.Sprintf("net.forward: port %d inside is taken", e.Port),
				Remedy: "forward each port once, and not the proxy's"})
		}
		taken = append(taken, e.Port)
	}
}
