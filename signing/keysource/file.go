package keysource

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"

	"golang.org/x/crypto/ssh"

	"github.com/sbxcron/sbxcron/signing"
)

const (
	opensshMagic = "openssh-key-v1\x00"
	opensshPEM   = "OPENSSH PRIVATE KEY"

	// maxRounds bounds bcrypt_pbkdf: 16 is ssh-keygen's default and 100 a common
	// choice; 512 take some five seconds.
	maxRounds = 512

	tries = 3 // for a passphrase, as ssh has it
)

// header is the open part of a private key file (PROTOCOL.key).
type header struct {
	Cipher  string
	KDF     string
	KDFOpts string
	Keys    uint32
	Public  []byte
	Private []byte
	Rest    []byte `ssh:"rest"`
}

// fileSigner signs with a private key file. The file's content is kept until
// the first Sign, the key from then on.
type fileSigner struct {
	path   string
	pem    []byte
	public ssh.PublicKey
	ask    Passphrase
	locked bool       // needs a passphrase
	signer ssh.Signer // nil until unlocked
}

// openFile reads the open part of a private key file.
func (s Source) openFile(data []byte) (Signer, error) {
	h, err := parseHeader(data)
	if err != nil {
		return nil, &KeyError{
			what: fmt.Sprintf("open signing key %q", s.Key), cause: err,
			hint: fmt.Sprintf("rewrite it in OpenSSH's form with its usual settings: ssh-keygen -p -a 16 -Z aes256-ctr -f %q", s.Key),
		}
	}
	public, err := signing.ParseKey(h.Public, s.Algorithms)
	if err != nil {
		return nil, fmt.Errorf("open signing key %q: %w", s.Key, err)
	}
	return &fileSigner{path: s.Key, pem: data, public: public, ask: s.Passphrase, locked: h.Cipher != "none"}, nil
}

// parseHeader refuses what would be slow or ambiguous before it is unlocked.
func parseHeader(data []byte) (header, error) {
	block, rest := pem.Decode(data)
	if block == nil || block.Type != opensshPEM || len(block.Headers) != 0 {
		return header{}, errors.New("not a private key in OpenSSH's own form")
	}
	if len(bytes.TrimSpace(rest)) != 0 {
		return header{}, errors.New("something after the key")
	}
	body, ok := bytes.CutPrefix(block.Bytes, []byte(opensshMagic))
	var h header
	if !ok || ssh.Unmarshal(body, &h) != nil || h.Keys != 1 || len(h.Rest) != 0 {
		return header{}, errors.New("not one private key in OpenSSH's own form")
	}
	switch h.Cipher {
	case "none":
		return h, nil
	case "aes256-ctr", "aes256-cbc": // what x/crypto can open
	default:
		return header{}, fmt.Errorf("it is encrypted with %.32q", h.Cipher)
	}
	var kdf struct {
		Salt   []byte
		Rounds uint32
	}
	if h.KDF != "bcrypt" || ssh.Unmarshal([]byte(h.KDFOpts), &kdf) != nil {
		return header{}, fmt.Errorf("unknown key derivation %.32q", h.KDF)
	}
	if kdf.Rounds > maxRounds {
		return header{}, fmt.Errorf("%d rounds of bcrypt, accepted are up to %d", kdf.Rounds, maxRounds)
	}
	return h, nil
}

// Public implements Signer.
func (f *fileSigner) Public() ssh.PublicKey { return f.public }

// KeyID implements Signer.
func (f *fileSigner) KeyID() string { return signing.KeyID(f.public) }

// Sign implements Signer.
func (f *fileSigner) Sign(ctx context.Context, namespace string, msg []byte) ([]byte, error) {
	if f.signer == nil {
		if err := f.unlock(ctx); err != nil {
			return nil, err
		}
	}
	sig, err := signWith(f.signer, signing.SignedBlob(namespace, msg))
	if err != nil {
		return nil, &KeyError{what: "sign with key " + f.KeyID(), cause: err}
	}
	return finish(f.public, namespace, msg, sig)
}

// unlock parses the private half, asking for the passphrase where it has one.
func (f *fileSigner) unlock(ctx context.Context) error {
	if !f.locked {
		signer, err := ssh.ParsePrivateKey(f.pem)
		return f.keep(signer, err)
	}
	if f.ask == nil {
		return f.fail(errors.New("it has a passphrase and nobody can be asked"), "sign on a terminal, or load the key into ssh-agent and name its .pub file")
	}
	for attempt := 1; attempt <= tries; attempt++ {
		pass, err := f.ask(ctx, f.path, attempt)
		if err != nil {
			return f.fail(err, "sign on a terminal, or load the key into ssh-agent and name its .pub file")
		}
		signer, err := ssh.ParsePrivateKeyWithPassphrase(f.pem, pass)
		clear(pass)
		if errors.Is(err, x509.IncorrectPasswordError) {
			continue
		}
		return f.keep(signer, err)
	}
	return f.fail(fmt.Errorf("wrong passphrase %d times", tries), fmt.Sprintf("try it with: ssh-keygen -y -f %q", f.path))
}

// keep accepts the private half if it belongs to the public one: only that was
// shown to the owner and checked against the trust file.
func (f *fileSigner) keep(signer ssh.Signer, err error) error {
	if err != nil {
		return f.fail(err, fmt.Sprintf("does ssh-keygen -y -f %q read it?", f.path))
	}
	if !bytes.Equal(signer.PublicKey().Marshal(), f.public.Marshal()) {
		return f.fail(errors.New("its private half belongs to another public key"), "the file is damaged or was tampered with")
	}
	f.signer = signer
	clear(f.pem)
	f.pem = nil
	return nil
}

func (f *fileSigner) fail(err error, hint string) error {
	return &KeyError{what: fmt.Sprintf("unlock key %q", f.path), cause: err, hint: hint}
}

// signWith makes RSA use SHA-512; the other types have one algorithm.
func signWith(s ssh.Signer, data []byte) (*ssh.Signature, error) {
	if rsa, ok := s.(ssh.AlgorithmSigner); ok && s.PublicKey().Type() == ssh.KeyAlgoRSA {
		return rsa.SignWithAlgorithm(rand.Reader, data, ssh.KeyAlgoRSASHA512)
	}
	return s.Sign(rand.Reader, data)
}
