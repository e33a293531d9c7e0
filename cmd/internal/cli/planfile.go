package cli

import (
	"bytes"
	"fmt"

	"github.com/sbxcron/sbxcron/cmd/internal/api"
	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/signing"
)

// A plan file holds the exact bytes of one op, or of several that extend the chain
// one after the other, with one line feed between two. Bytes of an op contain no
// line feed. Its signature file holds as many armored signatures in the same order,
// so that for a single op both files are what ssh-keygen -Y sign reads and writes.
const opSeparator = "\n"

// joinPlan are the bytes of a plan file.
func joinPlan(all []proposal) []byte {
	ops := make([][]byte, len(all))
	for i, p := range all {
		ops[i] = p.bytes
	}
	return bytes.Join(ops, []byte(opSeparator))
}

// readPlan reads the ops of a plan file, each for its own namespace.
func readPlan(file string) ([]proposal, error) {
	parts, err := planParts(file)
	if err != nil {
		return nil, err
	}
	return decodePlan(file, parts)
}

func planParts(file string) ([][]byte, error) {
	raw, err := readFile(file, api.MaxPlanBytes)
	if err != nil {
		return nil, err
	}
	parts := bytes.Split(raw, []byte(opSeparator))
	if len(parts) > api.MaxPlan {
		return nil, fileError(fmt.Errorf("read %q: %d ops, at most %d are in one plan", file, len(parts), api.MaxPlan), "plan fewer jobs at once")
	}
	return parts, nil
}

// decodePlan refuses ops that do not follow each other: nobody signs a chain with a
// hole in it.
func decodePlan(file string, parts [][]byte) ([]proposal, error) {
	var all []proposal
	for i, part := range parts {
		op, err := jobspec.DecodeOp(part)
		if err != nil {
			return nil, err
		}
		p := proposal{op: op, bytes: part, namespace: ownNamespace(op)}
		if i > 0 && !p.follows(all[i-1]) {
			return nil, fileError(fmt.Errorf("read %q: op %d does not follow op %d", file, i+1, i), "plan again; ops of two plans do not go into one file")
		}
		all = append(all, p)
	}
	return all, nil
}

func (p proposal) follows(before proposal) bool {
	return p.op.Host == before.op.Host && p.op.Seq == before.op.Seq+1 && p.op.Prev == before.digest()
}

// readSignatures reads as many armored signatures as there are ops, and holds each
// against the bytes in its place, before these are parsed.
func readSignatures(file string, ops [][]byte) ([]api.Submission, error) {
	text, err := readFile(file, int64(len(ops))*maxSigFile)
	if err != nil {
		return nil, err
	}
	blocks := cutArmor(text)
	if len(blocks) != len(ops) {
		return nil, ownError(jobspec.CodeSigInvalid, jobspec.ClassSignature, "sign the plan again: sbxcron sign writes one for each op",
			"read %q: %d signature(s) for %d op(s)", file, len(blocks), len(ops))
	}
	var all []api.Submission
	for i, block := range blocks {
		blob, err := signing.Dearmor(block)
		if err != nil {
			return nil, err
		}
		sig, err := signing.ParseSignature(blob)
		if err != nil {
			return nil, err
		}
		if err := sig.Verify(ops[i]); err != nil {
			return nil, err
		}
		all = append(all, api.Submission{Op: ops[i], Sig: blob})
	}
	return all, nil
}

// cutArmor cuts behind each last line of an armored signature. What is none is left
// in the piece where it stands, and refused there.
func cutArmor(text []byte) [][]byte {
	const last = "\n-----END SSH SIGNATURE-----"
	if len(text) == 0 {
		return [][]byte{text}
	}
	var blocks [][]byte
	for len(text) > 0 {
		end := bytes.Index(text, []byte(last))
		if end < 0 {
			return append(blocks, text)
		}
		end += len(last)
		if end < len(text) && text[end] == '\n' {
			end++
		}
		blocks, text = append(blocks, text[:end]), text[end:]
	}
	return blocks
}
