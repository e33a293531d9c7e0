package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/crypto/ssh"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/signing"
	"github.com/sbxcron/sbxcron/store/safefile"
)

type trustAddOptions struct {
	tier, net string
	root      bool
	valid     string
	yes       bool
}

func newTrustAdd(a *App) *cobra.Command {
	o := trustAddOptions{}
	c := &cobra.Command{
		Use:   "add PRINCIPAL KEY.pub",
		Short: "Let a key sign for a principal",
		Long: `Add a line to allowed_signers: the key may manage the principal's jobs and approve
them up to the given tier and net. What policy.toml allows the principal is apart from
that, and both are needed.

In system mode only root may do this.`,
		Args: cobra.ExactArgs(2),
		RunE: work(func(_ context.Context, args []string) error { return a.trustAdd(args[0], args[1], o) }),
	}
	f := c.Flags()
	f.StringVar(&o.tier, "tier", jobspec.ReadOnly.String(), "highest tier that it may approve: scratch, read-only, workspace")
	f.StringVar(&o.net, "net", jobspec.NetNone.String(), "widest net that it may approve: none, proxy")
	f.BoolVar(&o.root, "root-ops", false, "it may also act on jobs of others, and sign what is about the installation")
	f.StringVar(&o.valid, "valid", "366d", "how long it may sign, from now")
	f.BoolVar(&o.yes, "yes", false, "do not ask before the file is written")
	return c
}

func (a *App) trustAdd(principal, path string, o trustAddOptions) error {
	site, err := a.Ports.Site(a.flags.root)
	if err != nil {
		return err
	}
	s, err := o.signer(principal, path, a.Now())
	if err != nil {
		return err
	}
	line, err := signing.FormatSigner(s)
	if err != nil {
		return fileError(err, "name an OpenSSH public key of a kind that is accepted, as ssh-keygen -t ed25519 makes it")
	}
	fresh, err := withSigner(site, line)
	if err != nil {
		return err
	}
	a.say("%s may sign for %s until %s: %s", s.KeyID, s.Principal, s.ValidBefore.Format(time.DateOnly), strings.Join(s.Namespaces, " "))
	if !o.yes {
		if err := a.yesTo("Add it?", "not added"); err != nil {
			return err
		}
	}
	dirs := site.Dirs()
	if err := safefile.Write(dirs.AllowedSigners(), fresh, dirs.ConfMode()); err != nil {
		return ownFiles(err)
	}
	row := trustedOf(s, []jobspec.Name{})
	if a.flags.json {
		return a.item("trust_add", row)
	}
	return a.printTrust([]trusted{row})
}

// signer is the line that the flags and the file say.
func (o trustAddOptions) signer(principal, path string, now time.Time) (signing.Signer, error) {
	who, err := jobspec.ParsePrincipal(principal)
	if err != nil {
		return signing.Signer{}, usageError("%s", err)
	}
	valid, err := jobspec.ParseSpan(o.valid)
	if err != nil {
		return signing.Signer{}, usageError("--valid: %s", err)
	}
	text, err := readFile(path, maxKeyFile)
	if err != nil {
		return signing.Signer{}, err
	}
	key, _, _, _, err := ssh.ParseAuthorizedKey(text)
	if err != nil {
		return signing.Signer{}, fileError(fmt.Errorf("read %q: %w", path, err), "name an OpenSSH public key")
	}
	names, err := o.namespaces()
	return signing.Signer{Principal: string(who), Key: key, KeyID: signing.KeyID(key), Namespaces: names, ValidBefore: now.Add(valid).UTC().Truncate(time.Second)}, err
}

// namespaces are those of every approval up to the tier and net.
func (o trustAddOptions) namespaces() ([]string, error) {
	var tier jobspec.Tier
	if err := tier.UnmarshalText([]byte(o.tier)); err != nil {
		return nil, err
	}
	var net jobspec.Net
	if err := net.UnmarshalText([]byte(o.net)); err != nil {
		return nil, err
	}
	names := []string{jobspec.ManageNamespace}
	if o.root {
		names = append(names, jobspec.RootNamespace)
	}
	for _, t := range []jobspec.Tier{jobspec.Scratch, jobspec.ReadOnly, jobspec.Workspace} {
		for _, n := range []jobspec.Net{jobspec.NetNone, jobspec.NetProxy} {
			if t <= tier && n <= net {
				names = append(names, jobspec.JobNamespace(t, n))
			}
		}
	}
	return names, nil
}

// withSigner is allowed_signers with one more line, if it would be read so.
func withSigner(site Site, line string) ([]byte, error) {
	old, revoked, err := trustFiles(site)
	if err != nil {
		return nil, err
	}
	if len(old) > 0 && old[len(old)-1] != '\n' {
		old = append(old, '\n')
	}
	fresh := append(slices.Clone(old), line...)
	t, err := signing.ParseTrust(fresh, revoked, signing.Algorithms{})
	if err != nil {
		return nil, err
	}
	if all := t.Signers(); all[len(all)-1].Revoked {
		return nil, ownError(jobspec.CodeKeyRevoked, jobspec.CodeKeyRevoked.Class(), "make a new key", "the key was revoked")
	}
	return fresh, nil
}
