package runner

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/runner/egress"
	"github.com/sbxcron/sbxcron/runner/seccomp"
)

// ListenFD is where the stub holds the first of its listening sockets until the
// supervisor has taken them; the others follow it.
const ListenFD = 10

// Opens is which socket families exist for the job.
func (b *Blueprint) Opens() seccomp.Opens {
	return seccomp.Opens{Inet: b.Net == jobspec.NetProxy, Unix: len(b.Sockets) > 0}
}

// Ports are those that are listened on inside, in the order of their sockets: the
// proxy's, then one for each forward. A job can reach these and no others.
func (b *Blueprint) Ports() []uint16 {
	if b.Egress == nil {
		return nil
	}
	ports := []uint16{jobspec.ProxyPort}
	for _, text := range b.Egress.Forward {
		if e, err := jobspec.ParseEndpoint(text); err == nil {
			ports = append(ports, e.Port)
		}
	}
	return ports
}

// drawNet draws what the proxy of the run lets through. Without one there is
// nothing to name hosts for.
func (o Order) drawNet(b *Blueprint) error {
	s := o.Spec
	if o.Net != jobspec.NetProxy {
		if len(s.NetAllow)+len(s.NetDeny)+len(s.Forward) > 0 {
			return refuse(jobspec.CodeNetOverCeiling, "net.allow", "net.mode is none, so there is no network to name hosts for")
		}
		return nil
	}
	c := &egress.Config{Deny: s.NetDeny, Forward: s.Forward, Upstream: o.Grant.Upstream, Connections: s.Limits.Connections, Bytes: s.Limits.NetBytes}
	for _, rule := range s.NetAllow {
		c.Allow = append(c.Allow, egress.Opening{Rule: rule, Private: slices.Contains(o.Grant.Private, rule)})
	}
	if err := c.Check(); err != nil {
		return refuse(jobspec.CodeNetDomainInvalid, "net", "%v", err)
	}
	taken := map[uint16]bool{jobspec.ProxyPort: true}
	for _, text := range s.Forward {
		e, err := jobspec.ParseEndpoint(text)
		if err != nil || e.Port < jobspec.LowestForward || taken[e.Port] {
			return refuse(jobspec.CodeNetDomainInvalid, text, "net.forward %q has no port of its own inside", text)
		}
		taken[e.Port] = true
	}
	b.Egress = c
	return nil
}

// drawSockets draws each socket of the host at its own place. What can be opened
// of it is a connection, which a mount for reading alone does not keep from.
func (o Order) drawSockets(b *Blueprint) error {
	for _, path := range o.Spec.Sockets {
		i, ob, err := o.opened(jobspec.UseSocket, path)
		if err != nil {
			return err
		}
		if ob.Kind != jobspec.KindSocket || ob.Real != path || jobspec.NeverSocket(path) != "" {
			return refuse(jobspec.CodePathSensitive, path, "%q is no socket that a job may use", path)
		}
		b.mount(Mount{Kind: PinnedRO, Dst: ob.Real, Src: ob.Real, Pin: i})
		b.Sockets = append(b.Sockets, ob.Real)
	}
	return nil
}

// NetEnv is what leads ordinary programs to the proxy, unless the signed
// environment says otherwise. NO_PROXY never stands here: there is nothing that
// could be reached without. SOCKS5 is served on the same port for programs that
// are told so; many clients fail over a variable that names it.
func NetEnv() []EnvVar {
	const proxy = "the only way out"
	at := fmt.Sprintf("http://127.0.0.1:%d", jobspec.ProxyPort)
	var all []EnvVar
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"} {
		all = append(all, EnvVar{name, at, proxy}, EnvVar{strings.ToLower(name), at, proxy})
	}
	return append(all,
		EnvVar{"npm_config_proxy", at, "npm reads it before all others"},
		EnvVar{"npm_config_https_proxy", at, "npm reads it before all others"},
		EnvVar{"YARN_HTTP_PROXY", at, "yarn reads no other"},
		EnvVar{"YARN_HTTPS_PROXY", at, "yarn reads no other"},
		EnvVar{"PIP_PROXY", at, "pip reads it before all others"},
		EnvVar{"CARGO_HTTP_PROXY", at, "cargo reads it before all others"},
		EnvVar{"NODE_USE_ENV_PROXY", "1", "node itself reads the variables above only then"},
		EnvVar{"RSYNC_PROXY", strings.TrimPrefix(at, "http://"), "rsync reads no other"},
		EnvVar{"XDG_CACHE_HOME", HomePath + "/.cache", "caches lie in the private home"},
		EnvVar{"npm_config_cache", HomePath + "/.cache/npm", "caches lie in the private home"},
		EnvVar{"PIP_CACHE_DIR", HomePath + "/.cache/pip", "caches lie in the private home"},
		EnvVar{"GOCACHE", HomePath + "/.cache/go-build", "caches lie in the private home"},
	)
}

// netDump is the part of a blueprint's text that tells of its network.
func (b *Blueprint) netDump(line func(string, ...any)) {
	for _, path := range b.Sockets {
		line("socket %s", path)
	}
	if b.Egress == nil {
		return
	}
	for _, a := range b.Egress.Allow {
		line("net allow %s private %t", a.Rule, a.Private)
	}
	line("net deny %q forward %q upstream %q connections %d bytes %d ports %d",
		b.Egress.Deny, b.Egress.Forward, b.Egress.Upstream, b.Egress.Connections, b.Egress.Bytes, b.Ports())
}
