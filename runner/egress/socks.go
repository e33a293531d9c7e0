package egress

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"time"

	"github.com/sbxcron/sbxcron/jobspec"
)

// Numbers of SOCKS5 (RFC 1928).
const (
	socksVersion  = 5
	socksNoAuth   = 0
	socksNoMethod = 0xff
	socksConnect  = 1
	socksIPv4     = 1
	socksName     = 3
	socksIPv6     = 4

	replyDone        = 0
	replyFailure     = 1
	replyNotAllowed  = 2
	replyUnreachable = 4
	replyNoCommand   = 7
	replyNoAddress   = 8
)

// serveSocks serves one request of SOCKS5: no authentication, CONNECT only, and
// names preferred, which are resolved here.
func (s *Server) serveSocks(c net.Conn, r *bufio.Reader) {
	if !greet(c, r) {
		return
	}
	t, reply, err := readSocks(r)
	if err != nil {
		if no := (*Refusal)(nil); errors.As(err, &no) {
			s.tell(no)
		}
		socksReply(c, reply)
		return
	}
	c.SetDeadline(time.Now().Add(s.times.idle))
	g, no := s.admit(t)
	if no != nil {
		socksReply(c, replyNotAllowed)
		return
	}
	w, err := s.reach(s.ctx, t, g)
	if no := (*Refusal)(nil); errors.As(err, &no) {
		s.tell(no)
		socksReply(c, replyNotAllowed)
		return
	}
	if err != nil {
		socksReply(c, replyUnreachable)
		return
	}
	if !socksReply(c, replyDone) {
		w.Close()
		return
	}
	s.tunnel(c, r, w)
}

// greet agrees on "no authentication".
func greet(c net.Conn, r *bufio.Reader) bool {
	var start [2]byte
	if _, err := io.ReadFull(r, start[:]); err != nil {
		return false
	}
	methods := make([]byte, start[1])
	if _, err := io.ReadFull(r, methods); err != nil {
		return false
	}
	for _, m := range methods {
		if m == socksNoAuth {
			_, err := c.Write([]byte{socksVersion, socksNoAuth})
			return err == nil
		}
	}
	c.Write([]byte{socksVersion, socksNoMethod})
	return false
}

// readSocks reads the request. A name is bytes with a length: what it holds is
// judged like any other host, and a zero byte in it ends nothing.
func readSocks(r *bufio.Reader) (Target, byte, error) {
	var start [4]byte // version, command, reserved, kind of address
	if _, err := io.ReadFull(r, start[:]); err != nil {
		return Target{}, replyFailure, err
	}
	if start[0] != socksVersion || start[2] != 0 {
		return Target{}, replyFailure, fmt.Errorf("no request of SOCKS5")
	}
	size := map[byte]int{socksIPv4: 4, socksIPv6: 16}[start[3]]
	if start[3] == socksName {
		n, err := r.ReadByte()
		if err != nil {
			return Target{}, replyFailure, err
		}
		size = int(n)
	}
	if size == 0 {
		return Target{}, replyNoAddress, fmt.Errorf("no such kind of address")
	}
	rest := make([]byte, size+2)
	if _, err := io.ReadFull(r, rest); err != nil {
		return Target{}, replyFailure, err
	}
	host, port := rest[:size], binary.BigEndian.Uint16(rest[size:])
	t, err := socksTarget(start[3], host, port)
	if err != nil {
		return t, replyNotAllowed, unreadable(socksText(start[3], host), err)
	}
	if start[1] != socksConnect {
		no := refuse(jobspec.CodeNetDeniedDomain, t, ruleForm, "of SOCKS only CONNECT is served")
		return t, replyNoCommand, no
	}
	return t, replyDone, nil
}

func socksTarget(kind byte, host []byte, port uint16) (Target, error) {
	if kind == socksName {
		return ParseHost(string(host), port)
	}
	a, _ := netip.AddrFromSlice(host)
	return AddrTarget(a, port)
}

func socksText(kind byte, host []byte) string {
	if a, ok := netip.AddrFromSlice(host); ok && kind != socksName {
		return a.String()
	}
	return string(host)
}

// socksReply answers; the address that it names means nothing to clients.
func socksReply(c net.Conn, code byte) bool {
	_, err := c.Write([]byte{socksVersion, code, 0, socksIPv4, 0, 0, 0, 0, 0, 0})
	if code != replyDone {
		drain(c)
	}
	return err == nil
}
