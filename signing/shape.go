package signing

import (
	"bytes"
	"errors"
	"fmt"

	"golang.org/x/crypto/ssh"
)

// maxKeyBlob bounds the wire form of a key: RSA 16384, the largest that
// ssh-keygen makes, takes 2.1 KiB.
const maxKeyBlob = 4096

// field checks one field of a key's wire form.
type field func([]byte) error

// shapeOf splits the wire form of a public key and requires the one form that
// OpenSSH writes. It knows every plain key type, whether it may sign or not:
// revoked_keys may name any of them, and a key that is compared by its bytes
// must have one form only. Certificates are unknown here.
func shapeOf(blob []byte) (keyType string, fields [][]byte, err error) {
	if len(blob) > maxKeyBlob {
		return "", nil, fmt.Errorf("longer than %d bytes", maxKeyBlob)
	}
	w := wire(blob)
	name, err := w.string()
	if err != nil {
		return "", nil, err
	}
	shape := shapeFor(string(name))
	if shape == nil {
		return "", nil, fmt.Errorf("unknown key type %.64q", name)
	}
	fields, err = w.strings(len(shape))
	if err != nil {
		return "", nil, err
	}
	for i, check := range shape {
		if err := check(fields[i]); err != nil {
			return "", nil, fmt.Errorf("%s: field %d: %w", name, i+1, err)
		}
	}
	return string(name), fields, nil
}

// shapeFor lists the fields after the type: RFC 4253 6.6 (RSA), RFC 5656 3.1
// (ECDSA), RFC 8709 4 (Ed25519), PROTOCOL.u2f (sk).
func shapeFor(keyType string) []field {
	switch keyType {
	case ssh.KeyAlgoED25519:
		return []field{exactly(32)}
	case ssh.KeyAlgoSKED25519:
		return []field{exactly(32), text}
	case ssh.KeyAlgoECDSA256:
		return []field{word("nistp256"), point(32)}
	case ssh.KeyAlgoECDSA384:
		return []field{word("nistp384"), point(48)}
	case ssh.KeyAlgoECDSA521:
		return []field{word("nistp521"), point(66)}
	case ssh.KeyAlgoSKECDSA256:
		return []field{word("nistp256"), point(32), text}
	case ssh.KeyAlgoRSA:
		return []field{mpint, mpint}
	}
	return nil
}

func exactly(n int) field {
	return func(b []byte) error {
		if len(b) != n {
			return fmt.Errorf("%d bytes instead of %d", len(b), n)
		}
		return nil
	}
}

func word(want string) field {
	return func(b []byte) error {
		if string(b) != want {
			return fmt.Errorf("not %s", want)
		}
		return nil
	}
}

// point is an uncompressed point (SEC 1 2.3.3); the other forms would be second
// encodings of the same key.
func point(size int) field {
	return func(b []byte) error {
		if len(b) != 1+2*size || b[0] != 4 {
			return errors.New("not an uncompressed point")
		}
		return nil
	}
}

func mpint(b []byte) error {
	if !positive(b) {
		return errors.New("not a positive number in its shortest form")
	}
	return nil
}

func text(b []byte) error {
	if len(b) == 0 || bytes.ContainsFunc(b, func(r rune) bool { return r < 0x20 || r > 0x7e }) {
		return errors.New("not printable ASCII")
	}
	return nil
}
