package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sbxcron/sbxcron/cmd/internal/api"
	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/signing"
	"github.com/sbxcron/sbxcron/store/safefile"
)

// impact is what rests on a key: trust impact and trust revoke print it.
type impact struct {
	Principal string         `json:"principal"`
	KeyID     string         `json:"key_id"`
	Revoked   bool           `json:"revoked"`
	Jobs      []jobspec.Name `json:"jobs"`     // whose approval it signed
	Canceled  []string       `json:"canceled"` // runs that were ended
}

func newTrustImpact(a *App) *cobra.Command {
	return &cobra.Command{
		Use:   "impact KEY",
		Short: "Show which jobs rest on a key, and would stop if it were revoked",
		Long: `KEY is a .pub file, the private key beside one, or SHA256:... as trust list prints it.
Shown are the jobs whose approval in force it signed.`,
		Args: cobra.ExactArgs(1),
		RunE: work(func(ctx context.Context, args []string) error {
			site, err := a.Ports.Site(a.flags.root)
			if err != nil {
				return err
			}
			signer, err := signerOf(site, args[0])
			if err != nil {
				return err
			}
			found, _, err := a.impactOf(ctx, signer)
			if err != nil {
				return err
			}
			return a.printImpact(found)
		}),
	}
}

func newTrustRevoke(a *App) *cobra.Command {
	var yes, cancel bool
	c := &cobra.Command{
		Use:   "revoke KEY",
		Short: "Revoke a key: what it approved starts no more",
		Long: `Add a key to revoked_keys. From the next trigger on no job starts that it approved,
whenever that was; each needs a new approval by another key. What runs goes on, unless
--cancel-running is given. There is no way back but editing the file.

In system mode only root may do this.`,
		Args: cobra.ExactArgs(1),
		RunE: work(func(ctx context.Context, args []string) error { return a.trustRevoke(ctx, args[0], yes, cancel) }),
	}
	c.Flags().BoolVar(&yes, "yes", false, "do not ask before the file is written")
	c.Flags().BoolVar(&cancel, "cancel-running", false, "end what runs by an approval of this key")
	return c
}

// signerOf is the line of allowed_signers that belongs to a key.
func signerOf(site Site, key string) (signing.Signer, error) {
	trust, err := site.Trust()
	if err != nil {
		return signing.Signer{}, err
	}
	is, err := publicPart(key)
	if err != nil {
		return signing.Signer{}, err
	}
	all := trust.Signers()
	i := slices.IndexFunc(all, is)
	if i < 0 {
		return signing.Signer{}, unknownKey(key)
	}
	return all[i], nil
}

// impactOf finds the jobs that a key approved, and their runs that go on.
func (a *App) impactOf(ctx context.Context, s signing.Signer) (found impact, running []string, err error) {
	found = impact{Principal: s.Principal, KeyID: s.KeyID, Revoked: s.Revoked, Jobs: []jobspec.Name{}, Canceled: []string{}}
	err = a.service(ctx, func(svc api.Service) error {
		all, err := svc.Jobs(ctx)
		if err != nil {
			return err
		}
		for _, j := range all {
			if string(j.Principal) != s.Principal {
				continue
			}
			d, err := svc.Job(ctx, j.Job)
			if err != nil {
				return err
			}
			if d.KeyID == s.KeyID {
				found.Jobs = append(found.Jobs, j.Job)
			}
		}
		st, err := svc.Status(ctx)
		for _, r := range st.Running {
			if slices.Contains(found.Jobs, r.Job) {
				running = append(running, r.Run)
			}
		}
		return err
	})
	return found, running, err
}

func (a *App) trustRevoke(ctx context.Context, key string, yes, cancel bool) error {
	site, err := a.Ports.Site(a.flags.root)
	if err != nil {
		return err
	}
	signer, err := signerOf(site, key)
	if err != nil {
		return err
	}
	found, running, err := a.impactOf(ctx, signer)
	if err != nil && cancel {
		return err
	}
	if err != nil { // a stolen key is revoked without a service too
		a.say("note: the jobs are not shown: %s", api.Wrap(err).Message)
	}
	if !yes {
		a.say("%s of %s approved: %s", found.KeyID, found.Principal, jobNames(found.Jobs))
		if err := a.yesTo("Revoke it?", "not revoked"); err != nil {
			return err
		}
	}
	if err := revoke(site, signer); err != nil {
		return err
	}
	found.Revoked = true
	if cancel {
		if found.Canceled, err = a.cancelAll(ctx, running); err != nil {
			return err
		}
	}
	return a.printImpact(found)
}

// yesTo asks a person, who must be there.
func (a *App) yesTo(question, otherwise string) error {
	ok, err := a.UI.Confirm(question)
	if err != nil {
		return needFlag("--yes", "nobody is there to say yes")
	}
	if !ok {
		return ownError(codeUnanswered, jobspec.ClassOther, "", "%s", otherwise)
	}
	return nil
}

// trustFiles reads both trust files as they are.
func trustFiles(site Site) (signers, revoked []byte, err error) {
	dirs := site.Dirs()
	limits := safefile.Options{MaxBytes: maxSigners, UID: dirs.UID}
	if signers, err = safefile.Read(dirs.AllowedSigners(), limits); err == nil {
		revoked, err = safefile.Read(dirs.RevokedKeys(), limits)
	}
	return signers, revoked, err
}

// revoke adds the key to revoked_keys, which is written anew as a whole. A file that
// would not be read afterwards is not written.
func revoke(site Site, s signing.Signer) error {
	signers, old, err := trustFiles(site)
	if err != nil {
		return err
	}
	if len(old) > 0 && old[len(old)-1] != '\n' {
		old = append(old, '\n')
	}
	fresh := append(old, signing.FormatRevoked(s.Key)...)
	t, err := signing.ParseTrust(signers, fresh, signing.Algorithms{})
	if err != nil {
		return err
	}
	if !t.IsRevoked(s.Key) {
		return errors.New("the key would not be revoked by that file")
	}
	return ownFiles(safefile.Write(site.Dirs().RevokedKeys(), fresh, site.Dirs().ConfMode()))
}

// ownFiles says who may write the trust files.
func ownFiles(err error) error {
	if errors.Is(err, fs.ErrPermission) {
		return fileError(err, "the owner of the installation does this; in system mode that is root")
	}
	return err
}

// cancelAll ends runs. One that has ended meanwhile is no fault.
func (a *App) cancelAll(ctx context.Context, runs []string) (done []string, err error) {
	done = []string{}
	err = a.service(ctx, func(svc api.Service) error {
		for _, run := range runs {
			err := svc.Cancel(ctx, run)
			switch {
			case err == nil:
				done = append(done, run)
			case api.Wrap(err).ErrCode != jobspec.CodeRunUnknown:
				return fmt.Errorf("the key is revoked; run %s goes on: %w", run, err)
			}
		}
		return nil
	})
	return done, err
}

func (a *App) printImpact(found impact) error {
	if a.flags.json {
		return a.item("trust_impact", found)
	}
	a.line("%-10s %s", "principal", found.Principal)
	a.line("%-10s %s", "key_id", found.KeyID)
	state := "no"
	if found.Revoked {
		state = "yes"
	}
	a.line("%-10s %s", "revoked", state)
	a.line("%-10s %s", "jobs", jobNames(found.Jobs))
	if len(found.Canceled) > 0 {
		a.line("%-10s %s", "canceled", strings.Join(found.Canceled, " "))
	}
	return nil
}

func jobNames(jobs []jobspec.Name) string {
	if len(jobs) == 0 {
		return "none"
	}
	var all []string
	for _, j := range jobs {
		all = append(all, string(j))
	}
	return strings.Join(all, " ")
}
