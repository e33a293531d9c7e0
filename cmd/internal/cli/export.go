package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/sbxcron/sbxcron/cmd/internal/api"
	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/signing"
)

// exported is one op as audit export writes it.
type exported struct {
	Seq       int64             `json:"seq"`
	File      string            `json:"file"`
	Op        jobspec.Digest    `json:"op"`
	Principal jobspec.Principal `json:"principal"`
	KeyID     string            `json:"key_id"`
	Namespace string            `json:"namespace"`
	Revoked   bool              `json:"revoked"`
	Command   string            `json:"command"` // must succeed with stock ssh-keygen
}

// auditExport writes files that stock OpenSSH can check, and says how.
func (a *App) auditExport(ctx context.Context, dir string) error {
	return a.service(ctx, func(svc api.Service) error {
		ops, err := svc.Ops(ctx)
		if err != nil {
			return err
		}
		done, err := exportOps(dir, ops)
		if err != nil {
			return err
		}
		if a.flags.json {
			return a.items("audit_export", done)
		}
		for _, e := range done {
			if e.Revoked {
				a.line("# op %d: its key was revoked later, so -r revoked_keys is left out", e.Seq)
			}
			a.line("%s", e.Command)
		}
		a.say("%d ops written to %s", len(done), dir)
		return nil
	})
}

func exportOps(dir string, ops []api.OpFile) ([]exported, error) {
	if err := emptyFolder(dir); err != nil {
		return nil, err
	}
	if err := writeNew(filepath.Join(dir, signersFile), signersOf(ops), 0o644); err != nil {
		return nil, err
	}
	if err := writeNew(filepath.Join(dir, revokedFile), revokedOf(ops), 0o644); err != nil {
		return nil, err
	}
	var done []exported
	for _, op := range ops {
		name := fmt.Sprintf("op-%06d.json", op.Seq)
		file := filepath.Join(dir, name)
		if err := writeNew(file, op.Op, 0o644); err != nil {
			return nil, err
		}
		if err := writeNew(file+".sig", signing.Armor(op.Sig), 0o644); err != nil {
			return nil, err
		}
		done = append(done, exported{Seq: op.Seq, File: name, Op: jobspec.DigestOf(op.Op), Principal: op.Principal,
			KeyID: op.KeyID, Namespace: op.Namespace, Revoked: op.Revoked, Command: verifyCommand(dir, file, op)})
	}
	return done, nil
}

const (
	signersFile = "allowed_signers"
	revokedFile = "revoked_keys"
)

// verifyCommand is the line that must succeed. verify-time makes ssh-keygen
// judge the key as of when the op was made, so a key that expired since does not
// spoil history; Z means UTC (ssh-keygen(1)). A list of revoked keys has no
// times, so it is left out where the key was revoked later.
func verifyCommand(dir, file string, op api.OpFile) string {
	args := []string{"ssh-keygen", "-Y", "verify", "-f", filepath.Join(dir, signersFile),
		"-I", string(op.Principal), "-n", op.Namespace, "-s", file + ".sig",
		"-O", "verify-time=" + op.Created.Time().Format("20060102150405Z")}
	if !op.Revoked {
		args = append(args, "-r", filepath.Join(dir, revokedFile))
	}
	for i, arg := range args {
		args[i] = shellWord(arg)
	}
	return strings.Join(args, " ") + " < " + shellWord(file)
}

// signersOf gathers every line that ever vouched for an op, each once.
func signersOf(ops []api.OpFile) []byte {
	var b strings.Builder
	seen := map[string]bool{}
	for _, op := range ops {
		line := strings.TrimSuffix(op.Signer, "\n")
		if line != "" && !seen[line] {
			seen[line] = true
			b.WriteString(line + "\n")
		}
	}
	return []byte(b.String())
}

// revokedOf lists the keys of these ops that are revoked by now.
func revokedOf(ops []api.OpFile) []byte {
	var b strings.Builder
	seen := map[string]bool{}
	for _, op := range ops {
		key := strings.TrimSuffix(op.Key, "\n")
		if op.Revoked && key != "" && !seen[key] {
			seen[key] = true
			b.WriteString(key + "\n")
		}
	}
	return []byte(b.String())
}

// emptyFolder makes dir, or takes one that holds nothing: an export never mixes
// with another.
func emptyFolder(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fileError(err, "name a folder that can be made")
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fileError(err, "name a folder that you can read")
	}
	if len(entries) > 0 {
		return fileError(fmt.Errorf("folder %q is not empty", dir), "name a new folder")
	}
	return nil
}
