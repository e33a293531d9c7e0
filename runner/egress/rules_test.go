package egress

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/sbxcron/sbxcron/jobspec"
)

func TestOnlyPublicAddressesAreReachedUnlessOpened(t *testing.T) {
	for addr, class := range map[string]string{
		"93.184.216.34": "", "8.8.8.8": "", "2606:2800:220:1::1": "", "172.15.255.255": "", "172.32.0.1": "", "100.128.0.1": "", "198.20.0.1": "",
		"0.0.0.0": "unspecified", "0.1.2.3": "unspecified", "::": "unspecified", "127.0.0.1": "loopback", "127.255.255.254": "loopback", "::1": "loopback", "::ffff:127.0.0.1": "loopback",
		"10.0.0.1": "private", "172.16.0.1": "private", "172.31.255.255": "private", "192.168.1.1": "private", "::ffff:10.0.0.1": "private", "100.64.0.1": "shared", "100.127.255.255": "shared",
		"169.254.169.254": "metadata", "fd00:ec2::254": "metadata", "100.100.100.200": "metadata", "168.63.129.16": "metadata", "169.254.1.1": "link_local", "fe80::1": "link_local", "fe80::1%lo": "link_local",
		"fc00::1": "unique_local", "fd12::1": "unique_local", "fec0::1": "site_local", "224.0.0.1": "multicast", "239.255.255.255": "multicast", "ff02::1": "multicast", "255.255.255.255": "broadcast",
		"240.0.0.1": "reserved", "192.0.0.192": "reserved", "192.0.2.1": "reserved", "198.18.0.1": "reserved", "203.0.113.1": "reserved", "2001:db8::1": "reserved", "100::1": "reserved", "4000::1": "reserved",
		"192.88.99.1": "relay", "2002:7f00:1::": "6to4", "64:ff9b::7f00:1": "nat64", "64:ff9b:1::a00:1": "nat64", "2001:0:1::1": "teredo", "::127.0.0.1": "compatible",
	} {
		if got := refusedClass(netip.MustParseAddr(addr), publicOnly); got != class {
			t.Errorf("%s is %q, want %q", addr, got, class)
		}
	}
	if refusedClass(netip.Addr{}, selfToo) == "" {
		t.Error("no address is one")
	}
}

func TestPrivateHostsOpenPrivateNetworksAndNothingElse(t *testing.T) {
	for addr, want := range map[string]bool{
		"10.0.0.1": true, "fd12::1": true, "100.64.0.1": true, "8.8.8.8": true,
		"127.0.0.1": false, "::1": false, "169.254.169.254": false, "fd00:ec2::254": false, "100.100.100.200": false, "169.254.1.1": false, "224.0.0.1": false, "0.0.0.0": false, "2002:a00:1::": false, "64:ff9b::a00:1": false,
	} {
		if got := refusedClass(netip.MustParseAddr(addr), privateToo) == ""; got != want {
			t.Errorf("%s: %v", addr, got)
		}
	}
	for addr, want := range map[string]bool{"127.0.0.1": true, "::1": true, "10.0.0.1": true, "169.254.169.254": false, "0.0.0.0": false} {
		if got := refusedClass(netip.MustParseAddr(addr), selfToo) == ""; got != want {
			t.Errorf("self, %s: %v", addr, got)
		}
	}
}

func mustRules(t *testing.T, c Config) *rules {
	t.Helper()
	r, err := c.read()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func allow(list ...string) []Opening {
	var all []Opening
	for _, text := range list {
		rest, private := strings.CutPrefix(text, "private ")
		all = append(all, Opening{Rule: rest, Private: private})
	}
	return all
}

func TestDecisionsFollowTheRules(t *testing.T) {
	r := mustRules(t, Config{
		Allow: allow("api.example.org:443", "*.cdn.example.org:443", "api.example.org:8443", "8.8.4.4:53", "private 10.1.0.0/16:5432", "private db.internal:5432", "plain.example.org:80"),
		Deny:  []string{"bad.cdn.example.org:443", "*.evil.cdn.example.org:443", "10.1.9.0/24:5432"},
	})
	for target, want := range map[string]jobspec.Code{
		"api.example.org:443": "", "api.example.org:8443": "", "a.cdn.example.org:443": "", "a.b.cdn.example.org:443": "", "8.8.4.4:53": "", "10.1.2.3:5432": "", "db.internal:5432": "", "plain.example.org:80": "",
		"cdn.example.org:443": jobspec.CodeNetDeniedDomain, "evilcdn.example.org:443": jobspec.CodeNetDeniedDomain, "example.org:443": jobspec.CodeNetDeniedDomain,
		"bad.cdn.example.org:443": jobspec.CodeNetDeniedDomain, "x.evil.cdn.example.org:443": jobspec.CodeNetDeniedDomain, "evil.cdn.example.org:443": "",
		"api.example.org:22": jobspec.CodeNetDeniedPort, "api.example.org:80": jobspec.CodeNetDeniedPort, "a.cdn.example.org:22": jobspec.CodeNetDeniedPort, "10.1.2.3:22": jobspec.CodeNetDeniedPort,
		"10.1.9.3:5432": jobspec.CodeNetDeniedDomain, "8.8.8.8:53": jobspec.CodeNetDeniedDomain, "127.0.0.1:80": jobspec.CodeNetDeniedLocal, "169.254.169.254:80": jobspec.CodeNetDeniedLocal,
		"10.2.0.1:5432": jobspec.CodeNetDeniedLocal, "[::1]:443": jobspec.CodeNetDeniedLocal, "localhost:80": jobspec.CodeNetDeniedDomain,
	} {
		at, err := ParseAuthority(target, 0)
		if err != nil {
			t.Fatal(err)
		}
		g, no := r.decide(at)
		if got := codeOf(no); got != want || got == "" && !strings.HasPrefix(g.rule, "net.allow ") || no != nil && (no.Target != target || no.Rule == "") {
			t.Errorf("%s: %q %v %+v", target, got, no, g)
		}
	}
}

func codeOf(no *Refusal) jobspec.Code {
	if no == nil {
		return ""
	}
	return no.Reason
}

func TestAnEmptyListAllowsNothing(t *testing.T) {
	for _, c := range []Config{{}, {Deny: []string{"a.org:443"}}, {Forward: []string{"localhost:5432"}}} {
		r := mustRules(t, c)
		for _, target := range []string{"a.org:443", "b.org:443", "localhost:5432", "8.8.8.8:443"} {
			at, err := ParseAuthority(target, 0)
			if err != nil {
				t.Fatal(err)
			}
			if _, no := r.decide(at); no == nil {
				t.Errorf("%+v allows %s", c, target)
			}
		}
	}
}

func TestADeniedRangeCountsForTheAddressOfAName(t *testing.T) {
	r := mustRules(t, Config{Allow: allow("private db.internal:5432"), Deny: []string{"10.1.9.0/24:5432"}})
	at := Target{Name: "db.internal", Port: 5432}
	g, no := r.decide(at)
	if no != nil {
		t.Fatal(no)
	}
	if no := r.judge(at, netip.MustParseAddr("10.1.9.3"), g); codeOf(no) != jobspec.CodeNetDeniedDomain || no.Rule != "net.deny 10.1.9.0/24:5432" {
		t.Error(no)
	}
	if no := r.judge(at, netip.MustParseAddr("10.1.8.3"), g); no != nil {
		t.Error(no)
	}
}

func TestConfigsThatCannotBeReadAreRefused(t *testing.T) {
	for _, c := range []Config{{Allow: allow("a.org")}, {Deny: []string{"*:443"}}, {Forward: []string{"*.a.org:443"}}, {Forward: []string{"10.0.0.0/8:443"}}, {Allow: allow("")},
		{Upstream: "https://proxy:3128"}, {Upstream: "proxy:3128"}, {Upstream: "http://u:p@proxy:3128"}, {Upstream: "http://proxy:3128/x"}, {Upstream: "http://proxy"}} {
		if s, err := New(c, Options{}); err == nil {
			s.Close()
			t.Errorf("%+v is read", c)
		}
	}
}
