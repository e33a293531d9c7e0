package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/sbxcron/sbxcron/cmd/internal/api"
	"github.com/sbxcron/sbxcron/cmd/internal/evidence"
	"github.com/sbxcron/sbxcron/jobspec"
)

const (
	proofSchema   = "sbxcron.proof/v1"
	maxProofBytes = 64 << 20 // a full one has a checkpoint for each day
)

// proofDocument is the file that audit prove writes.
type proofDocument struct {
	Schema string    `json:"schema"`
	Item   api.Proof `json:"item"`
}

func newAuditProve(a *App) *cobra.Command {
	var q api.ProofQuery
	var kept string
	c := &cobra.Command{
		Use:   "prove RUN",
		Short: "Write a proof of how one run ended, to be checked without this machine",
		Long: `Write, to standard output, the last line of a run, the hashes that lead from it to
the root of the newest checkpoint, that checkpoint, and the op with its signature.

With --checkpoint the proof is made in the tree of a checkpoint that the auditor keeps
(as audit follow writes it), which then needs no other anchor. With --full it also
holds the line of the start, genesis, the list of signers of that time and the last
checkpoint of each epoch, so that the digest of genesis is enough.`,
		Args: cobra.ExactArgs(1),
		RunE: work(func(ctx context.Context, args []string) error {
			q.Run = args[0]
			if kept != "" {
				note, err := readFile(kept, maxCheckpoint)
				if err != nil {
					return err
				}
				q.Checkpoint = string(note)
			}
			return a.auditProve(ctx, q)
		}),
	}
	c.Flags().StringVar(&kept, "checkpoint", "", "file with the signed checkpoint to prove it in; else the newest")
	c.Flags().BoolVar(&q.Full, "full", false, "with all that leads from genesis to it")
	return c
}

func (a *App) auditProve(ctx context.Context, q api.ProofQuery) error {
	return a.service(ctx, func(svc api.Service) error {
		p, err := svc.Prove(ctx, q)
		if err != nil {
			return err
		}
		var b bytes.Buffer
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false)
		if err := e.Encode(proofDocument{proofSchema, p}); err != nil {
			return fmt.Errorf("encode proof: %w", err)
		}
		_, err = a.UI.Out.Write(b.Bytes())
		return err
	})
}

func newAuditCheck(a *App) *cobra.Command {
	var brought anchorFlags
	c := &cobra.Command{
		Use:   "check FILE",
		Short: "Check a proof that audit prove made, anywhere",
		Long: `Check the proof of a run without the machine, a service or a network. Two verdicts
are given, each pass, fail or not_checked:

  authentic   the op was signed by a key that you trust
  intact      the lines of the run stand under a checkpoint that you trust

You bring a checkpoint that you keep and a list of signers, or for a full proof the
digest of genesis.

Exit status: 0 both pass; 20 one fails; 3 one could not be checked.`,
		Args: cobra.ExactArgs(1),
		RunE: work(func(_ context.Context, args []string) error { return a.auditCheck(args[0], brought) }),
	}
	brought.bind(c)
	return c
}

func (a *App) auditCheck(path string, f anchorFlags) error {
	anchor, err := f.anchor()
	if err != nil {
		return err
	}
	raw, err := readFile(path, maxProofBytes)
	if err != nil {
		return err
	}
	var doc proofDocument
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(&doc); err != nil || doc.Schema != proofSchema || d.More() {
		return fileError(fmt.Errorf("%q is no proof (schema %q, %v)", path, doc.Schema, err), "make one with sbxcron audit prove RUN")
	}
	v := evidence.CheckProof(&doc.Item, anchor)
	if a.flags.json {
		err = a.item("audit_check", v)
	} else {
		a.printChecked(v)
	}
	if err != nil {
		return err
	}
	switch {
	case v.Authentic == api.Fail || v.Intact == api.Fail:
		return exitStatus(jobspec.ClassAudit.Exit())
	case v.Authentic != api.Pass || v.Intact != api.Pass:
		return exitStatus(jobspec.ClassProblems.Exit())
	}
	return nil
}

func (a *App) printChecked(v api.Checked) {
	for _, row := range [][2]string{{"run", v.Run}, {"job", string(v.Job)}, {"slot", v.Slot}, {"outcome", v.Outcome}, {"op", v.Op.String()}, {"signed by", v.Principal}} {
		a.line("%-10s %s", row[0], row[1])
	}
	a.line("%-10s %-12s %s", "authentic", spaced(v.Authentic), "who signed the op")
	a.line("%-10s %-12s %s", "intact", spaced(v.Intact), "whether its lines stand under a checkpoint that you trust")
	for _, p := range v.Problems {
		a.line("problem: %s: %s: %s", p.Code, p.Where, p.Detail)
	}
}

// spaced is a verdict in words.
func spaced(verdict string) string {
	if verdict == api.NotChecked {
		return "not checked"
	}
	return verdict
}
