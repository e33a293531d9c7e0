package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sbxcron/sbxcron/cmd/internal/api"
	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/signing"
)

// newPlan holds the owner's commands once more, for keys that live elsewhere:
// they write the bytes that are to be signed and touch no key.
func newPlan(a *App) *cobra.Command {
	return group("plan", "Write the bytes of an op to a file, to be signed elsewhere (plan, sign, apply)",
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
		Short: "Sign a planned op; writes FILE.json.sig, as ssh-keygen -Y sign does",
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
// judged where the op is applied.
func (a *App) sign(ctx context.Context, o signOptions, file string) error {
	raw, err := readFile(file, jobspec.MaxOpBytes)
	if err != nil {
		return err
	}
	op, err := jobspec.DecodeOp(raw)
	if err != nil {
		return err
	}
	key := o.key
	if key == "" {
		site, err := a.Ports.Site(a.flags.root)
		if err != nil {
			return err
		}
		if key, err = chosenKey(site, o.keyFlags); err != nil {
			return err
		}
	}
	signer, err := a.openKey(ctx, key)
	if err != nil {
		return err
	}
	p := proposal{op: op, bytes: raw, namespace: o.namespace}
	if p.namespace == "" {
		p.namespace = ownNamespace(op)
	}
	if !a.flags.json {
		a.showProposal(p, owner{keyID: signer.KeyID(), signer: signer})
	}
	question := fmt.Sprintf("Sign with %s?", signer.KeyID())
	if err := a.confirmHere(o.yes, question, op); err != nil {
		return err
	}
	sig, err := signer.Sign(ctx, p.namespace, raw)
	if err != nil {
		return err
	}
	if err := writeNew(file+".sig", signing.Armor(sig), 0o644); err != nil {
		return err
	}
	if a.flags.json {
		return a.item("sign", signed{Op: p.digest(), File: file + ".sig", Namespace: p.namespace, KeyID: signer.KeyID()})
	}
	a.line("%s.sig", file)
	return nil
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
		Short: "Put a signed op in force",
		Args:  cobra.ExactArgs(2),
		RunE:  work(func(ctx context.Context, args []string) error { return a.apply(ctx, args[0], args[1]) }),
	}
}

const maxSigFile = 64 << 10

func (a *App) apply(ctx context.Context, opFile, sigFile string) error {
	raw, err := readFile(opFile, jobspec.MaxOpBytes)
	if err != nil {
		return err
	}
	armored, err := readFile(sigFile, maxSigFile)
	if err != nil {
		return err
	}
	blob, err := signing.Dearmor(armored)
	if err != nil {
		return err
	}
	sig, err := signing.ParseSignature(blob)
	if err != nil {
		return err
	}
	if err := sig.Verify(raw); err != nil {
		return err
	}
	op, err := jobspec.DecodeOp(raw)
	if err != nil {
		return err
	}
	return a.service(ctx, func(svc api.Service) error {
		done, err := svc.Submit(ctx, api.Submission{Op: raw, Sig: blob})
		if err != nil {
			return applyError(err)
		}
		return a.printAccepted(string(op.Action), done)
	})
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
