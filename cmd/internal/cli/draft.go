package cli

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/jobtoml"
)

// draftFlags are a job as flags. They fill the same Draft as job.toml does.
type draftFlags struct {
	file   string
	draft  jobspec.Draft
	tier   string
	net    string
	env    []string
	limits []string
	binds  []string

	credentials []string
	timeout     time.Duration
}

// besideFile are the flags that may stand beside -f: they are not about the job.
var besideFile = []string{"from", "key", "principal", "answer", "yes", "dry-run", "out", "suggest", "root", "json", "quiet"}

func (d *draftFlags) register(f *pflag.FlagSet) {
	j := &d.draft
	f.StringVarP(&d.file, "from", "f", "", "read the job from this job.toml; no other flag describes it then")
	f.StringVar(&j.Cron, "schedule", "", "five fields or an @name, in --timezone")
	f.Var(spanFlag{&j.Every}, "every", "instead: every so often, at least 1m")
	f.Var(instantFlag{&j.At}, "at", "instead: once, as 2026-12-24T18:00:00+01:00")
	f.Var(spanFlag{&j.Jitter}, "jitter", "shift each start by up to this much, always the same for one approval")
	f.StringVar(&j.Missed, "missed", "", "what becomes of slots that passed while nothing ran: skip, the default, or once, the newest of them")
	f.Var(spanFlag{&j.StartDeadline}, "start-deadline", "with --missed once: how late a slot may start; default half the distance of two slots, 2m to 2h")
	f.StringVar(&j.Overlap, "overlap", "", "what becomes of a slot while the job still runs: skip, the default, queue (one) or replace")
	f.Int64Var(&j.Retries, "retries", 0, "further attempts of a run that fails, at most 10; never after a denial")
	f.StringVar(&j.Timezone, "timezone", "", "IANA name; default: the machine's, else UTC")
	f.StringVar(&j.Cwd, "cwd", "", "folder that the job works in")
	f.StringVar(&d.tier, "tier", "", "scratch, read-only or workspace")
	f.StringVar(&d.net, "net", "", "none, or proxy: to the hosts of net.allow in a job.toml, and to none without one")
	f.Var(spanFlag{&d.timeout}, "timeout", "how long a run may take; default 15m")
	f.StringArrayVar(&d.env, "env", nil, "NAME=VALUE for the environment, which starts empty; may be repeated")
	f.StringArrayVar(&j.Files, "file", nil, "bind this file by digest, too; may be repeated")
	f.StringArrayVar(&j.Read, "read", nil, "a further path to read; may be repeated")
	f.StringArrayVar(&j.Write, "write", nil, "a further path to write, tier workspace; may be repeated")
	f.StringArrayVar(&j.Deny, "deny", nil, "a hole in what may be read or written; may be repeated")
	f.StringArrayVar(&d.binds, "bind", nil, "SOURCE:TARGET:ro or SOURCE:TARGET:rw, a host path shown elsewhere, as in ~/.app.toml; may be repeated")
	f.StringArrayVar(&d.credentials, "credential", nil, "NAME=file, 'NAME=path:~/PLACE' or NAME=env:VARIABLE, a secret by its name; may be repeated")
	f.StringVar(&j.Git, "git", "", "what a .git in a writable cwd is: read-only or commit")
	f.StringArrayVar(&j.MayCreate, "may-create", nil, "a protected name that the job may create in its folder; may be repeated")
	f.BoolVar(&j.StateDir, "state-dir", false, "give the job a folder of its own that survives runs, as $STATE_DIRECTORY")
	f.StringVar(&j.Stdin, "stdin", "", "text for standard input, signed with the job")
	f.StringVar(&j.RunAs, "run-as", "", "account to run as; system mode only")
	f.Var(spanFlag{&j.Expires}, "expires", "how long the approval holds; default 90d")
	f.StringVar(&j.Note, "note", "", "shown, never used")
	f.StringArrayVar(&d.limits, "limit", nil, "NAME=VALUE: "+limitNames()+"; may be repeated")
}

// read makes the draft, and the folder that its relative names begin at.
func (d *draftFlags) read(cmd *cobra.Command, args []string) (*jobspec.Draft, string, error) {
	return d.readNamed(cmd, args, "")
}

// readNamed takes otherwise for the name of a job that has none.
func (d *draftFlags) readNamed(cmd *cobra.Command, args []string, otherwise string) (*jobspec.Draft, string, error) {
	dash := cmd.ArgsLenAtDash()
	words, command := args, []string(nil)
	if dash >= 0 {
		words, command = args[:dash], args[dash:]
	}
	if d.file != "" {
		return d.readFile(cmd.Flags(), words, command)
	}
	if len(words) == 0 && otherwise != "" {
		words = []string{otherwise}
	}
	if len(words) != 1 {
		return nil, "", usageError("give one NAME, then flags, then -- and the command")
	}
	name, err := jobArg(words)
	if err != nil {
		return nil, "", err
	}
	d.draft.Name, d.draft.Command = name, command
	if err := d.parse(); err != nil {
		return nil, "", err
	}
	base, err := workingFolder()
	return &d.draft, base, err
}

// readFile takes the whole job from the file; a NAME beside it must agree.
func (d *draftFlags) readFile(f *pflag.FlagSet, words, command []string) (*jobspec.Draft, string, error) {
	var extra string
	f.Visit(func(fl *pflag.Flag) {
		if !slices.Contains(besideFile, fl.Name) {
			extra = fl.Name
		}
	})
	if extra != "" || len(command) > 0 {
		if extra == "" {
			return nil, "", usageError("a command after -- and -f do not go together")
		}
		return nil, "", usageError("--%s and -f do not go together: write it into the file", extra)
	}
	draft, base, err := readJobFile(d.file)
	if err != nil {
		return nil, "", err
	}
	if len(words) > 1 || len(words) == 1 && words[0] != string(draft.Name) {
		return nil, "", usageError("the file is about job %q, not %q", draft.Name, strings.Join(words, " "))
	}
	return draft, base, nil
}

// readJobFile reads a job.toml. Its relative names begin at its own folder.
func readJobFile(path string) (*jobspec.Draft, string, error) {
	raw, err := readFile(path, jobspec.MaxOpBytes)
	if err != nil {
		return nil, "", err
	}
	d, err := jobtoml.ReadJob(raw)
	if err != nil {
		return nil, "", fmt.Errorf("%q: %w", path, err)
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, "", fileError(err, "name the file by its whole path")
	}
	return d, filepath.Dir(abs), nil
}

// parse reads the flags that are more than text.
func (d *draftFlags) parse() error {
	if d.tier != "" {
		if err := d.draft.Tier.UnmarshalText([]byte(d.tier)); err != nil {
			return err
		}
	}
	if d.net != "" {
		if err := d.draft.Net.UnmarshalText([]byte(d.net)); err != nil {
			return err
		}
	}
	for _, e := range d.env {
		name, value, ok := strings.Cut(e, "=")
		if !ok || name == "" {
			return usageError("--env %q: want NAME=VALUE", e)
		}
		if d.draft.Env == nil {
			d.draft.Env = map[string]string{}
		}
		if _, twice := d.draft.Env[name]; twice {
			return usageError("--env %s is given twice", name)
		}
		d.draft.Env[name] = value
	}
	for _, b := range d.binds {
		bind, err := parseBind(b)
		if err != nil {
			return err
		}
		d.draft.Bind = append(d.draft.Bind, bind)
	}
	if err := d.parseCredentials(); err != nil {
		return err
	}
	for _, l := range d.limits {
		if err := setLimit(&d.draft.Limits, l); err != nil {
			return err
		}
	}
	if d.timeout != 0 {
		d.draft.Limits.TimeoutSeconds = int64(d.timeout / time.Second)
	}
	return nil
}

func (d *draftFlags) parseCredentials() error {
	for _, c := range d.credentials {
		name, as, ok := strings.Cut(c, "=")
		if !ok || name == "" || as == "" {
			return usageError("--credential %q: want NAME=file, NAME=path:~/PLACE or NAME=env:VARIABLE", c)
		}
		if strings.HasPrefix(as, "path:/") {
			return ownError(codeUsage, jobspec.ClassUsage, "quote it, since shells put your own home in place of ~: --credential '"+name+"=path:~/"+filepath.Base(as)+"'",
				"--credential %q: the place lies in the private home and begins with ~/", c)
		}
		d.draft.Credentials = append(d.draft.Credentials, jobspec.Credential{Name: name, As: as})
	}
	return nil
}

// parseBind reads SOURCE:TARGET:MODE. The mode is never guessed.
func parseBind(text string) (jobspec.Bind, error) {
	parts := strings.Split(text, ":")
	mode := parts[len(parts)-1]
	if mode != jobspec.BindRO && mode != jobspec.BindRW {
		return jobspec.Bind{}, &jobspec.FieldError{Reason: jobspec.CodeBindModeMissing, Field: "--bind",
			Detail: jobspec.Quote(text) + " does not end in :ro or :rw"}
	}
	if len(parts) != 3 || parts[0] == "" || parts[1] == "" {
		return jobspec.Bind{}, usageError("--bind %q: want SOURCE:TARGET:MODE; a path with a colon goes into a job.toml", text)
	}
	return jobspec.Bind{Source: parts[0], Target: parts[1], Mode: mode}, nil
}
