package keysource

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"fmt"

	"golang.org/x/crypto/ssh"

	"github.com/sbxcron/sbxcron/signing"
)

// Ephemeral makes an Ed25519 key that is written nowhere and is gone with the
// process. It is for an installation that is gone with it, too.
func Ephemeral() (Signer, error) {
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, &KeyError{what: "make a key in memory", cause: err}
	}
	signer, err := ssh.NewSignerFromSigner(private)
	if err != nil {
		return nil, &KeyError{what: "make a key in memory", cause: err}
	}
	return &memorySigner{signer}, nil
}

type memorySigner struct{ signer ssh.Signer }

// Public implements Signer.
func (m *memorySigner) Public() ssh.PublicKey { return m.signer.PublicKey() }

// KeyID implements Signer.
func (m *memorySigner) KeyID() string { return signing.KeyID(m.signer.PublicKey()) }

// Sign implements Signer.
func (m *memorySigner) Sign(_ context.Context, namespace string, msg []byte) ([]byte, error) {
	sig, err := signWith(m.signer, signing.SignedBlob(namespace, msg))
	if err != nil {
		return nil, &KeyError{what: "sign with the key in memory", cause: fmt.Errorf("%s: %w", m.KeyID(), err)}
	}
	return finish(m.Public(), namespace, msg, sig)
}
