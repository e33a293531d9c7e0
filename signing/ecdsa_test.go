package signing_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"math/big"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"

	"github.com/sbxcron/sbxcron/signing"
	"github.com/sbxcron/sbxcron/signing/signingtest"
)

// mpint is the shortest form of a number that is not negative.
func mpintOf(n *big.Int) []byte {
	b := n.Bytes()
	if len(b) > 0 && b[0]&0x80 != 0 {
		b = append([]byte{0}, b...)
	}
	return str(b)
}

// signShort signs until the top bit of r is clear, so that a zero before it is
// one too many.
func signShort(t *testing.T, private *ecdsa.PrivateKey) (r, s *big.Int) {
	t.Helper()
	sum := sha256.Sum256(signing.SignedBlob(ns, opBytes))
	for {
		r, s, err := ecdsa.Sign(rand.Reader, private, sum[:])
		if err != nil {
			t.Fatal(err)
		}
		if r.BitLen()%8 != 0 {
			return r, s
		}
	}
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
	r, s := signShort(t, private)
	n, zero := elliptic.P256().Params().N, new(big.Int)
	tests := map[string]struct {
		sig  []byte
		good bool
	}{
		"as signed":      {concat(mpintOf(r), mpintOf(s)), true},
		"n - s":          {concat(mpintOf(r), mpintOf(new(big.Int).Sub(n, s))), true}, // nobody refuses it: see doc.go
		"both zero":      {concat(mpintOf(zero), mpintOf(zero)), false},
		"r zero":         {concat(mpintOf(zero), mpintOf(s)), false},
		"s zero":         {concat(mpintOf(r), mpintOf(zero)), false},
		"s is n":         {concat(mpintOf(r), mpintOf(n)), false},
		"r plus n":       {concat(mpintOf(new(big.Int).Add(r, n)), mpintOf(s)), false},
		"zero before r":  {concat(str(append([]byte{0}, r.Bytes()...)), mpintOf(s)), false},
		"zeros before r": {concat(str(append([]byte{0, 0}, r.Bytes()...)), mpintOf(s)), false},
		"bytes after":    {concat(mpintOf(r), mpintOf(s), []byte{0}), false},
		"s missing":      {mpintOf(r), false},
		"of 1 MB":        {str(make([]byte, 1<<20)), false},
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

// loosen sets a bit of the last base64 digit that stands for no byte.
func loosen(t *testing.T, text string) string {
	t.Helper()
	const digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
	at := strings.IndexByte(text, '=') - 1
	if at < 0 {
		t.Fatal("no padding")
	}
	return text[:at] + string(digits[strings.IndexByte(digits, text[at])|1]) + text[at+1:]
}

func TestLooseBase64IsRefused(t *testing.T) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	public, err := ssh.NewPublicKey(&private.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	// The star stands in for the equals sign that is not padding.
	line := `alice namespaces*"` + ns + `" ` + keyOf(public.Type(), public.Marshal())
	good, bad := strings.Replace(line, "*", "=", 1), strings.Replace(loosen(t, line), "*", "=", 1)
	if _, err := signing.ParseTrust([]byte(good), []byte{}, all); err != nil {
		t.Error(err)
	}
	if _, err := signing.ParseTrust([]byte(bad), []byte{}, all); code(t, err) != "trust_refused" {
		t.Errorf("trust file: %v", err)
	}
	k := signingtest.NewKey(t, "alice", "ab")
	armored := string(signing.Armor(k.Sign(t, "ab", opBytes)))
	if _, err := signing.ParseSignature([]byte(loosen(t, armored))); code(t, err) != "sig_invalid" {
		t.Errorf("armor: %v", err)
	}
}
