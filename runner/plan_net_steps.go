package runner

import (
	"encoding/binary"
	"fmt"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/runner/stub"
)

// LayerProxy is measured by connecting to it from inside.
const LayerProxy = "proxy"

// Numbers of the kernel that rows of the network use (uapi headers).
const (
	afNetlink      = 16
	afVsock        = 40
	sockStream     = 1
	sockRaw        = 3
	protoMPTCP     = 262
	fDupFDCloexec  = 1030
	listenBacklog  = 128
	errNoRoute     = -101
	errConnRefused = -111
	llRuleNetPort  = 2
	llConnectTCP   = 1 << 1
	llNetABI       = 4 // the first that knows ports
)

// sockaddr is struct sockaddr_in.
func (s *steps) sockaddr(a, b, c, d byte, port uint16) (at, size stub.Arg) {
	text := binary.LittleEndian.AppendUint16(nil, afInet)
	text = binary.BigEndian.AppendUint16(text, port)
	text = append(text, a, b, c, d, 0, 0, 0, 0, 0, 0, 0, 0)
	return s.t.Bytes(fmt.Sprintf("%d.%d.%d.%d:%d", a, b, c, d, port), text), stub.Int(int64(len(text)))
}

// netListeners makes the sockets that the supervisor takes. A socket belongs to
// the network in which it was made, so whoever accepts on these outside serves
// this network and nobody else's; and no process of the job can be quicker. They
// are made before landlock and the filter would refuse them. Beside loopback
// there is no route.
func (s *steps) netListeners() {
	for i, port := range s.b.Ports() {
		at, size := s.sockaddr(127, 0, 0, 1, port)
		s.call("", "socket", firstSpareFD, stub.Int(afInet), stub.Int(sockStream|oCloexec), stub.Int(0))
		s.call("", "bind", 0, stub.Int(firstSpareFD), at, size)
		s.call("", "listen", 0, stub.Int(firstSpareFD), stub.Int(listenBacklog))
		s.call("", "fcntl", int64(ListenFD+i), stub.Int(firstSpareFD), stub.Int(fDupFDCloexec), stub.Int(int64(ListenFD+i)))
		s.close(firstSpareFD)
	}
	if s.b.Net == jobspec.NetProxy {
		at, size := s.sockaddr(192, 0, 2, 1, 53)
		s.call("", "socket", firstSpareFD, stub.Int(afInet), stub.Int(sockDgram|oCloexec), stub.Int(0))
		s.call(LayerNetNS, "connect", errNoRoute, stub.Int(firstSpareFD), at, size)
		s.close(firstSpareFD)
	}
}

// netTaken closes what the supervisor has taken.
func (s *steps) netTaken() {
	for i := range s.b.Ports() {
		s.close(int64(ListenFD + i))
	}
}

// netPorts lets landlock pass connections to the ports that are listened on. The
// ruleset is open at firstSpareFD.
func (s *steps) netPorts() {
	if s.abi < llNetABI {
		return
	}
	for _, port := range s.b.Ports() {
		attr := binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, llConnectTCP), uint64(port))
		rule := s.t.Bytes(fmt.Sprintf("connect:%d", port), attr)
		s.call("", "landlock_add_rule", 0, stub.Int(firstSpareFD), stub.Int(llRuleNetPort), rule, stub.Int(0))
	}
}

// measureNet shows that the proxy listens, that another port of loopback is not
// reached, and that raw sockets and multipath TCP do not exist. No forward is
// tried: its host would hear of a run that nobody has let go yet.
func (s *steps) measureNet() {
	if s.b.Net != jobspec.NetProxy {
		return
	}
	for _, family := range []int64{afNetlink, afVsock} {
		s.call(LayerSeccomp, "socket", errPerm, stub.Int(family), stub.Int(sockDgram|oCloexec), stub.Int(0))
	}
	s.call(LayerSeccomp, "socket", errPerm, stub.Int(afInet), stub.Int(sockRaw|oCloexec), stub.Int(1))
	s.call(LayerSeccomp, "socket", errPerm, stub.Int(afInet), stub.Int(sockStream|oCloexec), stub.Int(protoMPTCP))
	other, layer := int64(errConnRefused), ""
	if s.abi >= llNetABI {
		other, layer = errAccess, LayerLandlock
	}
	s.reach(layer, other, 1)
	s.reach(LayerProxy, 0, jobspec.ProxyPort)
}

func (s *steps) reach(layer string, want int64, port uint16) {
	at, size := s.sockaddr(127, 0, 0, 1, port)
	s.call("", "socket", firstSpareFD, stub.Int(afInet), stub.Int(sockStream|oCloexec), stub.Int(0))
	s.call(layer, "connect", want, stub.Int(firstSpareFD), at, size)
	s.close(firstSpareFD)
}
