package egress

import (
	"net/netip"
	"strings"
	"testing"
)

func TestAuthoritiesHaveOneReadingOrNone(t *testing.T) {
	long := strings.Repeat("a", 63) + "." + strings.Repeat("b", 63) + "." + strings.Repeat("c", 63) + "." + strings.Repeat("d", 61)
	for text, want := range map[string]string{
		"api.example.org:443":            "api.example.org:443",
		"API.Example.ORG:443":            "api.example.org:443",
		"api.example.org.:443":           "api.example.org:443",
		"a_b.example.org:65535":          "a_b.example.org:65535",
		"xn--exmple-cua.example.org:443": "xn--exmple-cua.example.org:443",
		"localhost:8080":                 "localhost:8080",
		"db:5432":                        "db:5432",
		long + ":443":                    long + ":443",
		"10.0.0.5:5432":                  "10.0.0.5:5432",
		"[2001:db8::1]:443":              "[2001:db8::1]:443",
		"[2001:DB8:0:0::1]:443":          "[2001:db8::1]:443",
	} {
		got, err := ParseAuthority(text, 0)
		if err != nil || got.String() != want {
			t.Errorf("%q is %s, %v", text, got, err)
		}
	}
	for _, text := range []string{
		"", ":443", "a.org", "a.org:", "a.org:0", "a.org:0443", "a.org:+443", "a.org:65536", "a.org:99999999999999999999", "a.org:443:1", "a.org:http", "a.org: 443", "a.org:443 ",
		// one name that others read as another
		"evil\x00.ok.org:443", "ok.org%00.evil.org:443", "ok.org@evil.org:443", "user:pass@ok.org:443", "ok.org\tevil.org:443", "ok.org\r\nHost: evil:443", "ok.org/evil:443", "ok.org?x:443",
		"ok.org#x:443", "ok.org\\evil:443", "ok.org,evil.org:443", "ok.org;evil.org:443", "*.ok.org:443",
		"-a.org:443", "a-.org:443", "a..org:443", ".a.org:443", "a.org..:443", ".:443", long + "x:443", strings.Repeat("a", 64) + ".org:443",
		"ex\u00e4mple.org:443", "\u2024.org:443", "ok\u3002org:443", "\uff4f\uff4b.org:443", "\u00adok.org:443",
		// addresses in spellings that resolvers accept
		"127.1:80", "127.0.1:80", "2130706433:80", "0x7f000001:80", "0x7f.0.0.1:80", "0177.0.0.1:80", "017700000001:80", "127.0.0.01:80", "127.0.0.1.:80", "127.0.0.0x1:80", "0:80", "1.2.3.4.5:80", "a.0x7f:80", "256.1.1.1:80",
		"[::ffff:127.0.0.1]:80", "[::ffff:7f00:1]:80", "[::ffff:0:127.0.0.1]:80x", "[fe80::1%eth0]:80", "[fe80::1%25eth0]:80", "[127.0.0.1]:80", "[::1:80", "::1:80", "[::1]80", "[::1]", "[]:80", "[v1.x]:80", "[a.org]:80",
	} {
		if got, err := ParseAuthority(text, 0); err == nil {
			t.Errorf("%q is %s", text, got)
		}
	}
}

func TestNamesThatAreNotASCIIAreToldToUsePunycode(t *testing.T) {
	if _, err := ParseAuthority("b\u00fccher.example.org:443", 0); err == nil || !strings.Contains(err.Error(), "punycode") {
		t.Error(err)
	}
}

func TestAddressesAsBytesAreHeldToTheSameRules(t *testing.T) {
	if got, err := AddrTarget(netip.MustParseAddr("10.1.2.3"), 80); err != nil || got.String() != "10.1.2.3:80" {
		t.Error(got, err)
	}
	for _, a := range []netip.Addr{{}, netip.MustParseAddr("::ffff:127.0.0.1"), netip.MustParseAddr("fe80::1%lo")} {
		if got, err := AddrTarget(a, 80); err == nil {
			t.Errorf("%s is %s", a, got)
		}
	}
}

func FuzzAuthority(f *testing.F) {
	for _, s := range []string{"api.example.org:443", "[::1]:80", "127.0.0.1:80", "ok\x00.evil:1", "a@b:1", "0x7f.1:1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := ParseAuthority(text, 0)
		if err != nil {
			if !got.IsZero() {
				t.Fatalf("%q is %s with %v", text, got, err)
			}
			return
		}
		again, err := ParseAuthority(got.String(), 0)
		if err != nil || again != got {
			t.Fatalf("%q is %s and then %s, %v", text, got, again, err)
		}
		if (got.Name == "") == !got.Addr.IsValid() || got.Port == 0 || got.Addr.Is4In6() || got.Addr.Zone() != "" {
			t.Fatalf("%q is %+v", text, got)
		}
		if got.Name != "" && (len(got.Name) > maxName || strings.ContainsAny(got.Name, "@%:/ \x00") || got.Name != strings.ToLower(got.Name)) {
			t.Fatalf("%q is %+v", text, got)
		}
		if _, err := netip.ParseAddr(got.Name); err == nil {
			t.Fatalf("%q is the name %q, which is an address", text, got.Name)
		}
	})
}
