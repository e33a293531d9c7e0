package jobspec

import (
	"testing"

	"pgregory.net/rapid"
)

func TestEndpointsAreReadInOneForm(t *testing.T) {
	for _, s := range []string{"api.example.org:443", "*.example.org:443", "a_b.example.org:1", "10.0.0.5:5432", "10.0.0.0/8:5432", "203.0.113.0/24:65535",
		"[2001:db8::1]:443", "[fd00::/8]:443", "db:5432", "localhost:5432"} {
		if e, err := ParseEndpoint(s); err != nil || e.String() != s {
			t.Errorf("%q is %+v (%s), %v", s, e, e, err)
		}
	}
	for _, s := range []string{"", ":443", "example.org", "example.org:", "example.org:0", "example.org:65536", "example.org:0443", "example.org:*", "example.org:443:1",
		"Example.org:443", "example.org.:443", "-a.org:443", "a-.org:443", "a..org:443", "*:443", "*.org:443", "*.*.org:443", "a.*.org:443", "ex\u00e4mple.org:443", "a b.org:443",
		"x.localhost:80", "*.x.localhost:80", "127.0.0.1:80", "127.1:80", "0x7f.1:80", "2130706433:80", "0.0.0.0:80", "0.0.0.0/0:443", "128.0.0.0/1:443", "169.254.169.254:80",
		"224.0.0.1:80", "10.0.0.1/8:443", "10.0.0.0/33:443", "010.0.0.1:80", "::1:80", "[::1]:80", "[::]:80", "[::/0]:80", "[::ffff:10.0.0.1]:80", "[fe80::1%eth0]:80", "[fe80::1]:80",
		"[FD00::1]:80", "[10.0.0.1]:80", "http://a.org:80"} {
		if e, err := ParseEndpoint(s); err == nil {
			t.Errorf("%q is %+v", s, e)
		} else if CodeOf(err) != CodeNetDomainInvalid {
			t.Errorf("%q: %v", s, err)
		}
	}
}

func TestEndpointsCover(t *testing.T) {
	for _, c := range []struct {
		outer, inner string
		want         bool
	}{
		{"a.example.org:443", "a.example.org:443", true},
		{"a.example.org:443", "a.example.org:80", false},
		{"*.example.org:443", "a.example.org:443", true},
		{"*.example.org:443", "a.b.example.org:443", true},
		{"*.example.org:443", "*.b.example.org:443", true},
		{"*.example.org:443", "*.example.org:443", true},
		{"*.example.org:443", "example.org:443", false},
		{"*.example.org:443", "evilexample.org:443", false},
		{"a.example.org:443", "*.example.org:443", false},
		{"*.a.example.org:443", "*.example.org:443", false},
		{"10.0.0.0/8:443", "10.1.2.3:443", true},
		{"10.0.0.0/8:443", "10.1.0.0/16:443", true},
		{"10.1.0.0/16:443", "10.0.0.0/8:443", false},
		{"10.0.0.0/8:443", "11.0.0.1:443", false},
		{"10.0.0.0/8:443", "db.internal:443", false},
		{"[fd00::/8]:443", "[fd00::1]:443", true},
		{"nonsense", "nonsense", false},
	} {
		if got := endpointCovers(c.outer, c.inner); got != c.want {
			t.Errorf("%s covers %s: %v", c.outer, c.inner, got)
		}
	}
}

func TestNoTextMakesAnEndpointOfTheMachineItself(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := rapid.StringMatching(`(\*\.)?[a-z0-9.:/\[\]-]{1,20}:[0-9]{1,5}`).Draw(rt, "text")
		e, err := ParseEndpoint(s)
		if err != nil {
			return
		}
		if e.String() != s || e.Port == 0 || e.Name == "" && (!e.Range.IsValid() || e.Range.Bits() == 0 || e.Range.Addr().IsLoopback() || e.Range.Addr().IsUnspecified()) {
			rt.Fatalf("%q is %+v", s, e)
		}
	})
}
