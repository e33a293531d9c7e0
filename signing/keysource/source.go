package keysource

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/crypto/ssh"

	"github.com/sbxcron/sbxcron/signing"
	"github.com/sbxcron/sbxcron/signing/internal/keyfile"
)

// maxKeyFile bounds a key file: an RSA 8192 private key takes 7 KiB.
const maxKeyFile = 64 << 10

// Signer signs with one key. It is not for use by several goroutines at once.
type Signer interface {
	// Public is the key, known before anybody is asked for a passphrase.
	Public() ssh.PublicKey
	// KeyID names it as OpenSSH prints it.
	KeyID() string
	// Sign returns an SSHSIG signature over msg in binary form, verified. It may
	// ask for a passphrase, or wait for a person at the agent until ctx ends.
	Sign(ctx context.Context, namespace string, msg []byte) ([]byte, error)
}

// Passphrase asks a person for the passphrase of the key at path; attempt counts
// from 1. The bytes are wiped after use.
type Passphrase func(ctx context.Context, path string, attempt int) ([]byte, error)

// Source says where to look for a key.
type Source struct {
	Key         string // private key file, .pub file, or SHA256:... fingerprint
	AgentSocket string // path of the agent's socket, as SSH_AUTH_SOCK has it; empty: no agent
	Passphrase  Passphrase
	Algorithms  signing.Algorithms
}

// Open finds the key. A private key file signs by itself; a public key or a
// fingerprint names a key of the agent. Nothing is asked and nothing signed yet.
// Errors are *KeyError (key_unavailable) or, for a key type that is not accepted,
// *signing.UntrustedError.
func (s Source) Open(ctx context.Context) (Signer, error) {
	switch {
	case s.Key == "":
		return nil, &KeyError{what: "open signing key: none named", hint: "name one: a private key file, a .pub file, or SHA256:... of a key in ssh-agent"}
	case strings.HasPrefix(s.Key, "SHA256:"):
		if err := fingerprint(s.Key); err != nil {
			return nil, err
		}
		return s.openAgent(ctx, s.Key)
	}
	data, err := keyfile.Read(s.Key, maxKeyFile, private)
	if err != nil {
		return nil, openError(err)
	}
	if private(data) {
		return s.openFile(data)
	}
	key, err := publicKey(data, s.Algorithms)
	if err != nil {
		return nil, &KeyError{what: fmt.Sprintf("open signing key %q", s.Key), cause: err, hint: "name an OpenSSH private key file or its .pub file"}
	}
	return s.openAgent(ctx, signing.KeyID(key))
}

// private reports whether a file looks like any private key in PEM. The test is
// wide, so that permissions are checked even for a form that is refused later.
func private(data []byte) bool { return bytes.Contains(data, []byte("PRIVATE KEY-----")) }

// fingerprint wants what ssh-keygen -l prints: unpadded base64 of 32 bytes.
func fingerprint(id string) error {
	sum, err := base64.RawStdEncoding.Strict().DecodeString(strings.TrimPrefix(id, "SHA256:"))
	if err != nil || len(sum) != 32 {
		return &KeyError{what: fmt.Sprintf("open signing key %q: not a whole fingerprint", id), hint: "ssh-add -l prints the fingerprints of the agent's keys"}
	}
	return nil
}

// publicKey reads the one line of a .pub file: type, base64, comment.
func publicKey(data []byte, a signing.Algorithms) (ssh.PublicKey, error) {
	line, _ := bytes.CutSuffix(data, []byte("\n"))
	f := strings.SplitN(string(line), " ", 3)
	if len(f) < 2 || bytes.ContainsAny(line, "\r\n\x00") {
		return nil, errors.New("not a public key of one line")
	}
	blob, err := base64.StdEncoding.Strict().DecodeString(f[1])
	if err != nil {
		return nil, errors.New("public key is not base64")
	}
	key, err := signing.ParseKey(blob, a)
	if err != nil {
		return nil, err
	}
	if key.Type() != f[0] {
		return nil, fmt.Errorf("public key is %s inside, but the line says %.64q", key.Type(), f[0])
	}
	return key, nil
}

// openError keeps the hint of a permission problem.
func openError(err error) error {
	e := &KeyError{what: "find signing key", cause: err, hint: "name an existing key file, or let init make one"}
	var open *keyfile.PermsError
	if errors.As(err, &open) {
		e.hint = open.Hint()
	}
	return e
}

// finish frames what a key made and verifies it before anybody stores it.
func finish(key ssh.PublicKey, namespace string, msg []byte, sig *ssh.Signature) ([]byte, error) {
	s, err := signing.NewSignature(key, namespace, sig)
	if err != nil {
		return nil, err
	}
	if err := s.Verify(msg); err != nil {
		return nil, err
	}
	return s.Blob(), nil
}
