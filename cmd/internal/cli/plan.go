package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sbxcron/sbxcron/cmd/internal/api"
	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/signing"
	"github.com/sbxcron/sbxcron/signing/keysource"
)

// newPlan holds the owner's commands once more, for keys that live elsewhere:
// they write the bytes that are to be signed and touch no key.
func newPlan(a *App) *cobra.Command {
	return newPlanFolder(a,
		newAuthoring(a, jobspec.Add, true), newAuthoring(a, jobspec.Replace, true),
		newChange(a, jobspec.Remove, true, "Plan the removal of a job"),
		newChange(a, jobspec.Enable, true, "Plan to enable a job"),
		newChange(a, jobspec.Disable, true, "Plan to disable a job"))
}

// planned is what plan prints.
type planned struct {
	Op        jobspec.Digest `json:"op"`
	File      string         `json:"file"`
	Namespace string         `json:"namespace"`
	Command   string         `json:"command"` // signs it with stock ssh-keygen
}

func (a *App) writePlan(p proposal, file string) error {
	if err := writeNew(file, p.bytes, 0o644); err != nil {
		return err
	}
	done := planned{Op: p.digest(), File: file, Namespace: p.namespace,
		Command: fmt.Sprintf("ssh-keygen -Y sign -n %s -f KEY %s", p.namespace, shellWord(file))}
	if a.flags.json {
		return a.item("plan", done)
	}
	a.line("%s", done.Op)
	a.line("%s", done.Command)
	a.say("it must be applied before %s, and before any other op: sbxcron apply %s %s.sig", p.op.ApplyBefore, shellWord(file), shellWord(file))
	return nil
}

type signOptions struct {
	keyFlags
	namespace string
	yes       bool
}

func newSign(a *App) *cobra.Command {
	var o signOptions
	cmd := &cobra.Command{
		Use:   "sign FILE.json",
		Short: "Sign a plan, one op or several; writes FILE.json.sig, as ssh-keygen -Y sign does",
		Args:  cobra.ExactArgs(1),
		RunE:  work(func(ctx context.Context, args []string) error { return a.sign(ctx, o, args[0]) }),
	}
	f := cmd.Flags()
	f.StringVar(&o.key, "key", "", keyUsage)
	f.StringVar(&o.namespace, "namespace", "", "namespace of the signature, as plan printed it; default: what the op itself says")
	f.BoolVar(&o.yes, "yes", false, "do not ask before signing")
	return cmd
}

// sign works on the file alone: no service, no chain. Whether the key counts is
// judged where the ops are applied. All of them are shown before the one question,
// and the key is opened once.
func (a *App) sign(ctx context.Context, o signOptions, file string) error {
	all, err := readPlan(file)
	if err != nil {
		return err
	}
	if o.namespace != "" && len(all) > 1 {
		return usageError("--namespace: a plan of %d ops has a namespace for each", len(all))
	}
	all[0].namespace = cmp.Or(o.namespace, all[0].namespace)
	signer, err := a.planSigner(ctx, o.keyFlags)
	if err != nil {
		return err
	}
	if !a.flags.json {
		for _, p := range all {
			a.showProposal(p, owner{keyID: signer.KeyID(), signer: signer})
		}
	}
	question := fmt.Sprintf("Sign with %s?", signer.KeyID())
	if len(all) > 1 {
		question = fmt.Sprintf("Sign all %d ops with %s?", len(all), signer.KeyID())
	}
	if err := a.confirmHere(o.yes, question, opsIn(all)...); err != nil {
		return err
	}
	var sigs []byte
	for _, p := range all {
		sig, err := signer.Sign(ctx, p.namespace, p.bytes)
		if err != nil {
			return err
		}
		sigs = append(sigs, signing.Armor(sig)...)
	}
	if err := writeNew(file+".sig", sigs, 0o644); err != nil {
		return err
	}
	return a.printSigned(all, signer.KeyID(), file+".sig")
}

func (a *App) planSigner(ctx context.Context, k keyFlags) (keysource.Signer, error) {
	if k.key != "" {
		return a.openKey(ctx, k.key)
	}
	site, err := a.Ports.Site(a.flags.root)
	if err != nil {
		return nil, err
	}
	key, err := chosenKey(site, k)
	if err != nil {
		return nil, err
	}
	return a.openKey(ctx, key)
}

func opsIn(all []proposal) []*jobspec.Op {
	ops := make([]*jobspec.Op, len(all))
	for i, p := range all {
		ops[i] = p.op
	}
	return ops
}

func (a *App) printSigned(all []proposal, keyID, file string) error {
	if !a.flags.json {
		a.line("%s", file)
		return nil
	}
	docs := make([]signed, len(all))
	for i, p := range all {
		docs[i] = signed{Op: p.digest(), File: file, Namespace: p.namespace, KeyID: keyID}
	}
	if len(docs) == 1 {
		return a.item("sign", docs[0])
	}
	return a.items("sign", docs)
}

type signed struct {
	Op        jobspec.Digest `json:"op"`
	File      string         `json:"file"`
	Namespace string         `json:"namespace"`
	KeyID     string         `json:"key_id"`
}

// ownNamespace is the namespace of an op about one's own job. To manage a job of
// another, plan prints another one, which sign takes with --namespace.
func ownNamespace(op *jobspec.Op) string {
	switch op.Action {
	case jobspec.Genesis:
		return jobspec.RootNamespace
	case jobspec.Add, jobspec.Replace, jobspec.Enable:
		return jobspec.JobNamespace(op.Tier, op.Net)
	default:
		return jobspec.ManageNamespace
	}
}

func newApply(a *App) *cobra.Command {
	return &cobra.Command{
		Use:   "apply FILE.json FILE.json.sig",
		Short: "Put a signed plan in force: all of its ops or none",
		Args:  cobra.ExactArgs(2),
		RunE:  work(func(ctx context.Context, args []string) error { return a.apply(ctx, args[0], args[1]) }),
	}
}

const maxSigFile = 64 << 10

func (a *App) apply(ctx context.Context, opFile, sigFile string) error {
	parts, err := planParts(opFile)
	if err != nil {
		return err
	}
	subs, err := readSignatures(sigFile, parts)
	if err != nil {
		return err
	}
	all, err := decodePlan(opFile, parts)
	if err != nil {
		return err
	}
	return a.service(ctx, func(svc api.Service) error {
		if len(all) > 1 {
			return a.applyAll(ctx, svc, all, subs)
		}
		done, err := svc.Submit(ctx, subs[0])
		if err != nil {
			return applyError(err)
		}
		return a.printAccepted(string(all[0].op.Action), done)
	})
}

// applyAll puts all ops in force or none. Where no answer came, or the disk failed
// between two commits, the head tells which of them stand.
func (a *App) applyAll(ctx context.Context, svc api.Service, all []proposal, subs []api.Submission) error {
	done, err := svc.SubmitAll(ctx, subs)
	if err != nil {
		e := *api.Wrap(applyError(err))
		e.Message = standing(ctx, svc, all) + ": " + e.Message
		return &e
	}
	if a.flags.json {
		return a.items("apply", done)
	}
	t := a.UI.Table("ACTION", "JOB", "REVISION", "SEQ", "OP", "NEXT")
	for i, d := range done {
		t.Row(string(all[i].op.Action), string(d.Job), fmt.Sprint(d.Revision), fmt.Sprint(d.Seq), d.Op.String(), a.UI.Time(d.Next, a.Now()))
	}
	_, err = t.WriteTo(a.UI.Out)
	return err
}

// standing says how many ops of a plan are in force, as the chain has it now.
func standing(ctx context.Context, svc api.Service, all []proposal) string {
	head, err := svc.Head(ctx)
	if err != nil {
		return "nobody can say which of the ops are in force"
	}
	for i, p := range all {
		if head.Prev == p.digest() {
			return fmt.Sprintf("the first %d of %d ops are in force", i+1, len(all))
		}
	}
	return fmt.Sprintf("none of the %d ops was put in force", len(all))
}

// applyError is submitError where the command alone would not help: the file
// stays what it is.
func applyError(err error) error {
	e := *api.Wrap(err)
	if e.ErrCode == jobspec.CodeHeadMoved || e.ErrCode == jobspec.CodeSeqInvalid {
		e.Help = "another op came first, or this one is in force already (see show and list); else plan and sign it again"
	}
	return &e
}

// readFile reads a file that the caller named, whole and bounded.
func readFile(path string, limit int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fileError(err, "name a file that you can read")
	}
	defer f.Close()
	raw, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, fileError(fmt.Errorf("read %q: %w", path, err), "name a file that you can read")
	}
	if int64(len(raw)) > limit {
		return nil, fileError(fmt.Errorf("read %q: longer than %d bytes", path, limit), "name another file")
	}
	return raw, nil
}

// writeNew writes a file that must not exist: what was signed is never
// overwritten.
func writeNew(path string, data []byte, mode os.FileMode) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return fileError(err, "name a file that does not exist yet")
	}
	_, err = f.Write(data)
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return fileError(fmt.Errorf("write %q: %w", path, err), "")
	}
	return nil
}

// shellWord quotes a word for sh, where it needs that.
func shellWord(s string) string {
	const safe = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:@%+=,-"
	if s != "" && strings.Trim(s, safe) == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
