package signing_test

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/binary"
	"testing"

	"golang.org/x/crypto/ssh"

	"github.com/sbxcron/sbxcron/signing"
	"github.com/sbxcron/sbxcron/signing/signingtest"
)

// crafted is a signature blob field by field, to be bent before it is written.
type crafted struct {
	version              uint32
	key                  []byte
	namespace            string
	reserved             string
	hash                 string
	alg                  string
	sig                  []byte
	afterInner, afterAll []byte
}

// good is a correct signature of k over opBytes.
func good(k *signingtest.Key) crafted {
	return crafted{
		version: 1, key: k.Public().Marshal(), namespace: ns, hash: "sha512", alg: ssh.KeyAlgoED25519,
		sig: ed25519.Sign(k.Private(), signing.SignedBlob(ns, opBytes)),
	}
}

// str is an SSH string.
func str[T string | []byte](s T) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(s))), s...)
}

func concat(parts ...[]byte) []byte {
	var out []byte
	for _, p := range parts {
		out = append(out, p...)
	}
	return out
}

func (c crafted) blob() []byte {
	inner := concat(str(c.alg), str(c.sig), c.afterInner)
	return concat([]byte("SSHSIG"), binary.BigEndian.AppendUint32(nil, c.version), str(c.key), str(c.namespace),
		str(c.reserved), str(c.hash), str(inner), c.afterAll)
}

// order is L of RFC 8032 5.1, little endian.
var order = [32]byte{
	0xed, 0xd3, 0xf5, 0x5c, 0x1a, 0x63, 0x12, 0x58, 0xd6, 0x9c, 0xf7, 0xa2, 0xde, 0xf9, 0xde, 0x14, 31: 0x10,
}

// plusL adds L to the second half of an Ed25519 signature: the same equation,
// other bytes.
func plusL(sig []byte) []byte {
	out := append([]byte(nil), sig...)
	carry := 0
	for i := range order {
		sum := int(out[32+i]) + int(order[i]) + carry
		out[32+i], carry = byte(sum), sum>>8
	}
	return out
}

// skBlob is a signature by a key of a FIDO token in software, with these flags
// (PROTOCOL.u2f).
func skBlob(t *testing.T, k *signingtest.Key, flags byte) (key, blob []byte) {
	t.Helper()
	key = concat(str(ssh.KeyAlgoSKED25519), str([]byte(k.Private().Public().(ed25519.PublicKey))), str("ssh:"))
	app, data := sha256.Sum256([]byte("ssh:")), sha256.Sum256(signing.SignedBlob(ns, opBytes))
	tail := []byte{flags, 0, 0, 0, 7}
	c := good(k)
	c.key, c.alg, c.afterInner = key, ssh.KeyAlgoSKED25519, tail
	c.sig = ed25519.Sign(k.Private(), concat(app[:], tail, data[:]))
	return key, c.blob()
}
