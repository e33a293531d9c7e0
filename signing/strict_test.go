package signing_test

import (
	"bytes"
	"encoding/base64"
	"errors"
	"strings"
	"testing"

	"github.com/hiddeco/sshsig"

	"github.com/sbxcron/sbxcron/signing"
	"github.com/sbxcron/sbxcron/signing/signingtest"
)

// code is the stable code of an error, or "" for none.
func code(t *testing.T, err error) string {
	t.Helper()
	if err == nil {
		return ""
	}
	var u *signing.UntrustedError
	if !errors.As(err, &u) {
		t.Fatalf("not an UntrustedError: %v", err)
	}
	if u.Hint() == "" {
		t.Errorf("no hint for %s", u.Code())
	}
	return u.Code()
}

// peers is what the two other verifiers say: ssh-keygen 9.2 and hiddeco/sshsig
// v0.2.0. Both accept much that we refuse.
type peers struct{ stock, hiddeco bool }

// secondOpinion asks hiddeco/sshsig about armored text.
func secondOpinion(k *signingtest.Key, namespace string, armored []byte) bool {
	sig, err := sshsig.Unarmor(armored)
	if err != nil {
		return false
	}
	return sshsig.Verify(bytes.NewReader(opBytes), sig, k.Public(), sig.HashAlgorithm, namespace) == nil
}

// variant is one changed signature: as armored text, with the code that we give.
type variant struct {
	text  []byte
	want  string
	peers peers
}

func bent(k *signingtest.Key, change func(*crafted)) []byte {
	c := good(k)
	change(&c)
	return signing.Armor(c.blob())
}

// blobVariants change the binary form.
func blobVariants(k *signingtest.Key) map[string]variant {
	return map[string]variant{
		"as it was": {bent(k, func(*crafted) {}), "", peers{true, true}},
		"version 0": {bent(k, func(c *crafted) { c.version = 0 }), "sig_invalid", peers{true, false}},
		"version 2": {bent(k, func(c *crafted) { c.version = 2 }), "sig_invalid", peers{false, false}},
		"junk in the reserved field": {
			bent(k, func(c *crafted) { c.reserved = "junk" }), "sig_invalid", peers{true, true}},
		"bytes after the inner signature": {
			bent(k, func(c *crafted) { c.afterInner = []byte{0} }), "sig_invalid", peers{false, true}},
		"S plus L": {bent(k, func(c *crafted) { c.sig = plusL(c.sig) }), "sig_invalid", peers{true, false}},
		"bytes after the blob": {
			bent(k, func(c *crafted) { c.afterAll = []byte{0} }), "sig_invalid", peers{false, false}},
		"byte after the public key": {
			bent(k, func(c *crafted) { c.key = append(c.key, 0) }), "sig_invalid", peers{false, false}},
		"hash relabelled sha256": {
			bent(k, func(c *crafted) { c.hash = "sha256" }), "sig_invalid", peers{false, false}},
		"hash in upper case": {bent(k, func(c *crafted) { c.hash = "SHA512" }), "sig_invalid", peers{false, false}},
		"hash sha1":          {bent(k, func(c *crafted) { c.hash = "sha1" }), "sig_invalid", peers{false, false}},
		"namespace emptied":  {bent(k, func(c *crafted) { c.namespace = "" }), "sig_invalid", peers{false, false}},
		"NUL in the namespace": {
			bent(k, func(c *crafted) { c.namespace = "work\x00space" }), "sig_invalid", peers{false, false}},
		"NUL after the namespace": { // cut off by ssh-keygen's reader of C strings
			bent(k, func(c *crafted) { c.namespace = ns + "\x00" }), "sig_invalid", peers{true, false}},
		"signature of zeros": {
			bent(k, func(c *crafted) { c.sig = make([]byte, 64) }), "sig_invalid", peers{false, false}},
		"empty signature": {bent(k, func(c *crafted) { c.sig = nil }), "sig_invalid", peers{false, false}},
		"short signature": {bent(k, func(c *crafted) { c.sig = c.sig[:63] }), "sig_invalid", peers{false, false}},
		"algorithm of another type": {
			bent(k, func(c *crafted) { c.alg = "ecdsa-sha2-nistp256" }), "sig_invalid", peers{false, false}},
		"no magic": {
			signing.Armor(good(k).blob()[6:]), "sig_invalid", peers{false, false}},
		"length beyond the end": {
			signing.Armor(append(good(k).blob()[:10], 0xff, 0xff, 0xff, 0xff)), "sig_invalid", peers{false, false}},
	}
}

// armorVariants change the text only.
func armorVariants(k *signingtest.Key) map[string]variant {
	text := string(signing.Armor(good(k).blob()))
	body := base64.StdEncoding.EncodeToString(good(k).blob())
	wrap := func(s string) []byte { return []byte(armorBegin + s + "\n" + armorEnd + "\n") }
	width := func(n int) []byte {
		s := body
		var lines []string
		for len(s) > n {
			lines, s = append(lines, s[:n]), s[n:]
		}
		return wrap(strings.Join(append(lines, s), "\n"))
	}
	return map[string]variant{
		"text before":               {[]byte("hello\n" + text), "sig_invalid", peers{false, true}},
		"text after":                {[]byte(text + "hello\n"), "sig_invalid", peers{true, true}},
		"second signature":          {[]byte(text + text), "sig_invalid", peers{true, true}},
		"CRLF":                      {[]byte(strings.ReplaceAll(text, "\n", "\r\n")), "sig_invalid", peers{false, true}},
		"header lines":              {wrap("Comment: x\n\n" + body), "sig_invalid", peers{false, true}},
		"one line":                  {wrap(body), "sig_invalid", peers{true, true}},
		"spaces":                    {[]byte(strings.Replace(text, "\nU", "\n U", 1)), "sig_invalid", peers{true, true}},
		"64 columns":                {width(64), "", peers{true, true}},
		"76 columns":                {width(76), "", peers{true, true}},
		"60 columns":                {width(60), "sig_invalid", peers{true, true}},
		"empty line inside":         {[]byte(strings.Replace(text, "\nU", "\n\nU", 1)), "sig_invalid", peers{true, true}},
		"two newlines at the end":   {[]byte(text + "\n"), "sig_invalid", peers{true, true}},
		"missing last newline":      {[]byte(strings.TrimSuffix(text, "\n")), "", peers{true, true}},
		"armor of another kind":     {[]byte(strings.ReplaceAll(text, "SSH SIG", "PGP SIG")), "sig_invalid", peers{false, false}},
		"nothing between the lines": {wrap(""), "sig_invalid", peers{false, false}},
		"no end":                    {[]byte(strings.TrimSuffix(text, armorEnd+"\n")), "sig_invalid", peers{false, false}},
		"nothing at all":            {nil, "sig_missing", peers{false, false}},
	}
}

const (
	armorBegin = "-----BEGIN SSH SIGNATURE-----\n"
	armorEnd   = "-----END SSH SIGNATURE-----"
)

func TestChangedSignaturesAreJudgedStrictlyBesideTheirPeers(t *testing.T) {
	k := signingtest.FixedKey(t, "strict", "alice", ns)
	trust := signingtest.Trust(t, k)
	version, _ := signingtest.Run(t, nil, nil, "ssh", "-V")
	known := strings.HasPrefix(version, "OpenSSH_9.2p1")
	ask := signingtest.Stock{Allowed: signingtest.AllowedSigners(t, k), Principal: "alice", Namespace: ns, At: noon}

	for _, set := range []map[string]variant{blobVariants(k), armorVariants(k)} {
		for name, v := range set {
			t.Run(name, func(t *testing.T) {
				got := code(t, verifyText(trust, v.text))
				if got != v.want {
					t.Errorf("we say %q, want %q", got, v.want)
				}
				if h := secondOpinion(k, ns, v.text); h != v.peers.hiddeco {
					t.Errorf("hiddeco/sshsig accepts: %v", h)
				}
				if err := ask.Verify(t, opBytes, v.text); known && (err == nil) != v.peers.stock {
					t.Errorf("ssh-keygen accepts: %v", err)
				}
			})
		}
	}
}

// verifyText is what apply does with a signature file: text in, binary kept.
func verifyText(trust *signing.Trust, text []byte) error {
	sig, err := signing.ParseSignature(text)
	if err != nil {
		return err
	}
	_, err = trust.Verify(opBytes, sig.Blob(), noon)
	return err
}

func TestArmorIsNotTheStoredForm(t *testing.T) {
	k := signingtest.NewKey(t, "alice", ns)
	_, err := signingtest.Trust(t, k).Verify(opBytes, signing.Armor(k.Sign(t, ns, opBytes)), noon)
	if got := code(t, err); got != "sig_invalid" {
		t.Errorf("got %q: %v", got, err)
	}
}

func TestKeysOfTokensAreRefusedWhateverTheirFlags(t *testing.T) {
	k := signingtest.NewKey(t, "alice", ns)
	trust := trustOf(t, k.Line(t), "", all)
	for _, flags := range []byte{0, 1, 4, 5} {
		key, blob := skBlob(t, k, flags)
		if _, err := trust.Verify(opBytes, blob, noon); code(t, err) != "sig_alg_unsupported" {
			t.Errorf("flags %#x: %v", flags, err)
		}
		line := `alice namespaces="` + ns + `" sk-ssh-ed25519@openssh.com ` + base64.StdEncoding.EncodeToString(key) + "\n"
		if _, err := signing.ParseTrust([]byte(line), []byte{}, all); code(t, err) != "trust_refused" {
			t.Errorf("trust file with a token's key: %v", err)
		}
		// The sample is a good one: stock ssh-keygen takes it, touched or not.
		q := signingtest.Stock{Allowed: []byte(line), Principal: "alice", Namespace: ns, At: noon}
		if err := q.Verify(t, opBytes, signing.Armor(blob)); err != nil {
			t.Errorf("flags %#x: ssh-keygen: %v", flags, err)
		}
	}
}
