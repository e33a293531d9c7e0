package signing_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"math/big"
	"testing"

	"golang.org/x/crypto/ssh"

	"github.com/sbxcron/sbxcron/signing"
)

// mpint is the shortest form of a number that is not negative.
func mpintOf(n *big.Int) []byte {
	b := n.Bytes()
	if len(b) > 0 && b[0]&0x80 != 0 {
		b = append([]byte{0}, b...)
	}
	return str(b)
}

func TestECDSASignaturesWithImpossibleNumbersAreRefused(t *testing.T) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	public, err := ssh.NewPublicKey(&private.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(signing.SignedBlob(ns, opBytes))
	r, s, err := ecdsa.Sign(rand.Reader, private, sum[:])
	if err != nil {
		t.Fatal(err)
	}
	n, zero := elliptic.P256().Params().N, new(big.Int)
	tests := map[string]struct {
		sig  []byte
		good bool
	}{
		"as signed":        {concat(mpintOf(r), mpintOf(s)), true},
		"n - s":            {concat(mpintOf(r), mpintOf(new(big.Int).Sub(n, s))), true}, // nobody refuses it: see doc.go
		"both zero":        {concat(mpintOf(zero), mpintOf(zero)), false},
		"r zero":           {concat(mpintOf(zero), mpintOf(s)), false},
		"s zero":           {concat(mpintOf(r), mpintOf(zero)), false},
		"s is n":           {concat(mpintOf(r), mpintOf(n)), false},
		"r plus n":         {concat(mpintOf(new(big.Int).Add(r, n)), mpintOf(s)), false},
		"r in a long form": {concat(str(append([]byte{0, 0}, r.Bytes()...)), mpintOf(s)), false},
		"bytes after":      {concat(mpintOf(r), mpintOf(s), []byte{0}), false},
		"s missing":        {mpintOf(r), false},
		"of 1 MB":          {str(make([]byte, 1<<20)), false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			sig, err := signing.NewSignature(public, ns, &ssh.Signature{Format: ssh.KeyAlgoECDSA256, Blob: tt.sig})
			if err == nil {
				err = sig.Verify(opBytes)
			}
			if (code(t, err) == "") != tt.good {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestRSASignaturesUseSHA512Only(t *testing.T) {
	private, err := rsa.GenerateKey(rand.Reader, 3072)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := ssh.NewSignerFromKey(private)
	if err != nil {
		t.Fatal(err)
	}
	for _, alg := range []string{ssh.KeyAlgoRSA, ssh.KeyAlgoRSASHA256, ssh.KeyAlgoRSASHA512} {
		raw, err := signer.(ssh.AlgorithmSigner).SignWithAlgorithm(rand.Reader, signing.SignedBlob(ns, opBytes), alg)
		if err != nil {
			t.Fatal(err)
		}
		sig, err := signing.NewSignature(signer.PublicKey(), ns, raw)
		if err == nil {
			err = sig.Verify(opBytes)
		}
		if good := alg == ssh.KeyAlgoRSASHA512; (code(t, err) == "") != good {
			t.Errorf("%s: %v", alg, err)
		}
		raw.Blob = append(raw.Blob, 0)
		if sig, err := signing.NewSignature(signer.PublicKey(), ns, raw); err == nil && sig.Verify(opBytes) == nil {
			t.Errorf("%s: longer signature accepted", alg)
		}
	}
}
