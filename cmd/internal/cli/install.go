package cli

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/sbxcron/sbxcron/cmd/internal/config"
	"github.com/sbxcron/sbxcron/cmd/internal/retell"
	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/jobtoml"
	"github.com/sbxcron/sbxcron/signing"
	"github.com/sbxcron/sbxcron/signing/auditkey"
	"github.com/sbxcron/sbxcron/signing/keysource"
	"github.com/sbxcron/sbxcron/store"
	"github.com/sbxcron/sbxcron/store/safefile"
)

// keyValidity is how long the owner's first line of allowed_signers holds.
const keyValidity = 366 * 24 * time.Hour

// installation is what init makes. The order of its steps lets a crash at any of
// them be told from an installation in use: host is written first and the pin
// last, and genesis is signed before anything is written that names it.
type installation struct {
	dirs      store.Dirs
	principal jobspec.Principal
	signer    keysource.Signer
	keyRef    string
	runAs     []string
	users     []string
	policy    []byte // nil: the usual first policy
	now       time.Time
}

// make does all that is left to do.
func (i installation) make(ctx context.Context, left leftovers) (installed, error) {
	if err := i.dirs.Make(); err != nil {
		return installed{}, err
	}
	lock, err := store.TryLock(i.dirs, store.LockWait)
	if err != nil {
		return installed{}, err
	}
	defer lock.Close()
	genesis := left.genesis
	if genesis == nil {
		e, err := i.prepare(ctx, left.any)
		if err != nil {
			return installed{}, err
		}
		genesis = &e
	}
	op, err := i.ownGenesis(genesis)
	if err != nil {
		return installed{}, err
	}
	w, err := store.Begin(i.dirs, lock, store.RealDisk{}, genesis.Op, genesis.Sigs[0], i.now, 1)
	if err != nil {
		return installed{}, err
	}
	if err := w.Close(); err != nil {
		return installed{}, err
	}
	return installed{Host: op.Host, Principal: op.Principal, KeyID: i.signer.KeyID(), Genesis: jobspec.DigestOf(genesis.Op),
		Conf: i.dirs.Conf, State: i.dirs.State, Run: i.dirs.Run}, nil
}

// ownGenesis refuses to pin, on resuming, what another key has begun.
func (i installation) ownGenesis(e *store.Entry) (*jobspec.Op, error) {
	op, err := jobspec.DecodeOp(e.Op)
	if err != nil {
		return nil, err
	}
	if len(e.Sigs) != 1 {
		return nil, fmt.Errorf("genesis: %d signatures, want one", len(e.Sigs))
	}
	sig, err := signing.ParseSignature(e.Sigs[0])
	if err != nil {
		return nil, err
	}
	if err := sig.Verify(e.Op); err != nil {
		return nil, err
	}
	if op.Principal != i.principal || sig.KeyID() != i.signer.KeyID() || sig.Namespace != jobspec.RootNamespace {
		return nil, ownError(jobspec.CodeInitIncomplete, jobspec.CodeInitIncomplete.Class(), "resume with that principal and key",
			"this installation was begun by %q with another key", op.Principal)
	}
	return op, nil
}

// prepare signs genesis and then writes CONF. Until the signature is there,
// nothing tells of an installation, so a passphrase that is not known leaves
// nothing to resume.
func (i installation) prepare(ctx context.Context, again bool) (store.Entry, error) {
	host, err := newHostID()
	if err != nil {
		return store.Entry{}, err
	}
	allowed, err := i.allowedSigners()
	if err != nil {
		return store.Entry{}, err
	}
	// An audit key without genesis has certified nothing.
	if err := os.Remove(i.dirs.AuditKey()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return store.Entry{}, fmt.Errorf("remove unused audit key: %w", err)
	}
	audit, err := auditkey.Create(i.dirs.AuditKey(), "sbxcron-"+string(host))
	if err != nil {
		return store.Entry{}, err
	}
	created := jobspec.InstantOf(i.now)
	op := &jobspec.Op{Type: jobspec.OpType, Host: host, Action: jobspec.Genesis, Created: created,
		ApplyBefore: created.Add(jobspec.DefaultApplyFor), Principal: i.principal,
		Root: &jobspec.GenesisBody{AuditKey: audit, AllowedSigners: jobspec.DigestOf(allowed), RevokedKeys: jobspec.DigestOf(nil)}}
	raw, err := op.Encode()
	if err != nil {
		return store.Entry{}, err
	}
	sig, err := i.signer.Sign(ctx, jobspec.RootNamespace, raw)
	if err != nil {
		return store.Entry{}, errors.Join(err, os.Remove(i.dirs.AuditKey()))
	}
	if err := i.writeConf(host, allowed, again); err != nil {
		return store.Entry{}, err
	}
	_, err = store.KeepTrust(i.dirs, store.AllowedSigners, allowed) // genesis is verified by it for ever
	return store.Entry{Op: raw, Sigs: [][]byte{sig}}, err
}

// writeConf writes the files of CONF, host first. What an administrator has put
// there before is not written over.
func (i installation) writeConf(host jobspec.HostID, allowed []byte, again bool) error {
	policy := i.policy
	if policy == nil {
		policy = jobtoml.WritePolicy(jobtoml.NewPolicy{Principal: i.principal, RunAs: i.runAs, Users: i.users})
	}
	write := safefile.Create
	if again {
		write = safefile.Write
	}
	for _, f := range []struct {
		path string
		data []byte
		mode fs.FileMode
	}{
		{i.dirs.Host(), []byte(host + "\n"), i.dirs.ConfMode()},
		{i.dirs.AllowedSigners(), allowed, i.dirs.ConfMode()},
		{i.dirs.RevokedKeys(), nil, i.dirs.ConfMode()},
		{i.dirs.Policy(), policy, i.dirs.ConfMode()},
		{config.KeyFile(i.dirs), []byte(i.keyRef + "\n"), 0o600},
	} {
		if err := write(f.path, f.data, f.mode); err != nil {
			return err
		}
	}
	return nil
}

// allowedSigners gives the owner every namespace, that of reports too, for a year.
func (i installation) allowedSigners() ([]byte, error) {
	line, err := signing.FormatSigner(signing.Signer{
		Principal: string(i.principal), Key: i.signer.Public(),
		Namespaces:  append([]string{jobspec.RootNamespace, jobspec.ManageNamespace, retell.ReportNamespace}, jobspec.JobNamespaces()...),
		ValidBefore: i.now.Add(keyValidity),
	})
	if err != nil {
		return nil, err
	}
	return []byte(line), nil
}

func newHostID() (jobspec.HostID, error) {
	raw := make([]byte, 16)
	if _, err := rand.Read(raw); err != nil {
		return "", fmt.Errorf("draw host id: %w", err)
	}
	return jobspec.ParseHostID(hex.EncodeToString(raw))
}
