package jobspec

import (
	"slices"
	"strings"
	"testing"
)

// Values that only look like secrets; none was ever valid.
const (
	fakeToken = "ghp_" + "0123456789abcdefABCDEF0123456789abcd"
	fakeKey   = "AKIA" + "IOSFODNN7EXAMPLE"
)

func TestWhatLooksLikeASecretIsAskedAbout(t *testing.T) {
	for _, c := range []trial{
		{argv: []string{"curl", "-H", "Authorization: Bearer " + fakeToken, "x"}},
		{argv: []string{"push", "--token", "q8Z!kd02mXv7"}},
		{argv: []string{"push", "--api-key=q8Zkd02mXv7b"}},
		{argv: []string{"mysqldump", "--password=q8Zkd02mXv7b"}},
		{argv: []string{"psql", "postgres://alice:hunter22@db/x"}},
		{argv: []string{"./job", fakeKey}},
		{argv: sh("curl -u x:" + fakeToken + " host")},
		{argv: words("./job"), env: map[string]string{"API_TOKEN": "q8Zkd02mXv7b"}},
		{argv: words("./job"), env: map[string]string{"REMOTE": "https://bob:pass99@host/x"}},
		{argv: words("./job"), stdin: "-----BEGIN OPENSSH PRIVATE KEY-----\nx\n"},
		{script: Script{Interpreter: "/bin/sh", Body: "export T=" + fakeToken + "\n"}},
	} {
		v := judgeTrial(t, c)
		if !slices.Contains(v.asks, "floor.secret") || slices.Contains(v.no, CodeInternal) {
			t.Errorf("%q %v %q: asks %v", c.argv, c.env, c.script.Body, v.asks)
		}
		for _, a := range v.d.Asks {
			first, _, _ := strings.Cut(a.Question, "\n")
			if a.Rule == "floor.secret" && (strings.Contains(first, fakeToken) || strings.Contains(first, "q8Zkd02mXv7b")) {
				t.Errorf("the question repeats the secret: %s", first)
			}
		}
	}
}

func TestWhatOnlyNamesASecretIsNotAskedAbout(t *testing.T) {
	for _, c := range []trial{
		{argv: words("push --token-file /etc/x/token")}, {argv: words("push --password-store pass")}, {argv: words("push --token $TOKEN")},
		{argv: words("push --password=file:/x")}, {argv: words("push --token /run/token")}, {argv: words("git clone https://host/x.git")},
		{argv: words("ssh-keyscan git@host")}, {argv: words("report --passes 12")}, {argv: words("sha256sum e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")},
		{argv: words("./job"), env: map[string]string{"TOKEN_PATH": "/srv/x", "REPORT_LANG": "de"}}, {argv: words("curl http://[::1]:80/x")},
		{argv: words("openssl enc -pass env:PW")}, {argv: words("report skip-the-last-of-all-the-long-names-there-are")},
	} {
		if v := judgeTrial(t, c); slices.Contains(v.asks, "floor.secret") {
			t.Errorf("%q %v is asked about", c.argv, c.env)
		}
	}
}

func TestFlagsThatAnswerYesAreAskedAbout(t *testing.T) {
	for _, c := range []struct {
		argv []string
		want bool
	}{
		{words("apt-get install -y x"), true}, {words("apt-get -qy install x"), true}, {words("apt-get -o APT::Get::Assume-Yes=true install x"), true},
		{words("pacman --noconfirm -S x"), true}, {words("terraform apply -auto-approve"), true}, {words("tool --yes"), true}, {words("tool --assume-yes x"), true},
		{words("ffmpeg -y -i a b"), true}, {sh("yes | rm -i x"), true}, {words("env A=b apt-get -y upgrade"), true}, {sh("apt-get -y upgrade"), true},
		{words("tool --yes=false"), false}, {words("sort -y x"), false}, {words("tool -- --yes"), false}, {words("tool -y"), false}, {words("yes"), false}, {words("grep yes f"), false},
	} {
		if v := judgeTrial(t, trial{argv: c.argv}); slices.Contains(v.asks, "floor.yes") != c.want {
			t.Errorf("%q: asks %v", c.argv, v.asks)
		}
	}
	for _, name := range []string{"npm_config_yes", "PIP_YES", "CONDA_ALWAYS_YES", "DEBIAN_PRIORITY"} {
		if v := judgeTrial(t, trial{argv: words("./job"), env: map[string]string{name: "1"}}); !slices.Contains(v.asks, "floor.variable") {
			t.Errorf("%s: asks %v", name, v.asks)
		}
	}
}
