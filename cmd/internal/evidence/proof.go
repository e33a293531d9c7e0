package evidence

import (
	"fmt"

	"github.com/sbxcron/sbxcron/cmd/internal/api"
	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/record"
	"github.com/sbxcron/sbxcron/signing"
	"github.com/sbxcron/sbxcron/store"
	"github.com/sbxcron/sbxcron/store/checkpoint"
	"github.com/sbxcron/sbxcron/store/merkle"
)

// proofCheck is a proof on its way to a verdict.
type proofCheck struct {
	judgement
	p       *api.Proof
	anchor  Anchor
	op      chainOp
	out     api.Checked
	trusted map[jobspec.Digest]bool // lists of signers that a vouched line or genesis names
	vouched bool                    // the checkpoint is one that the anchor leads to
}

// CheckProof says what a proof shows, by what the auditor brings: a checkpoint that
// he keeps, a list of signers, or the digest of genesis where the proof is a full one.
func CheckProof(p *api.Proof, anchor Anchor) api.Checked {
	c := &proofCheck{p: p, anchor: anchor, trusted: map[jobspec.Digest]bool{}}
	c.Problems = []api.Problem{}
	c.out.Run = p.Run
	genesis := c.genesis()
	point, err := c.point(genesis)
	if err != nil {
		c.against(intact, jobspec.CodeOr(err, jobspec.CodeCheckpointInvalid), "checkpoint", "%v", err)
	} else {
		c.checked[intact] = c.vouched
		c.out.AsOf = point.Time
		c.lines(point)
	}
	c.signature()
	c.out.Authentic, c.out.Intact, c.out.Problems = c.verdict(authentic), c.verdict(intact), c.Problems
	return c.out
}

// genesis is op 0 of a full proof, if it is the one that the auditor means.
func (c *proofCheck) genesis() *jobspec.Op {
	if c.anchor.Genesis.IsZero() || c.p.Genesis == "" {
		return nil
	}
	raw := []byte(c.p.Genesis)
	if d := jobspec.DigestOf(raw); d != c.anchor.Genesis {
		c.against(authentic, jobspec.CodeHostMismatch, opName(0), "its digest is %s, and the genesis that you named is %s", d, c.anchor.Genesis)
		return nil
	}
	op, err := jobspec.DecodeOp(raw)
	if err != nil || op.Root == nil {
		c.against(authentic, jobspec.CodeOpTampered, opName(0), "it is no genesis")
		return nil
	}
	c.trusted[op.Root.AllowedSigners] = true
	return op
}

// point is the checkpoint, and whether the anchor leads to it.
func (c *proofCheck) point(genesis *jobspec.Op) (checkpoint.Checkpoint, error) {
	for _, w := range c.anchor.Checkpoints {
		c.vouched = c.vouched || w.Note == c.p.Checkpoint
	}
	if !c.vouched && genesis == nil && len(c.anchor.Checkpoints) > 0 {
		c.doubt(intact, jobspec.CodeCheckpointInvalid, "checkpoint", "the proof is made in another one than you brought; make it with audit prove --checkpoint")
	}
	if c.vouched || genesis == nil {
		return checkpoint.Unverified(c.p.Checkpoint)
	}
	keys, err := checkpoint.NewKeys(genesis.Root.AuditKey)
	if err != nil {
		return checkpoint.Checkpoint{}, err
	}
	for _, end := range c.p.Epochs {
		if _, err := keys.End(end); err != nil {
			return checkpoint.Checkpoint{}, err
		}
	}
	point, err := keys.Open(c.p.Checkpoint)
	c.vouched = err == nil
	return point, err
}

// lines holds each line against the root, and against the run that it is of.
func (c *proofCheck) lines(point checkpoint.Checkpoint) {
	if len(c.p.Lines) == 0 {
		c.against(intact, jobspec.CodeRunUnknown, "lines", "there is none")
	}
	for _, l := range c.p.Lines {
		where := fmt.Sprintf("leaf %d", l.Index)
		hashes, err := hashesOf(l.Proof)
		if err == nil {
			err = merkle.CheckInclusion(hashes, point.Size, point.Root, l.Index, merkle.LeafHash([]byte(l.Line)))
		}
		if err != nil {
			c.against(intact, jobspec.CodeLedgerTampered, where, "%v", err)
			continue
		}
		leaf, err := record.Decode([]byte(l.Line))
		switch {
		case err != nil:
			c.against(intact, jobspec.CodeStoreCorrupt, where, "%v", err)
		case leaf.Run != c.p.Run || checkpoint.Origin(leaf.Host) != point.Origin:
			c.against(intact, jobspec.CodeRunUnknown, where, "it is about run %q of host %q", leaf.Run, leaf.Host)
		default:
			c.leaf(where, leaf)
		}
	}
}

func (c *proofCheck) leaf(where string, leaf *record.Leaf) {
	if d := jobspec.DigestOf([]byte(c.p.Op.Op)); leaf.Op != d {
		c.against(intact, jobspec.CodeOpTampered, where, "it names the op %s, and the one beside it is %s", leaf.Op, d)
	}
	if c.vouched && !leaf.Trust.IsZero() {
		c.trusted[leaf.Trust] = true
	}
	c.out.Job, c.out.Op = leaf.Job, leaf.Op
	if leaf.Slot != nil {
		c.out.Slot = leaf.Slot.String()
	}
	if leaf.Final() {
		c.out.Outcome = string(leaf.Outcome)
	}
}

func hashesOf(b []byte) ([]merkle.Hash, error) {
	if len(b)%merkle.HashBytes != 0 {
		return nil, fmt.Errorf("a proof of %d bytes", len(b))
	}
	var all []merkle.Hash
	for ; len(b) > 0; b = b[merkle.HashBytes:] {
		all = append(all, merkle.Hash(b[:merkle.HashBytes]))
	}
	return all, nil
}

// signature says who signed the op.
func (c *proofCheck) signature() {
	op, err := jobspec.DecodeOp([]byte(c.p.Op.Op))
	if err != nil {
		c.against(authentic, jobspec.CodeOpTampered, "op", "%v", err)
		return
	}
	c.op = chainOp{Entry: store.Entry{Seq: op.Seq, Op: []byte(c.p.Op.Op)}, op: op, namespace: jobspec.JobNamespace(op.Tier, op.Net)}
	for _, armour := range c.p.Op.Sigs {
		sig, err := signing.Dearmor([]byte(armour))
		if err != nil {
			c.against(authentic, jobspec.CodeOf(err), opName(op.Seq), "%v", err)
			return
		}
		c.op.Sigs = append(c.op.Sigs, sig)
	}
	lists := c.lists()
	if len(lists) == 0 {
		return
	}
	c.checked[authentic] = true
	c.out.Principal = string(op.Principal)
	judgeOp(&c.judgement, c.op, lists, nil)
}

// lists are the signers that count: those that were brought, or those that a line
// under a checkpoint which somebody vouches for, or genesis, names.
func (c *proofCheck) lists() []*signing.Trust {
	file := c.anchor.Signers
	if len(file) == 0 && c.p.Signers != "" && c.trusted[jobspec.DigestOf([]byte(c.p.Signers))] {
		file = []byte(c.p.Signers)
	}
	if len(file) == 0 {
		return nil
	}
	t, err := signing.ParseTrust(file, []byte{}, every)
	if err != nil {
		c.against(authentic, jobspec.CodeOf(err), "signers", "%v", err)
		return nil
	}
	return []*signing.Trust{t}
}
