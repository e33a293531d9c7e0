package jobspec

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// Endpoint is what net.allow, net.deny and net.forward name and what a ceiling
// lists: one host, all hosts below a name, or a range of addresses; and always
// exactly one port.
type Endpoint struct {
	Name  string       // "" for a range
	Below bool         // "*.example.org": every name below Name, not Name itself
	Range netip.Prefix // of one address or more
	Port  uint16
}

// LocalHost is the one name for services of the machine itself. It opens only as
// a private host or a forward, by that name in policy and spec.
const LocalHost = "localhost"

// ParseEndpoint reads "name:port", "*.name:port", "address:port", "range/bits:port"
// and "[v6 address or range]:port". Names are lower case ASCII, as DNS has them.
// What means everybody is refused, and so are loopback addresses: a job's loopback
// is its own, and "localhost" is the one name for the machine's.
func ParseEndpoint(s string) (Endpoint, error) {
	bad := func(detail string) (Endpoint, error) {
		return Endpoint{}, &FieldError{Reason: CodeNetDomainInvalid, Field: "host " + Quote(s), Detail: detail}
	}
	host, port, ok := cutPort(s)
	if !ok {
		return bad("a port must be given, as in api.example.org:443")
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil || n == 0 || port[0] == '0' {
		return bad("the port is a number from 1 to 65535")
	}
	e := Endpoint{Port: uint16(n)}
	if r, ok := parseRange(host); ok {
		e.Range = r
		if why := rangeFault(r); why != "" {
			return bad(why)
		}
		return e, nil
	}
	e.Name = host
	if rest, below := strings.CutPrefix(host, "*."); below {
		e.Name, e.Below = rest, true
		if !strings.Contains(rest, ".") {
			return bad("a wildcard stands before at least two parts of a name")
		}
	}
	if why := hostFault(e.Name); why != "" {
		return bad(why)
	}
	return e, nil
}

func cutPort(s string) (host, port string, ok bool) {
	if rest, v6 := strings.CutPrefix(s, "["); v6 {
		host, port, ok = strings.Cut(rest, "]:")
		return host, port, ok && port != "" && strings.Contains(host, ":")
	}
	host, port, ok = strings.Cut(s, ":")
	return host, port, ok && host != "" && port != "" && !strings.Contains(port, ":")
}

// parseRange reads an address or a range in its shortest form.
func parseRange(s string) (netip.Prefix, bool) {
	if a, err := netip.ParseAddr(s); err == nil && a.String() == s && a.Zone() == "" {
		return netip.PrefixFrom(a, a.BitLen()), true
	}
	p, err := netip.ParsePrefix(s)
	return p, err == nil && p.String() == s && p.Masked() == p
}

// rangeFault refuses ranges that hold the machine itself, its link, or everybody.
func rangeFault(r netip.Prefix) string {
	if r.Addr().Is4In6() {
		return "write the address as IPv4"
	}
	for _, own := range []string{"0.0.0.0/8", "127.0.0.0/8", "169.254.0.0/16", "224.0.0.0/3", "::/128", "::1/128", "::ffff:0:0/96", "fe80::/10", "ff00::/8"} {
		if netip.MustParsePrefix(own).Overlaps(r) {
			return "the range holds " + own + ", which is open to no job"
		}
	}
	return ""
}

// hostFault says why a name is none that DNS could mean. A last part of digits
// would be taken for an address in one of its odd spellings.
func hostFault(name string) string {
	if len(name) > 253 {
		return "the name is longer than 253 bytes"
	}
	if strings.HasSuffix(name, "."+LocalHost) {
		return "a service of the machine itself is named localhost, without more"
	}
	last := ""
	for part := range strings.SplitSeq(name, ".") {
		if part == "" || len(part) > 63 || part[0] == '-' || part[len(part)-1] == '-' ||
			strings.Trim(part, "abcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
			return "parts of a name are 1 to 63 of a-z, 0-9, '-' and '_'"
		}
		last = part
	}
	if last[0] >= '0' && last[0] <= '9' {
		return "neither a name nor an address in its usual form"
	}
	return ""
}

// IsOne reports whether e names a single host.
func (e Endpoint) IsOne() bool {
	return e.Name != "" && !e.Below || e.Name == "" && e.Range.IsSingleIP()
}

// IsPrivate reports whether e is the machine itself or a range with private
// addresses in it. Where another name leads is known only when it is used.
func (e Endpoint) IsPrivate() bool {
	if e.Name != "" {
		return e.Name == LocalHost
	}
	for _, private := range []string{"10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "fc00::/7"} {
		if netip.MustParsePrefix(private).Overlaps(e.Range) {
			return true
		}
	}
	return false
}

// Covers reports whether whatever f names, e names too.
func (e Endpoint) Covers(f Endpoint) bool {
	switch {
	case e.Port != f.Port || (e.Name == "") != (f.Name == ""):
		return false
	case e.Name == "":
		return e.Range.Overlaps(f.Range) && e.Range.Bits() <= f.Range.Bits()
	case e.Below:
		return strings.HasSuffix(f.Name, "."+e.Name) || f.Below && f.Name == e.Name
	}
	return !f.Below && e.Name == f.Name
}

// String is the form that ParseEndpoint reads.
func (e Endpoint) String() string {
	host := e.Name
	switch {
	case e.Below:
		host = "*." + host
	case host == "" && e.Range.IsSingleIP():
		host = e.Range.Addr().String()
	case host == "":
		host = e.Range.String()
	}
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	return fmt.Sprintf("%s:%d", host, e.Port)
}

// endpointCovers compares two texts. A text that is none covers nothing.
func endpointCovers(outer, inner string) bool {
	a, err := ParseEndpoint(outer)
	b, err2 := ParseEndpoint(inner)
	return err == nil && err2 == nil && a.Covers(b)
}
