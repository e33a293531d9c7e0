package keysource

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/crypto/ssh"

	"github.com/sbxcron/sbxcron/signing/internal/keyfile"
)

// Generate makes a new Ed25519 key: path with mode 0600 in OpenSSH's own form,
// encrypted (aes256-ctr, 16 rounds of bcrypt) unless passphrase is empty, and
// path.pub with mode 0644. Neither is ever written over; when the second cannot
// be made the first is removed again.
func Generate(path, comment string, passphrase []byte) (ssh.PublicKey, error) {
	if !plainComment(comment) {
		return nil, fmt.Errorf("make key %q: comment %q is not one word of printable ASCII", path, comment)
	}
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make key %q: %w", path, err)
	}
	defer clear(private)
	key, err := ssh.NewPublicKey(public)
	if err != nil {
		return nil, fmt.Errorf("make key %q: %w", path, err)
	}
	text, err := encode(private, comment, passphrase)
	if err != nil {
		return nil, fmt.Errorf("make key %q: %w", path, err)
	}
	defer clear(text)
	if err := write(path, text, pubLine(key, comment)); err != nil {
		return nil, err
	}
	return key, nil
}

func encode(private ed25519.PrivateKey, comment string, passphrase []byte) ([]byte, error) {
	var block *pem.Block
	var err error
	if len(passphrase) == 0 {
		block, err = ssh.MarshalPrivateKey(private, comment)
	} else {
		block, err = ssh.MarshalPrivateKeyWithPassphrase(private, comment, passphrase)
	}
	if err != nil {
		return nil, err
	}
	return pem.EncodeToMemory(block), nil
}

func write(path string, text, pub []byte) error {
	if _, err := os.Lstat(path + ".pub"); err == nil {
		return notMade(fmt.Errorf("create %q: %w", path+".pub", fs.ErrExist))
	}
	if err := keyfile.Create(path, 0o600, text); err != nil {
		return notMade(err)
	}
	if err := keyfile.Create(path+".pub", 0o644, pub); err != nil {
		return notMade(errors.Join(err, os.Remove(path)))
	}
	return nil
}

func notMade(err error) error {
	hint := "name a file in a folder that exists and that you can write"
	if errors.Is(err, fs.ErrExist) {
		hint = "choose another name; an existing file is never written over"
	}
	return &KeyError{what: "make key", cause: err, hint: hint}
}

func pubLine(key ssh.PublicKey, comment string) []byte {
	line := key.Type() + " " + base64.StdEncoding.EncodeToString(key.Marshal())
	if comment != "" {
		line += " " + comment
	}
	return []byte(line + "\n")
}

// plainComment keeps a comment from breaking the line of the .pub file.
func plainComment(s string) bool {
	if len(s) > 256 {
		return false
	}
	for i := range len(s) {
		if s[i] <= ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}
