package jobspec

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// netInput is a job of net proxy that every phase allows.
func netInput(t *testing.T, spec func(*Spec), ceiling func(*Ceiling)) Input {
	t.Helper()
	in := goodInput(t, goodDraft(), goodFacts())
	in.Op.Net = NetProxy
	in.Sandbox.Capabilities = append(in.Sandbox.Capabilities, "netns")
	in.alice(func(c *Ceiling) { c.MaxNet = NetProxy; ceiling(c) })
	spec(in.Op.Spec)
	return in
}

func TestAPrivateHostNeedsItsNameInPolicyAndSpec(t *testing.T) {
	for _, c := range []struct {
		name           string
		allow          []string
		hosts, private []string
		want           []string
		allowed        bool
	}{
		{"by name in both", []string{"db.internal:5432"}, []string{"db.internal:5432"}, []string{"db.internal:5432"}, []string{"db.internal:5432"}, true},
		{"not in private_hosts", []string{"db.internal:5432"}, []string{"db.internal:5432"}, nil, nil, true},
		{"another port", []string{"db.internal:5432"}, []string{"db.internal:5432"}, []string{"db.internal:5433"}, nil, true},
		{"all below a name is not a name", []string{"*.db.internal:5432"}, []string{"*.db.internal:5432"}, []string{"*.db.internal:5432"}, nil, true},
		{"all below a name in the policy", []string{"a.db.internal:5432"}, []string{"*.db.internal:5432"}, []string{"*.db.internal:5432"}, []string{"a.db.internal:5432"}, true},
		{"a range in both", []string{"10.1.2.0/24:5432"}, []string{"10.0.0.0/8:5432"}, []string{"10.1.0.0/16:5432"}, []string{"10.1.2.0/24:5432"}, true},
		{"the machine itself", []string{"localhost:8080"}, []string{"localhost:8080"}, []string{"localhost:8080"}, []string{"localhost:8080"}, true},
		{"the machine itself as any host", []string{"localhost:8080"}, []string{"localhost:8080"}, nil, nil, false},
		{"in private_hosts alone", []string{"db.internal:5432"}, nil, []string{"db.internal:5432"}, []string{"db.internal:5432"}, false},
	} {
		in := netInput(t, func(s *Spec) { s.NetAllow = c.allow }, func(l *Ceiling) { l.Hosts, l.PrivateHosts = c.hosts, c.private })
		for _, phase := range []Phase{PhaseAdd, PhaseExplain, PhaseTrigger} {
			d := Decide(phase, in)
			if !slices.Equal(d.Net.Private, c.want) || d.Allowed() != c.allowed || d.Net.Upstream != "" {
				t.Errorf("%s: %+v, %+v", c.name, d.Net, d.Refusals())
			}
		}
	}
}

func TestForwardsHaveAPortOfTheirOwn(t *testing.T) {
	for _, c := range []struct {
		forward []string
		bad     string
	}{
		{[]string{"db.internal:5432", "localhost:6379"}, ""},
		{[]string{"db.internal:443"}, "db.internal:443"},
		{[]string{"db.internal:3128"}, "db.internal:3128"},
		{[]string{"a.internal:5432", "b.internal:5432"}, "b.internal:5432"},
	} {
		in := netInput(t, func(s *Spec) { s.Forward = c.forward }, func(l *Ceiling) { l.Forward = c.forward })
		d := Decide(PhaseTrigger, in)
		found := slices.ContainsFunc(d.Refusals(), func(x Check) bool { return x.Code == CodeNetDomainInvalid && x.Target == c.bad })
		if found != (c.bad != "") || d.Allowed() != (c.bad == "") {
			t.Errorf("%v: %+v", c.forward, d.Refusals())
		}
	}
}

func TestAnUpstreamStandsInEachRecord(t *testing.T) {
	in := netInput(t, func(s *Spec) { s.NetAllow = []string{"a.org:443"} }, func(c *Ceiling) { c.Hosts = []string{"a.org:443"} })
	in.Policy.Upstream = "http://proxy.corp:3128"
	d := Decide(PhaseTrigger, in)
	if !d.Allowed() || d.Net.Upstream != "http://proxy.corp:3128" || !slices.Contains(d.Notes, "net.upstream http://proxy.corp:3128 judges the addresses of public hosts") {
		t.Errorf("%+v %+v %v", d.Net, d.Refusals(), d.Notes)
	}
	for _, bad := range []string{"proxy.corp:3128", "https://proxy.corp:3128", "http://proxy.corp", "http://u:p@proxy.corp:3128", "http://*.corp.example:3128", "http://10.0.0.0/8:3128", upstreamClash} {
		in.Policy.Upstream = bad
		if d := Decide(PhaseTrigger, in); d.Allowed() {
			t.Errorf("%q is allowed", bad)
		}
	}
	in.Op.Net, in.Op.Spec.NetAllow = NetNone, nil // who has no network needs no way out
	if d := Decide(PhaseTrigger, in); !d.Allowed() || d.Net.Upstream != "" {
		t.Errorf("%+v %+v", d.Net, d.Refusals())
	}
}

func TestMeetOfUpstreamsIsALattice(t *testing.T) {
	word := rapid.SampledFrom([]string{"", UpstreamDirect, "http://a:1", "http://b:1", upstreamClash})
	rapid.Check(t, func(rt *rapid.T) {
		a, b, c := word.Draw(rt, "a"), word.Draw(rt, "b"), word.Draw(rt, "c")
		if meetUpstream(a, b) != meetUpstream(b, a) || meetUpstream(a, a) != a || meetUpstream(meetUpstream(a, b), c) != meetUpstream(a, meetUpstream(b, c)) {
			rt.Fatalf("%q %q %q", a, b, c)
		}
		if m := meetUpstream(a, b); a != "" && m != a && m != upstreamClash {
			rt.Fatalf("%q and %q make %q", a, b, m)
		}
	})
	granting := (&Policy{}).Filled()
	if m := Meet(granting, &Policy{Open: true, Upstream: "http://a:1"}); m.Upstream != upstreamClash {
		t.Errorf("a further file opens a way out: %q", m.Upstream)
	}
}

func TestHostsWithoutAPortMeanHTTPS(t *testing.T) {
	d := goodDraft()
	d.Net, d.NetAllow, d.NetDeny = NetProxy, []string{"a.org", "b.org:8080", "*.c.org", "[2001:db8::1]", "x y"}, []string{"d.org"}
	op, err := Resolve(d, goodFacts())
	if err != nil || !slices.Equal(op.Spec.NetAllow, []string{"a.org:443", "b.org:8080", "*.c.org:443", "[2001:db8::1]:443", "x y"}) || op.Spec.NetDeny[0] != "d.org:443" {
		t.Errorf("%v %v", op, err)
	}
	if d.NetAllow[0] != "a.org" {
		t.Error("the draft was changed")
	}
}

func TestSocketsOfServicesWithMoreRightsAreOpenToNoJob(t *testing.T) {
	for p, never := range map[string]bool{
		"/run/docker.sock": true, "/srv/x/docker.sock": true, "/run/podman/podman.sock": true, "/run/containerd/containerd.sock": true, "/run/user/1000/bus": true, "/run/dbus/system_bus_socket": true,
		"/run/systemd/private": true, "/tmp/ssh-abc/agent.123": true, "/run/user/1/gnupg/S.gpg-agent": true, "/run/sbxcron/sbxcron.sock": true, "/run/snapd.socket": true, "/run/libvirt/libvirt-sock": true,
		"/run/postgresql/.s.PGSQL.5432": false, "/run/mysqld/mysqld.sock": false, "/run/redis/redis.sock": false, "/srv/app/app.sock": false,
	} {
		if got := NeverSocket(p); (got != "") != never {
			t.Errorf("%s: %q", p, got)
		}
		in := netInput(t, func(s *Spec) { s.Sockets = []string{p} }, func(c *Ceiling) { c.Sockets = []string{"/run", "/srv", "/tmp"} })
		in.Op.Net = NetNone
		in.Paths = append(in.Paths, Observation{Use: UseSocket, Typed: p, Real: p, Kind: KindSocket, Places: at(8, 900, "8:1:"+p, 2)})
		in.Sensitive = append(in.Sensitive, Sensitive{What: "/run", Path: "/run", Reach: Itself | Contains | Below | SocketOK, Where: at(8, 800, "8:1:/run", 2)})
		if d := Decide(PhaseTrigger, in); d.Allowed() == never {
			t.Errorf("%s: %+v", p, d.Refusals())
		}
	}
}

func TestASocketIsJudgedByWhereItLies(t *testing.T) {
	const p = "/run/postgresql/.s.PGSQL.5432"
	for name, c := range map[string]struct {
		o    Observation
		code Code
	}{
		"not opened":   {Observation{}, CodePathUnreachable},
		"gone":         {Observation{Problem: CodePathUnreachable}, CodePathUnreachable},
		"a file":       {Observation{Kind: KindRegular}, CodePathUnreachable},
		"a link":       {Observation{Kind: KindSocket, Symlink: true}, CodePathUnreachable},
		"docker's own": {Observation{Kind: KindSocket, Places: at(8, 700, "8:1:"+p, 2)}, CodePathSensitive},
		"its own":      {Observation{Kind: KindSocket, Places: at(8, 901, "8:1:"+p, 2)}, ""},
	} {
		in := netInput(t, func(s *Spec) { s.Sockets = []string{p} }, func(c *Ceiling) { c.Sockets = []string{"/run/postgresql"} })
		in.Op.Net = NetNone
		if name != "not opened" {
			c.o.Use, c.o.Typed, c.o.Real = UseSocket, p, p
			in.Paths = append(in.Paths, c.o)
		}
		in.Sensitive = append(in.Sensitive, Sensitive{What: "the socket of docker", Path: "/run/docker.sock", Reach: Itself | Contains | Below, Where: at(8, 700, "8:1:/run/docker.sock", 2)},
			Sensitive{What: "/run", Path: "/run", Reach: Itself | Contains | Below | SocketOK, Where: at(8, 800, "8:1:/run", 2)})
		d := Decide(PhaseTrigger, in)
		if d.Allowed() != (c.code == "") || c.code != "" && !slices.Contains(codesOf(d), c.code) {
			t.Errorf("%s: %+v", name, d.Refusals())
		}
	}
}

// A ceiling on connections or bytes means nothing to a job without a network, and
// none of a network may leave it out.
func TestLimitsOfTheNetworkThatACeilingSetsAreGiven(t *testing.T) {
	for name, c := range map[string]struct {
		ceiling, limit func(*Limits)
	}{
		"connections": {func(l *Limits) { l.Connections = 10 }, func(l *Limits) { l.Connections = 10 }},
		"bytes":       {func(l *Limits) { l.NetBytes = 1 << 20 }, func(l *Limits) { l.NetBytes = 1 << 20 }},
	} {
		in := netInput(t, func(s *Spec) {}, func(l *Ceiling) { c.ceiling(&l.Limits) })
		for _, phase := range []Phase{PhaseAdd, PhaseExplain, PhaseTrigger} {
			in.Op.Net = NetProxy
			in.Op.Spec.Limits.Connections, in.Op.Spec.Limits.NetBytes = 0, 0
			d := Decide(phase, in)
			if d.Allowed() || d.Refusals()[0].Code != CodeLimitOverCeiling {
				t.Errorf("%s left out: %+v", name, d.Refusals())
			}
			c.limit(&in.Op.Spec.Limits)
			if d := Decide(phase, in); !d.Allowed() {
				t.Errorf("%s given: %+v", name, d.Refusals())
			}
			in.Op.Net, in.Op.Spec.Limits.Connections, in.Op.Spec.Limits.NetBytes = NetNone, 0, 0
			if d := Decide(phase, in); !d.Allowed() {
				t.Errorf("%s without a network: %+v", name, d.Refusals())
			}
		}
	}
}
