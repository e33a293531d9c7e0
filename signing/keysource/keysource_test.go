package keysource_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/sbxcron/sbxcron/signing"
	"github.com/sbxcron/sbxcron/signing/keysource"
	"github.com/sbxcron/sbxcron/signing/signingtest"
)

const ns = "manage.v1@sbxcron"

var (
	opBytes = []byte(`{"type":"sbxcron.op/v1","action":"remove"}`)
	all     = signing.Algorithms{ECDSAP256: true, RSA: true}
)

var stockTypes = map[string][]string{
	"ed25519":    {"-t", "ed25519"},
	"ecdsa-p256": {"-t", "ecdsa", "-b", "256"},
	"rsa-3072":   {"-t", "rsa", "-b", "3072"},
}

func stockKey(t *testing.T, kind, passphrase string, more ...string) string {
	t.Helper()
	args := append([]string{"-N", passphrase}, stockTypes[kind]...)
	return signingtest.StockKey(t, append(args, more...)...)
}

func open(t *testing.T, s keysource.Source) keysource.Signer {
	t.Helper()
	signer, err := s.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return signer
}

// answer gives the same passphrase at each attempt and counts them.
func answer(text string, asked *int) keysource.Passphrase {
	return func(_ context.Context, _ string, attempt int) ([]byte, error) {
		*asked = attempt
		return []byte(text), nil
	}
}

// acceptedByAll signs and asks stock ssh-keygen and our verifier.
func acceptedByAll(t *testing.T, s keysource.Signer, pub string) {
	t.Helper()
	sig, err := s.Sign(t.Context(), ns, opBytes)
	if err != nil {
		t.Fatal(err)
	}
	line := signingtest.PublicLine(t, pub, "alice", "root.v1@sbxcron", ns)
	q := signingtest.Stock{Allowed: line, Revoked: []byte{}, Principal: "alice", Namespace: ns}
	if err := q.Verify(t, opBytes, signing.Armor(sig)); err != nil {
		t.Error(err)
	}
	trust, err := signing.ParseTrust(line, []byte{}, all)
	if err != nil {
		t.Fatal(err)
	}
	st, err := trust.Verify(opBytes, sig, time.Now())
	if err != nil || st.KeyID() != s.KeyID() {
		t.Errorf("we say %q, %v", st.KeyID(), err)
	}
}

// unavailable requires a KeyError with code and hint.
func unavailable(t *testing.T, err error) *keysource.KeyError {
	t.Helper()
	var k *keysource.KeyError
	if !errors.As(err, &k) || k.Code() != "key_unavailable" {
		t.Fatalf("got %v", err)
	}
	return k
}

func TestNamingNoKeyIsRefused(t *testing.T) {
	socket := signingtest.Agent(t)
	signingtest.AgentAdd(t, socket, stockKey(t, "ed25519", "")) // the only key there is still not taken
	for _, key := range []string{"", "SHA256:", "SHA256:abc", "SHA256:" + "!"} {
		_, err := keysource.Source{Key: key, AgentSocket: socket}.Open(t.Context())
		if unavailable(t, err).Hint() == "" {
			t.Errorf("%q: no hint", key)
		}
	}
}

func TestOddPublicKeyFilesAreRefused(t *testing.T) {
	good := string(mustRead(t, stockKey(t, "ed25519", "")+".pub"))
	for name, text := range map[string]string{
		"two keys":            good + good,
		"CRLF":                strings.TrimSpace(good) + "\r\n",
		"other type":          strings.Replace(good, "ssh-ed25519", "ssh-rsa", 1),
		"line of trust files": "alice " + good,
		"no base64":           "ssh-ed25519 !!!! x\n",
		"type alone":          "ssh-ed25519\n",
		"certificate":         "ssh-ed25519-cert-v01@openssh.com AAAAIHNzaC1lZDI1NTE5LWNlcnQtdjAxQG9wZW5zc2guY29t\n",
	} {
		t.Run(name, func(t *testing.T) {
			path := signingtest.File(t, "id.pub", []byte(text))
			_, err := keysource.Source{Key: path, AgentSocket: "/none"}.Open(t.Context())
			if unavailable(t, err); !strings.Contains(err.Error(), path) {
				t.Errorf("does not name the file: %v", err)
			}
		})
	}
}
