package engine

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/sbxcron/sbxcron/cmd/internal/config"
)

func TestTheHeadNamesOnlyCredentialsThatThePolicyGrants(t *testing.T) {
	b := newBench(t)
	dir := filepath.Join(b.dirs.Conf, config.CredentialDir)
	must(t, os.Mkdir(dir, 0o700))
	for _, name := range []string{"granted", "nobodys"} {
		must(t, os.WriteFile(filepath.Join(dir, name), []byte("a long value"), 0o600))
	}
	policy := func(text string) {
		must(t, os.WriteFile(b.dirs.Policy(), []byte("serial = 1\nenabled_platforms = [\"linux\"]\n"+text), 0o600))
	}
	e := b.open(true)
	for text, want := range map[string][]string{
		"": nil,
		"[principals.alice]\nmax_tier = \"scratch\"\nmax_net = \"none\"\ncredentials = [\"granted\", \"missing\"]\n": {"granted"},
		"no policy at all\n": nil,
	} {
		policy(text)
		head, err := e.Head(t.Context())
		must(t, err)
		if !slices.Equal(head.Credentials, want) {
			t.Errorf("policy %q: %q", text, head.Credentials)
		}
	}
}
