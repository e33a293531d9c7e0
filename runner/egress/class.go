package egress

import "net/netip"

// class is a kind of addresses that no public host has.
type class struct {
	name    string // stands in rules of events
	prefix  netip.Prefix
	private bool // opened by a private host of policy and spec
}

// classes are looked at in this order; the first that holds an address counts.
// Where an address carries another one inside (6to4, NAT64, Teredo) it is
// refused whole: the inner one would be reached unjudged.
//
// The lists are the special-purpose registries of IANA (RFC 6890 and its
// successors), and the places where clouds answer with a machine's credentials.
func classes() []class {
	p := netip.MustParsePrefix
	return []class{
		{"metadata", p("169.254.169.254/32"), false},
		{"metadata", p("fd00:ec2::254/128"), false},
		{"metadata", p("100.100.100.200/32"), false},
		{"metadata", p("168.63.129.16/32"), false},
		{"unspecified", p("0.0.0.0/8"), false},
		{"unspecified", p("::/128"), false},
		{"loopback", p("127.0.0.0/8"), false},
		{"loopback", p("::1/128"), false},
		{"link_local", p("169.254.0.0/16"), false},
		{"link_local", p("fe80::/10"), false},
		{"private", p("10.0.0.0/8"), true},
		{"private", p("172.16.0.0/12"), true},
		{"private", p("192.168.0.0/16"), true},
		{"shared", p("100.64.0.0/10"), true},
		{"unique_local", p("fc00::/7"), true},
		{"site_local", p("fec0::/10"), false},
		{"multicast", p("224.0.0.0/4"), false},
		{"multicast", p("ff00::/8"), false},
		{"broadcast", p("255.255.255.255/32"), false},
		{"reserved", p("240.0.0.0/4"), false},
		{"reserved", p("192.0.0.0/24"), false},
		{"reserved", p("192.0.2.0/24"), false},
		{"reserved", p("198.18.0.0/15"), false},
		{"reserved", p("198.51.100.0/24"), false},
		{"reserved", p("203.0.113.0/24"), false},
		{"relay", p("192.88.99.0/24"), false},
		{"6to4", p("2002::/16"), false},
		{"nat64", p("64:ff9b::/96"), false},
		{"nat64", p("64:ff9b:1::/48"), false},
		{"teredo", p("2001::/32"), false},
		{"reserved", p("2001:db8::/32"), false},
		{"reserved", p("3fff::/20"), false},
		{"reserved", p("2001:2::/48"), false},
		{"reserved", p("2001:10::/28"), false},
		{"reserved", p("100::/64"), false},
		{"reserved", p("5f00::/16"), false},
		{"compatible", p("::/96"), false},
	}
}

// classOf finds the class of an address, ok false for one that is public.
func classOf(a netip.Addr) (c class, ok bool) {
	if a = a.WithZone("").Unmap(); !a.IsValid() {
		return class{name: "unspecified"}, true
	}
	for _, c := range classes() {
		if c.prefix.Contains(a) {
			return c, true
		}
	}
	if a.Is6() && !netip.MustParsePrefix("2000::/3").Contains(a) {
		return class{name: "reserved"}, true
	}
	return class{}, false
}

// opened says how far a rule opens addresses that are not public.
type opened uint8

// The zero value opens public addresses only.
const (
	publicOnly opened = iota
	privateToo        // private networks, for a host that policy and spec name
	selfToo           // private networks and the machine's own loopback
)

// refusedClass names the class for which an address is refused, "" for one that
// may be reached.
func refusedClass(a netip.Addr, o opened) string {
	c, special := classOf(a)
	switch {
	case !special, c.private && o >= privateToo, c.name == "loopback" && o == selfToo:
		return ""
	}
	return c.name
}
