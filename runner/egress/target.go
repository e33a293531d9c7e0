package egress

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// Bounds of what a client may name.
const (
	maxName      = 253 // bytes of a host name (RFC 1035, without the last dot)
	maxLabel     = 63
	maxAuthority = maxName + len(".") + len(":65535")
)

// Target is what a client wants to reach: a name or an address, and a port. It
// is made by ParseAuthority and ParseHost alone; the zero value is no target.
type Target struct {
	Name string     // lower case, without a last dot; "" for an address
	Addr netip.Addr // the zero value for a name
	Port uint16
}

// IsZero reports whether t is no target.
func (t Target) IsZero() bool { return t == Target{} }

// Host is the name or the address, without brackets.
func (t Target) Host() string {
	if t.Name != "" {
		return t.Name
	}
	return t.Addr.String()
}

// String is "host:port", with brackets around an IPv6 address.
func (t Target) String() string {
	if t.Name == "" {
		return netip.AddrPortFrom(t.Addr, t.Port).String()
	}
	return t.Name + ":" + strconv.Itoa(int(t.Port))
}

// ParseAuthority reads "host:port", as CONNECT, the Host field and a URL have
// it. With a port of 0 the text must name one; otherwise that is the default.
//
// There is one reading of every text or none: no user information, no escapes,
// no spaces or control bytes, no path. See ParseHost for the host.
func ParseAuthority(text string, port uint16) (Target, error) {
	if len(text) > maxAuthority {
		return Target{}, fmt.Errorf("the host is longer than %d bytes", maxName)
	}
	if why := oddBytes(text); why != "" {
		return Target{}, fmt.Errorf("%s", why)
	}
	host, rest := text, ""
	if strings.HasPrefix(text, "[") {
		end := strings.IndexByte(text, ']')
		if end < 0 {
			return Target{}, fmt.Errorf("a bracket without its other half")
		}
		host, rest = text[:end+1], text[end+1:]
	} else if i := strings.IndexByte(text, ':'); i >= 0 {
		host, rest = text[:i], text[i:]
	}
	if rest != "" || port == 0 {
		n, err := parsePort(rest)
		if err != nil {
			return Target{}, err
		}
		port = n
	}
	if inner, v6 := strings.CutPrefix(host, "["); v6 {
		return parseV6(strings.TrimSuffix(inner, "]"), port)
	}
	return ParseHost(host, port)
}

// oddBytes says what a host may not hold, "" for a text that looks like one.
func oddBytes(text string) string {
	for i := range len(text) {
		switch c := text[i]; {
		case c >= 0x80:
			return "the host is not ASCII; write the name in punycode (xn--...)"
		case c <= ' ' || c == 0x7f:
			return "a space or control byte in the host"
		case c == '@':
			return "user information before the host"
		case c == '%':
			return "an escape or a zone in the host"
		}
	}
	return ""
}

// parsePort reads ":443": decimal, no sign, no leading zero, not 0.
func parsePort(s string) (uint16, error) {
	digits, ok := strings.CutPrefix(s, ":")
	if !ok || digits == "" {
		return 0, fmt.Errorf("no port after the host")
	}
	if digits[0] == '0' || strings.Trim(digits, "0123456789") != "" {
		return 0, fmt.Errorf("the port is no plain number")
	}
	n, err := strconv.ParseUint(digits, 10, 16)
	if err != nil {
		return 0, fmt.Errorf("the port is above 65535")
	}
	return uint16(n), nil
}

func parseV6(s string, port uint16) (Target, error) {
	a, err := netip.ParseAddr(s)
	switch {
	case err != nil || !a.Is6():
		return Target{}, fmt.Errorf("what stands in brackets is no IPv6 address")
	case a.Is4In6():
		return Target{}, fmt.Errorf("an IPv4 address written as IPv6")
	}
	return Target{Addr: a, Port: port}, nil
}

// ParseHost reads a host without its port: a name of letters, digits, '-' and
// '_' in labels of at most 63 bytes, in any case and with at most one last dot;
// or an IPv4 address in its one usual form. A name whose last label begins with
// a digit is refused: there is no such domain, and what resolvers make of
// 0x7f.1, 017700000001 or 2130706433 is an address that nobody judged.
func ParseHost(host string, port uint16) (Target, error) {
	if why := oddBytes(host); why != "" {
		return Target{}, fmt.Errorf("%s", why)
	}
	name := strings.ToLower(strings.TrimSuffix(host, "."))
	switch {
	case name == "":
		return Target{}, fmt.Errorf("no host")
	case port == 0:
		return Target{}, fmt.Errorf("no port")
	case len(name) > maxName:
		return Target{}, fmt.Errorf("the host is longer than %d bytes", maxName)
	}
	if a, err := netip.ParseAddr(host); err == nil && a.Is4() && a.String() == host {
		return Target{Addr: a, Port: port}, nil
	}
	last := ""
	for label := range strings.SplitSeq(name, ".") {
		if !isLabel(label) {
			return Target{}, fmt.Errorf("a part of the host is not 1 to %d letters, digits, '-' or '_'", maxLabel)
		}
		last = label
	}
	if last[0] >= '0' && last[0] <= '9' {
		return Target{}, fmt.Errorf("neither a name nor an address in its usual form")
	}
	return Target{Name: name, Port: port}, nil
}

func isLabel(s string) bool {
	return s != "" && len(s) <= maxLabel && s[0] != '-' && s[len(s)-1] != '-' &&
		strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789-_") == ""
}

// AddrTarget is the target of an address that came as bytes, as SOCKS has it.
func AddrTarget(a netip.Addr, port uint16) (Target, error) {
	switch {
	case !a.IsValid() || a.Zone() != "" || port == 0:
		return Target{}, fmt.Errorf("no address and port")
	case a.Is4In6():
		return Target{}, fmt.Errorf("an IPv4 address written as IPv6")
	}
	return Target{Addr: a, Port: port}, nil
}
