package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/crypto/ssh"

	"github.com/sbxcron/sbxcron/cmd/internal/api"
	"github.com/sbxcron/sbxcron/cmd/internal/config"
	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/record"
	"github.com/sbxcron/sbxcron/signing"
	"github.com/sbxcron/sbxcron/store"
)

// trusts are the trust files in force and every version that ever was, newest
// first: what an old signature is held against. Revocation is looked at apart.
func (e *Engine) trusts() ([]*signing.Trust, error) {
	now, err := e.Site.Trust()
	if err != nil {
		return nil, err
	}
	all := []*signing.Trust{now}
	copies, err := store.AllTrust(e.Site.Dirs, store.AllowedSigners)
	if err != nil {
		return nil, err
	}
	for i := len(copies) - 1; i >= 0; i-- {
		t, err := signing.ParseTrust(copies[i].Bytes, []byte{}, signing.Algorithms{})
		if err != nil {
			return nil, fmt.Errorf("kept allowed_signers %s: %w", copies[i].Digest.Short(), err)
		}
		all = append(all, t)
	}
	return all, nil
}

// trust reads the trust files as they are now. Whoever holds the lock keeps each
// new version for later audits first: a version that cannot be kept approves
// nothing.
func (e *Engine) trust() (*signing.Trust, error) {
	var known *config.Recent
	if e.Examiner != nil {
		known = e.Examiner.Recent
	}
	t, f, err := known.Trust(e.Site)
	if err != nil {
		return nil, err
	}
	return t, e.keepTrust(f)
}

func (e *Engine) keepTrust(f config.TrustFiles) error {
	d := trustDigests{jobspec.DigestOf(f.AllowedSigners), jobspec.DigestOf(f.RevokedKeys)}
	e.mu.RLock()
	known := e.lock == nil || e.ledger == nil || e.trusted == d
	e.mu.RUnlock()
	if known {
		return nil
	}
	if _, err := store.KeepTrust(e.Site.Dirs, store.AllowedSigners, f.AllowedSigners); err != nil {
		return err
	}
	if _, err := store.KeepTrust(e.Site.Dirs, store.RevokedKeys, f.RevokedKeys); err != nil {
		return err
	}
	e.mu.Lock()
	e.trusted = d
	e.mu.Unlock()
	return e.note(&record.Leaf{Kind: record.TrustLoaded, Trust: d.allowed, Revoked: d.revoked})
}

// trustDigests identify one state of the trust files.
type trustDigests struct{ allowed, revoked jobspec.Digest }

// checkEver holds an op's signature against every version of the trust files and
// returns the best result: a good one, else that of the files in force.
func checkEver(trusts []*signing.Trust, entry store.Entry, op *jobspec.Op) (signing.Result, error) {
	if len(entry.Sigs) != 1 {
		return signing.Result{}, &jobspec.OpError{Reason: jobspec.CodeSigInvalid, Seq: entry.Seq, Detail: fmt.Sprintf("%d signatures, want one", len(entry.Sigs))}
	}
	first, err := trusts[0].Check(entry.Op, entry.Sigs[0], op.Created.Time())
	if err != nil {
		return first, err
	}
	for _, t := range trusts {
		r, err := t.Check(entry.Op, entry.Sigs[0], op.Created.Time())
		if err == nil && r.ErrBeforeRevocation() == nil {
			r.Revoked = first.Revoked // as of now
			return r, nil
		}
	}
	return first, first.ErrBeforeRevocation()
}

// Ops are all ops with what stock ssh-keygen needs to check each of them.
func (e *Engine) Ops(context.Context) ([]api.OpFile, error) {
	entries, err := e.rawEntries()
	if err != nil {
		return nil, err
	}
	trusts, err := e.trusts()
	if err != nil {
		return nil, err
	}
	var out []api.OpFile
	var bad []error
	for _, entry := range entries {
		f, err := opFile(trusts, entry)
		if err != nil {
			bad = append(bad, fmt.Errorf("op %d: %w", entry.Seq, err))
			continue
		}
		out = append(out, f)
	}
	return out, errors.Join(bad...)
}

func opFile(trusts []*signing.Trust, entry store.Entry) (api.OpFile, error) {
	op, err := jobspec.DecodeOp(entry.Op)
	if err != nil {
		return api.OpFile{}, err
	}
	r, err := checkEver(trusts, entry, op)
	if err != nil {
		return api.OpFile{}, err
	}
	line, err := signing.FormatSigner(r.Signer)
	if err != nil {
		return api.OpFile{}, err
	}
	return api.OpFile{
		Seq: entry.Seq, Op: entry.Op, Sig: entry.Sigs[0], Namespace: r.Signature.Namespace,
		Principal: jobspec.Principal(r.Signer.Principal), KeyID: r.Signer.KeyID,
		Key:     strings.TrimSpace(string(ssh.MarshalAuthorizedKey(r.Signer.Key))),
		Signer:  strings.TrimSpace(line),
		Created: op.Created, Revoked: r.Revoked,
	}, nil
}
