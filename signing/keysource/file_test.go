package keysource_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"

	"github.com/sbxcron/sbxcron/signing"
	"github.com/sbxcron/sbxcron/signing/keysource"
	"github.com/sbxcron/sbxcron/signing/signingtest"
)

func TestKeyFileSignsForStockSSHKeygen(t *testing.T) {
	for kind := range stockTypes {
		t.Run(kind, func(t *testing.T) {
			key := stockKey(t, kind, "")
			acceptedByAll(t, open(t, keysource.Source{Key: key, Algorithms: all}), key+".pub")
		})
	}
}

func TestEncryptedKeyIsKnownBeforeAnybodyIsAsked(t *testing.T) {
	key := stockKey(t, "ed25519", "open sesame", "-a", "4")
	asked := 0
	s := open(t, keysource.Source{Key: key, Passphrase: answer("open sesame", &asked)})
	if asked != 0 || s.KeyID() != signing.KeyID(signingtest.ReadPublic(t, key+".pub")) {
		t.Fatalf("asked %d times, key %s", asked, s.KeyID())
	}
	acceptedByAll(t, s, key+".pub")
	acceptedByAll(t, s, key+".pub")
	if asked != 1 {
		t.Errorf("asked %d times", asked)
	}
}

func TestWrongPassphraseEndsAfterThreeTries(t *testing.T) {
	key := stockKey(t, "ed25519", "open sesame", "-a", "2")
	asked := 0
	_, err := open(t, keysource.Source{Key: key, Passphrase: answer("guess", &asked)}).Sign(t.Context(), ns, opBytes)
	if unavailable(t, err); asked != 3 || !strings.Contains(err.Error(), "wrong passphrase") {
		t.Errorf("asked %d times: %v", asked, err)
	}
	right := func(_ context.Context, _ string, attempt int) ([]byte, error) {
		return []byte([]string{"", "no", "no", "open sesame"}[attempt]), nil
	}
	if _, err := open(t, keysource.Source{Key: key, Passphrase: right}).Sign(t.Context(), ns, opBytes); err != nil {
		t.Errorf("third try: %v", err)
	}
}

func TestNobodyToAskIsSaid(t *testing.T) {
	key := stockKey(t, "ed25519", "open sesame", "-a", "2")
	_, err := open(t, keysource.Source{Key: key}).Sign(t.Context(), ns, opBytes)
	if k := unavailable(t, err); !strings.Contains(k.Hint(), "ssh-agent") {
		t.Errorf("got %v, hint %q", err, k.Hint())
	}
	gone := errors.New("terminal is gone")
	ask := func(context.Context, string, int) ([]byte, error) { return nil, gone }
	if _, err := open(t, keysource.Source{Key: key, Passphrase: ask}).Sign(t.Context(), ns, opBytes); !errors.Is(err, gone) {
		t.Errorf("got %v", err)
	}
}

func TestKeyThatOthersCanReachIsRefused(t *testing.T) {
	key := stockKey(t, "ed25519", "")
	for _, mode := range []os.FileMode{0o640, 0o604, 0o660, 0o610, 0o601, 0o644} {
		if err := os.Chmod(key, mode); err != nil {
			t.Fatal(err)
		}
		_, err := keysource.Source{Key: key}.Open(t.Context())
		if k := unavailable(t, err); !strings.Contains(k.Hint(), "chmod 600") {
			t.Errorf("mode %o: %v, hint %q", mode, err, k.Hint())
		}
	}
	if err := os.Chmod(key, 0o400); err != nil {
		t.Fatal(err)
	}
	if _, err := (keysource.Source{Key: key}).Open(t.Context()); err != nil {
		t.Errorf("mode 0400: %v", err)
	}
}

// pemRSA is a private key in the form of PKCS 1.
func pemRSA(t *testing.T) []byte {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 3072)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})
}

// withRounds rewrites the number of bcrypt rounds in a key file.
func withRounds(t *testing.T, text []byte, rounds []byte) []byte {
	t.Helper()
	block, _ := pem.Decode(text)
	at := bytes.Index(block.Bytes, []byte("bcrypt\x00\x00\x00\x18\x00\x00\x00\x10"))
	if at < 0 {
		t.Fatal("no bcrypt in the key file")
	}
	copy(block.Bytes[at+len("bcrypt")+8+16:], rounds)
	return pem.EncodeToMemory(block)
}

func TestOddKeyFilesAreRefusedBeforeAnybodyIsAsked(t *testing.T) {
	plain, err := os.ReadFile(stockKey(t, "ed25519", ""))
	if err != nil {
		t.Fatal(err)
	}
	locked, err := os.ReadFile(stockKey(t, "ed25519", "secret", "-a", "2"))
	if err != nil {
		t.Fatal(err)
	}
	other, err := os.ReadFile(stockKey(t, "ed25519", "secret", "-a", "2", "-Z", "aes128-ctr"))
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		text []byte
		want string
	}{
		"other cipher":     {other, "aes128-ctr"},
		"PKCS 1":           {pemRSA(t), "own form"},
		"two keys":         {append(bytes.Clone(plain), plain...), "after the key"},
		"cut off":          {plain[:len(plain)/2], "own form"},
		"too many rounds":  {withRounds(t, locked, []byte{0, 0, 2, 1}), "513 rounds"},
		"endless rounds":   {withRounds(t, locked, []byte{0x7f, 0xff, 0xff, 0xff}), "rounds"},
		"empty":            {nil, "public key"},
		"garbage":          {[]byte("hello\n"), "public key"},
		"garbage in a key": {[]byte("-----BEGIN OPENSSH PRIVATE KEY-----\naGVsbG8=\n-----END OPENSSH PRIVATE KEY-----\n"), "own form"},
		"endless":          {bytes.Repeat([]byte("x"), 1<<20), "longer than"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			path := signingtest.File(t, "id", tt.text)
			_, err := keysource.Source{Key: path, Passphrase: func(context.Context, string, int) ([]byte, error) {
				t.Error("asked")
				return nil, errors.New("no")
			}}.Open(t.Context())
			if unavailable(t, err); !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want it to say %q", err, tt.want)
			}
		})
	}
}

func TestPrivateHalfOfAnotherKeyIsRefused(t *testing.T) {
	var blocks [2]*pem.Block
	var pubs [2][]byte
	for i := range blocks {
		key := stockKey(t, "ed25519", "")
		text, err := os.ReadFile(key)
		if err != nil {
			t.Fatal(err)
		}
		blocks[i], _ = pem.Decode(text)
		pubs[i] = signingtest.ReadPublic(t, key+".pub").Marshal()
	}
	// The first place of the public key is the open one.
	mixed := bytes.Replace(blocks[0].Bytes, pubs[0], pubs[1], 1)
	path := signingtest.File(t, "id", pem.EncodeToMemory(&pem.Block{Type: blocks[0].Type, Bytes: mixed}))
	s := open(t, keysource.Source{Key: path})
	if !bytes.Equal(s.Public().Marshal(), pubs[1]) {
		t.Fatal("the test did not swap the open part")
	}
	sig, err := s.Sign(t.Context(), ns, opBytes)
	if unavailable(t, err); sig != nil || !strings.Contains(err.Error(), "another public key") {
		t.Errorf("got %x, %v", sig, err)
	}
}

func TestKeyTypeNeedsItsPolicy(t *testing.T) {
	for _, kind := range []string{"ecdsa-p256", "rsa-3072"} {
		_, err := keysource.Source{Key: stockKey(t, kind, "")}.Open(t.Context())
		var u *signing.UntrustedError
		if !errors.As(err, &u) || u.Code() != "sig_alg_unsupported" {
			t.Errorf("%s: got %v", kind, err)
		}
	}
}

func TestGeneratedKeyIsOneOfStockSSHKeygen(t *testing.T) {
	for name, pass := range map[string]string{"plain": "", "encrypted": "open sesame"} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "id")
			key, err := keysource.Generate(path, "alice@laptop", []byte(pass))
			if err != nil {
				t.Fatal(err)
			}
			out, err := signingtest.Run(t, nil, nil, "ssh-keygen", "-y", "-P", pass, "-f", path)
			if pub, _ := os.ReadFile(path + ".pub"); err != nil || out != string(pub) || !strings.HasSuffix(out, " alice@laptop\n") {
				t.Errorf("ssh-keygen reads %q (%v), .pub is %q", out, err, pub)
			}
			for file, want := range map[string]os.FileMode{path: 0o600, path + ".pub": 0o644} {
				if info, err := os.Stat(file); err != nil || info.Mode().Perm()&^want != 0 || info.Mode().Perm()&0o400 == 0 {
					t.Errorf("%s: %v %v", file, info.Mode(), err)
				}
			}
			asked := 0
			s := open(t, keysource.Source{Key: path, Passphrase: answer(pass, &asked)})
			if s.KeyID() != ssh.FingerprintSHA256(key) || asked != 0 {
				t.Errorf("key %s", s.KeyID())
			}
			acceptedByAll(t, s, path+".pub")
			if (asked == 1) != (pass != "") {
				t.Errorf("asked %d times", asked)
			}
		})
	}
}

func TestGenerateNeverWritesOver(t *testing.T) {
	for _, taken := range []string{"id", "id.pub"} {
		for _, link := range []bool{false, true} {
			dir := t.TempDir()
			path := filepath.Join(dir, taken)
			if link {
				if err := os.Symlink(filepath.Join(dir, "target"), path); err != nil {
					t.Fatal(err)
				}
			} else if err := os.WriteFile(path, []byte("precious"), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := keysource.Generate(filepath.Join(dir, "id"), "", nil)
			unavailable(t, err)
			if names, _ := os.ReadDir(dir); len(names) != 1 {
				t.Errorf("%s: left behind %v", taken, names)
			}
		}
	}
	if _, err := keysource.Generate(filepath.Join(t.TempDir(), "id"), "two\nlines", nil); err == nil {
		t.Error("comment with a line break accepted")
	}
	if _, err := keysource.Generate(filepath.Join(t.TempDir(), "none", "id"), "", nil); err == nil {
		t.Error("folder that does not exist accepted")
	}
}
