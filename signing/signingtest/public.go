package signingtest

import (
	"encoding/base64"
	"os"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"

	"github.com/sbxcron/sbxcron/signing"
)

// ReadPublic reads a .pub file of any type that may sign by some policy.
func ReadPublic(tb testing.TB, pub string) ssh.PublicKey {
	tb.Helper()
	text, err := os.ReadFile(pub)
	if err != nil {
		tb.Fatal(err)
	}
	f := strings.Fields(string(text))
	if len(f) < 2 {
		tb.Fatalf("%s: not a public key", pub)
	}
	blob, err := base64.StdEncoding.DecodeString(f[1])
	if err != nil {
		tb.Fatal(err)
	}
	key, err := signing.ParseKey(blob, signing.Algorithms{ECDSAP256: true, RSA: true})
	if err != nil {
		tb.Fatal(err)
	}
	return key
}
