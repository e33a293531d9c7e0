package egress

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"syscall"
	"time"

	"github.com/sbxcron/sbxcron/jobspec"
)

// Resolver finds the addresses of a name. *net.Resolver is the one of the host.
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// maxAddresses bounds how many addresses of one name are tried.
const maxAddresses = 16

// reach connects to a target that was allowed. It tries the addresses one after
// the other, as the resolver orders them. Its error is a *Refusal where an
// address was refused and none worked.
func (s *Server) reach(ctx context.Context, t Target, g grant) (*wire, error) {
	if no := s.budget.connection(t); no != nil {
		return nil, no
	}
	ctx, cancel := context.WithTimeout(ctx, s.times.dial)
	defer cancel()
	if s.upstream != nil && g.open == publicOnly {
		return s.throughUpstream(ctx, t, g)
	}
	conn, err := s.dialAll(ctx, t, func(addr netip.Addr) *Refusal { return s.rules.judge(t, addr, g) })
	if err != nil {
		return nil, err
	}
	addr, _ := netip.ParseAddrPort(conn.RemoteAddr().String())
	return s.wire(conn, Use{Target: t, Address: addr.Addr().Unmap().String(), Rule: g.rule}), nil
}

// dialAll connects to the first address of a target that answers and that judge
// has nothing against.
func (s *Server) dialAll(ctx context.Context, t Target, judge func(netip.Addr) *Refusal) (net.Conn, error) {
	addrs, err := s.addresses(ctx, t)
	if err != nil {
		return nil, err
	}
	var refused *Refusal
	var last error
	for i, addr := range addrs {
		conn, err := s.dialOne(ctx, netip.AddrPortFrom(addr, t.Port), len(addrs)-i, judge)
		if err == nil {
			return conn, nil
		}
		if no := (*Refusal)(nil); errors.As(err, &no) {
			refused = no
			continue
		}
		last = err
	}
	if refused != nil {
		return nil, refused
	}
	return nil, fmt.Errorf("connect to %s: %w", t, last)
}

// dialOne connects to one address. The hook sees what the kernel is about to be
// given, whatever way it took; nothing is sent to an address that it refuses.
func (s *Server) dialOne(ctx context.Context, to netip.AddrPort, left int, judge func(netip.Addr) *Refusal) (net.Conn, error) {
	d := net.Dialer{ControlContext: func(_ context.Context, network, address string, _ syscall.RawConn) error {
		at, err := netip.ParseAddrPort(address)
		if err != nil || !strings.HasPrefix(network, "tcp") || at.Port() != to.Port() {
			return fmt.Errorf("dial %s %s: not what was asked for", network, address)
		}
		if no := judge(at.Addr()); no != nil {
			return no
		}
		return nil
	}}
	if end, ok := ctx.Deadline(); ok && left > 1 {
		d.Timeout = min(time.Until(end), s.times.attempt)
	}
	return d.DialContext(ctx, "tcp", to.String())
}

// addresses are those of a target, a name's from the host's resolver.
func (s *Server) addresses(ctx context.Context, t Target) ([]netip.Addr, error) {
	if t.Name == "" {
		return []netip.Addr{t.Addr}, nil
	}
	found, err := s.resolver.LookupNetIP(ctx, "ip", s.lookupName(t))
	if err != nil {
		return nil, fmt.Errorf("resolve %s: %w", t.Name, err)
	}
	var all []netip.Addr
	for _, a := range found {
		if a = a.WithZone("").Unmap(); a.IsValid() && len(all) < maxAddresses {
			all = append(all, a)
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("resolve %s: no address", t.Name)
	}
	return all, nil
}

// lookupName closes a name of several parts with a dot, so that no search domain
// of the host is appended to it: what was decided on is what is asked for.
func (s *Server) lookupName(t Target) string {
	if t.Name == jobspec.LocalHost || !strings.Contains(t.Name, ".") {
		return t.Name
	}
	return t.Name + "."
}
