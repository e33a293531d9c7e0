package cli

import (
	"context"

	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/signing/keysource"
	"github.com/sbxcron/sbxcron/store"
)

type initOptions struct {
	principal    string
	key          string
	newKey       string
	noPassphrase bool
	runAs, users []string
	resume       bool
}

func newInit(a *App) *cobra.Command {
	var o initOptions
	cmd := &cobra.Command{
		Use:   "init --principal NAME (--key FILE | --new-key FILE)",
		Short: "Make an installation: folders, trust files, policy, and the signed beginning of the chain",
		Long: `Make an installation. The owner's key signs the first op, which names this host and
its audit key; the digest that is printed as genesis is what an auditor brings to
judge everything later, so keep it where this machine cannot change it.`,
		Args: cobra.NoArgs,
		RunE: work(func(ctx context.Context, _ []string) error { return a.init(ctx, o) }),
	}
	f := cmd.Flags()
	f.StringVar(&o.principal, "principal", "", "name of the owner, as it will stand in allowed_signers")
	f.StringVar(&o.key, "key", "", "private key file, or .pub file or SHA256:... of a key in ssh-agent")
	f.StringVar(&o.newKey, "new-key", "", "make a new ed25519 key in this file")
	f.BoolVar(&o.noPassphrase, "no-passphrase", false, "with --new-key: no passphrase; whoever reads the file can sign")
	f.StringArrayVar(&o.runAs, "run-as", nil, "system mode: account that the owner's jobs may run as; may be repeated")
	f.StringArrayVar(&o.users, "user", nil, "system mode: account that may see and run the owner's jobs; may be repeated")
	f.BoolVar(&o.resume, "resume", false, "go on with an init that was interrupted")
	return cmd
}

func (a *App) init(ctx context.Context, o initOptions) error {
	principal, err := o.check()
	if err != nil {
		return err
	}
	dirs, err := a.Ports.Folders(a.flags.root)
	if err != nil {
		return err
	}
	if !dirs.System() && len(o.runAs)+len(o.users) > 0 {
		return usageError("--run-as and --user are for system mode; jobs of an ordinary user run as that user")
	}
	left, err := findLeftovers(dirs, o.resume)
	if err != nil {
		return err
	}
	signer, err := a.initKey(ctx, &o, left)
	if err != nil {
		return err
	}
	i := installation{dirs: dirs, principal: principal, signer: signer, keyRef: o.key, runAs: o.runAs, users: o.users, now: a.Now()}
	done, err := i.make(ctx, left)
	if err != nil {
		return err
	}
	a.protectReceipts(dirs)
	return a.printInstalled(done)
}

// protectReceipts sets the flag that lets nobody take a receipt back, where root
// makes an installation in the system's own folders. One below --root must be easy
// to throw away.
func (a *App) protectReceipts(dirs store.Dirs) {
	if !dirs.System() || a.flags.root != "" {
		return
	}
	if err := store.ProtectReceipts(dirs); err != nil {
		a.say("note: receipts of checkpoints are not append-only: %s", err)
	}
}

func (o initOptions) check() (jobspec.Principal, error) {
	switch {
	case o.principal == "":
		return "", usageError("--principal NAME: say who owns the jobs")
	case (o.key == "") == (o.newKey == ""):
		return "", usageError("give one of --key and --new-key")
	case o.noPassphrase && o.newKey == "":
		return "", usageError("--no-passphrase goes with --new-key")
	}
	principal, err := jobspec.ParsePrincipal(o.principal)
	if err != nil {
		return "", usageError("%s", err)
	}
	return principal, nil
}

// initKey opens the key, or makes it. From here on o.key names it.
func (a *App) initKey(ctx context.Context, o *initOptions, left leftovers) (keysource.Signer, error) {
	var secret []byte // of a key that was made just now: nobody is asked for it twice
	if o.newKey != "" {
		var err error
		if secret, err = a.makeKey(*o, left); err != nil {
			return nil, err
		}
		o.key = o.newKey
	}
	if !strings.HasPrefix(o.key, "SHA256:") {
		abs, err := filepath.Abs(o.key)
		if err != nil {
			return nil, fileError(err, "name the key by its whole path")
		}
		o.key = abs
	}
	ask := a.askPassphrase
	if secret != nil {
		ask = func(context.Context, string, int) ([]byte, error) { return secret, nil }
	}
	return a.Ports.Key(ctx, keysource.Source{Key: o.key, AgentSocket: a.Getenv("SSH_AUTH_SOCK"), Passphrase: ask})
}

// makeKey writes a new key and returns its passphrase, nil without one. A
// resumed init takes the key that it made before.
func (a *App) makeKey(o initOptions, left leftovers) ([]byte, error) {
	if _, err := os.Lstat(o.newKey); err == nil && left.any {
		return nil, nil
	}
	var secret []byte
	if !o.noPassphrase {
		var err error
		if secret, err = a.newPassphrase(); err != nil {
			return nil, err
		}
	}
	if _, err := keysource.Generate(o.newKey, o.principal+"@sbxcron", secret); err != nil {
		clear(secret)
		return nil, err
	}
	return secret, nil
}

// newPassphrase asks twice. An empty one is not taken for "none": that is said
// with a flag.
func (a *App) newPassphrase() ([]byte, error) {
	first, err := a.UI.Passphrase("Passphrase for the new key: ")
	if err != nil {
		return nil, needFlag("--no-passphrase, or run this on a terminal", "a passphrase for the new key cannot be asked for: %s", err)
	}
	if len(first) == 0 {
		return nil, needFlag("--no-passphrase", "an empty passphrase was typed")
	}
	second, err := a.UI.Passphrase("Once more: ")
	if err != nil {
		return nil, err
	}
	defer clear(second)
	if string(first) != string(second) {
		return nil, ownError(codeNotConfirmed, jobspec.ClassOther, "run the command again", "the two passphrases differ; no key was made")
	}
	return first, nil
}

// installed is what init prints.
type installed struct {
	Host      jobspec.HostID    `json:"host"`
	Principal jobspec.Principal `json:"principal"`
	KeyID     string            `json:"key_id"`
	Genesis   jobspec.Digest    `json:"genesis"`
	Conf      string            `json:"conf"`
	State     string            `json:"state"`
	Run       string            `json:"run"`
}

func (a *App) printInstalled(d installed) error {
	if a.flags.json {
		return a.item("init", d)
	}
	a.field("host", string(d.Host))
	a.field("principal", string(d.Principal))
	a.field("key_id", d.KeyID)
	a.field("genesis", d.Genesis.String())
	a.field("conf", d.Conf)
	a.field("state", d.State)
	a.say("keep the genesis digest on another machine: it is what an auditor judges this one by")
	return nil
}

// leftovers are what an earlier init left behind.
type leftovers struct {
	any     bool         // there is something: files may be written over
	genesis *store.Entry // signed and stored, and not pinned yet
}

// findLeftovers refuses to touch an installation, and to go on with an
// interrupted init unasked. What was in use is never taken for interrupted: a
// ledger is only written by a service.
func findLeftovers(d store.Dirs, resume bool) (leftovers, error) {
	if exists(d.Pin()) {
		return leftovers{}, ownError(codeInstalled, jobspec.ClassConflict, "use it; or name another folder with --root",
			"%q holds an installation already", d.Conf)
	}
	if !exists(d.Host()) && !exists(d.ChainDB()) {
		return leftovers{}, nothingWritten(d)
	}
	if exists(d.LedgerDir()) {
		return leftovers{}, ownError(jobspec.CodePinMissing, jobspec.CodePinMissing.Class(), jobspec.CodePinMissing.Remedy(),
			"%q was in use, and its pin is gone: this was no interrupted init", d.Conf)
	}
	if !resume {
		return leftovers{}, ownError(jobspec.CodeInitIncomplete, jobspec.CodeInitIncomplete.Class(),
			"go on with the same command and --resume", "an earlier init in %q was interrupted", d.Conf)
	}
	e, found, err := store.UnpinnedGenesis(d)
	if err != nil {
		return leftovers{}, err
	}
	left := leftovers{any: true}
	if found {
		left.genesis = &e
	}
	return left, nil
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// nothingWritten refuses to begin beside files that somebody has put there: init
// would have to write over them.
func nothingWritten(d store.Dirs) error {
	for _, path := range []string{d.AllowedSigners(), d.RevokedKeys(), d.Policy()} {
		if exists(path) {
			return ownError(codeInstalled, jobspec.ClassConflict, "move it away; init writes its own, which you can edit then", "%q is there already", path)
		}
	}
	return nil
}
