package signing

import (
	"crypto/sha512"
	"encoding/binary"
)

// PROTOCOL.sshsig, sections 2 and 3.
const (
	magic      = "SSHSIG"
	version    = 1
	hashName   = "sha512"
	maxBlob    = 8 << 10 // RSA 8192: 1 KiB of key and 1 KiB of signature
	maxNameLen = 128     // of a namespace or a principal
)

// SignedBlob is what a key signs for msg: magic, namespace, an empty reserved
// field, the name of the hash and SHA-512 of msg (PROTOCOL.sshsig, section 2).
func SignedBlob(namespace string, msg []byte) []byte {
	sum := sha512.Sum512(msg)
	b := []byte(magic)
	b = appendString(b, []byte(namespace))
	b = appendString(b, nil)
	b = appendString(b, []byte(hashName))
	return appendString(b, sum[:])
}

// frame is the binary form of a signature (PROTOCOL.sshsig, section 3).
func frame(key []byte, namespace, alg string, sig []byte) []byte {
	b := binary.BigEndian.AppendUint32([]byte(magic), version)
	b = appendString(b, key)
	b = appendString(b, []byte(namespace))
	b = appendString(b, nil)
	b = appendString(b, []byte(hashName))
	inner := appendString(appendString(nil, []byte(alg)), sig)
	return appendString(b, inner)
}

// validNamespace reports whether ns is a namespace as both sides write it: one
// to 128 letters, digits and . _ - @ + characters. Patterns, quotes, commas and
// control characters have no place in it.
func validNamespace(ns string) bool { return plainName(ns) }

// plainName is the alphabet shared by namespaces and principals.
func plainName(s string) bool {
	if s == "" || len(s) > maxNameLen {
		return false
	}
	for i := range len(s) {
		c := s[i]
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9':
		case i > 0 && (c == '.' || c == '_' || c == '-' || c == '@' || c == '+'):
		default:
			return false
		}
	}
	return true
}
