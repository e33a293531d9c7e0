package signing_test

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/google/go-cmp/cmp"

	"github.com/sbxcron/sbxcron/signing"
	"github.com/sbxcron/sbxcron/signing/signingtest"
)

// keyOf is "keytype base64" of the wire form.
func keyOf(keyType string, blob []byte) string {
	return keyType + " " + base64.StdEncoding.EncodeToString(blob)
}

func ed(point []byte) string {
	return keyOf(ssh.KeyAlgoED25519, concat(str(ssh.KeyAlgoED25519), str(point)))
}

// rsaKey is an RSA key of that many bits and that exponent; nobody holds it.
func rsaKey(bits int, e uint32) string {
	n := make([]byte, bits/8+1)
	n[1], n[len(n)-1] = 0x80, 1
	exp := bytes.TrimLeft(binary.BigEndian.AppendUint32(nil, e), "\x00")
	return keyOf(ssh.KeyAlgoRSA, concat(str(ssh.KeyAlgoRSA), str(exp), str(n)))
}

func TestOddTrustFilesAreRefusedWholeAndNameTheLine(t *testing.T) {
	a, b := signingtest.FixedKey(t, "a", "alice", ns), signingtest.FixedKey(t, "b", "bob", ns)
	one, two := a.Line(t), b.Line(t)
	key := strings.TrimSuffix(signing.FormatRevoked(a.Public()), "\n")
	opts := `namespaces="` + ns + `"`
	blob := a.Public().Marshal()

	tests := map[string]struct{ file, want string }{
		"empty":                      {"", "names no signer"},
		"only comments":              {"# nobody\n", "names no signer"},
		"garbage first line":         {"garbage\n" + one, "line 1"},
		"garbage last line":          {one + two + "garbage", "line 3"},
		"byte order mark":            {"\xef\xbb\xbf" + one, "line 1"},
		"CRLF":                       {strings.ReplaceAll(one, "\n", "\r\n"), "line 1"},
		"NUL":                        {one + "\x00" + two, "line 2"},
		"tab":                        {strings.Replace(one, " ", "\t", 1), "line 1"},
		"no ASCII":                   {one + "# b\xc3\xb6b\n", "line 2"},
		"not UTF-8":                  {one + "# b\xf6b\n", "line 2"},
		"form feed as a line break":  {strings.TrimSuffix(one, "\n") + "\f" + two, "line 1"},
		"line of spaces":             {one + "  \n", "line 2"},
		"space first":                {" " + one, "line 1"},
		"two spaces":                 {"alice  " + opts + " " + key, "line 1"},
		"space at the end":           {"alice " + opts + " " + key + " ", "comment"},
		"comment with spaces around": {"alice " + opts + " " + key + "  x", "comment"},
		"no options":                 {"alice " + key, "line 1"},
		"no namespaces":              {`alice valid-before="20271130120000Z" ` + key, "no namespaces"},
		"typo in an option":          {`alice namespace="` + ns + `" ` + key, "not accepted"},
		"option in capitals":         {`alice NAMESPACES="` + ns + `" ` + key, "not accepted"},
		"option twice":               {"alice " + opts + "," + opts + " " + key, "twice"},
		"option without quotes":      {"alice namespaces=" + ns + " " + key, "value"},
		"option without end":         {`alice namespaces="` + ns + " " + key, "closing quote"},
		"option without value":       {"alice " + opts + ",cert-authority " + key, "value"},
		"comma at the end":           {"alice " + opts + ", " + key, "value"},
		"text after an option":       {"alice " + opts + "x " + key, "after the value"},
		"escaped quote":              {`alice namespaces="a\"b" ` + key, "line 1"},
		"cert-authority":             {"alice cert-authority," + opts + " " + key, "not accepted"},
		"empty namespaces":           {`alice namespaces="" ` + key, "plain name"},
		"empty name in a list":       {`alice namespaces="a,,b" ` + key, "plain name"},
		"namespace twice":            {`alice namespaces="a,b,a" ` + key, "twice"},
		"pattern in namespaces":      {`alice namespaces="*" ` + key, "plain name"},
		"negated namespace":          {`alice namespaces="!root.v1@sbxcron" ` + key, "plain name"},
		"space in namespaces":        {`alice namespaces="a, b" ` + key, "line 1"},
		"pattern as principal":       {"* " + opts + " " + key, "principal"},
		"negated principal":          {"!alice " + opts + " " + key, "principal"},
		"list of principals":         {"alice,bob " + opts + " " + key, "principal"},
		"quoted principal":           {`"alice" ` + opts + " " + key, "principal"},
		"endless principal":          {strings.Repeat("a", 129) + " " + opts + " " + key, "principal"},
		"same key twice":             {one + one, "line 2: the key of line 1 again"},
		"same key, limits lifted": {
			`alice namespaces="x",valid-before="20200101Z" ` + key + "\n" + one, "line 2: the key of line 1 again"},
		"same key, other principal": {one + "eve " + opts + " " + key, "line 2: the key of line 1 again"},
		"time without zone":         {`alice ` + opts + `,valid-before="20271130120000" ` + key, "valid-before"},
		"time in words":             {`alice ` + opts + `,valid-before="tomorrow" ` + key, "valid-before"},
		"time that is none":         {`alice ` + opts + `,valid-before="20270230Z" ` + key, "valid-before"},
		"time zero":                 {`alice ` + opts + `,valid-before="19700101Z" ` + key, "valid-before"},
		"times turned round": {
			`alice ` + opts + `,valid-after="20271130Z",valid-before="20261130Z" ` + key, "not before"},
		"times alike": {
			`alice ` + opts + `,valid-after="20271130Z",valid-before="20271130Z" ` + key, "not before"},
		"type differs inside":       {"alice " + opts + " " + keyOf("ssh-rsa", blob), "inside"},
		"base64 without padding":    {"alice " + opts + " " + strings.TrimRight(keyOf(ssh.KeyAlgoED25519, append(blob, 0)), "="), "line 1"},
		"bytes after the key":       {"alice " + opts + " " + keyOf(ssh.KeyAlgoED25519, append(bytes.Clone(blob), 0, 0, 0)), "after the last field"},
		"certificate":               {"alice " + opts + " " + keyOf(ssh.CertAlgoED25519v01, concat(str(ssh.CertAlgoED25519v01), str("x"))), "unknown key type"},
		"DSA":                       {"alice " + opts + " " + keyOf("ssh-dss", str("ssh-dss")), "unknown key type"},
		"ECDSA P-384":               {"alice " + opts + " " + keyOf(ssh.KeyAlgoECDSA384, concat(str(ssh.KeyAlgoECDSA384), str("nistp384"), str(append([]byte{4}, make([]byte, 96)...)))), "not accepted"},
		"point off the curve":       {"alice " + opts + " " + keyOf(ssh.KeyAlgoECDSA256, concat(str(ssh.KeyAlgoECDSA256), str("nistp256"), str(append([]byte{4}, make([]byte, 64)...)))), "line 1"},
		"identity point":            {"alice " + opts + " " + ed(append([]byte{1}, make([]byte, 31)...)), "small order"},
		"identity point, sign set":  {"alice " + opts + " " + ed(append(append([]byte{1}, make([]byte, 30)...), 0x80)), "small order"},
		"second encoding of y":      {"alice " + opts + " " + ed(append(append([]byte{0xee}, bytes.Repeat([]byte{0xff}, 30)...), 0x7f)), "encoding"},
		"short Ed25519 key":         {"alice " + opts + " " + ed(make([]byte, 31)), "31 bytes"},
		"RSA 1024":                  {"alice " + opts + " " + rsaKey(1024, 65537), "1024 bits"},
		"RSA 2048":                  {"alice " + opts + " " + rsaKey(2048, 65537), "2048 bits"},
		"RSA 3064":                  {"alice " + opts + " " + rsaKey(3064, 65537), "3064 bits"},
		"RSA 8200":                  {"alice " + opts + " " + rsaKey(8200, 65537), "8200 bits"},
		"RSA 16384":                 {"alice " + opts + " " + rsaKey(16384, 65537), "16384 bits"},
		"RSA with a large exponent": {"alice " + opts + " " + rsaKey(3072, 1<<31-1), "exponent"},
		"RSA with exponent 1":       {"alice " + opts + " " + rsaKey(3072, 1), "exponent"},
		"RSA, e with a zero first": {"alice " + opts + " " + keyOf(ssh.KeyAlgoRSA,
			concat(str(ssh.KeyAlgoRSA), str("\x00\x01\x00\x01"), str(append([]byte{0x41}, bytes.Repeat([]byte{1}, 383)...)))), "shortest"},
		"file of 65 KiB": {one + "#" + strings.Repeat(" ", 65<<10), "64 KiB"},
		"201 lines":      {one + strings.Repeat("#\n", 200), "200 lines"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			trust, err := signing.ParseTrust([]byte(tt.file), []byte{}, all)
			if code(t, err) != "trust_refused" || trust != nil {
				t.Fatalf("got %v, %v", trust, err)
			}
			if !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %q, want it to say %q", err, tt.want)
			}
		})
	}
}

func TestTrustFileIsReadAsWritten(t *testing.T) {
	a, b := signingtest.FixedKey(t, "a", "alice@example.org", ns, "root.v1@sbxcron"), signingtest.FixedKey(t, "b", "bob", ns)
	key := strings.TrimSuffix(signing.FormatRevoked(b.Public()), "\n")
	file := "# who may sign\n\n" + a.Line(t) +
		`bob valid-before="203001010930Z",namespaces="` + ns + `",valid-after="20260101Z" ` + key + " bob at work" // no newline
	trust := trustOf(t, file, string(signingtest.RevokedKeys(a)), signing.Algorithms{})
	want := []signing.Signer{
		{Principal: "alice@example.org", KeyID: a.KeyID(), Key: a.Public(), Namespaces: []string{ns, "root.v1@sbxcron"}, Revoked: true},
		{Principal: "bob", KeyID: b.KeyID(), Key: b.Public(), Namespaces: []string{ns},
			ValidAfter:  time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC),
			ValidBefore: time.Date(2030, 1, 1, 9, 30, 0, 0, time.UTC)},
	}
	sameKey := cmp.Comparer(func(x, y ssh.PublicKey) bool { return bytes.Equal(x.Marshal(), y.Marshal()) })
	if d := cmp.Diff(want, trust.Signers(), sameKey); d != "" {
		t.Error(d)
	}
	trust.Signers()[0].Namespaces[0] = "changed"
	if trust.Signers()[0].Namespaces[0] != ns {
		t.Error("the caller can change the trust file")
	}
	// Stock ssh-keygen reads the same file.
	q := signingtest.Stock{Allowed: []byte(file), Principal: "bob", Namespace: ns, At: noon}
	if err := q.Verify(t, opBytes, signing.Armor(b.Sign(t, ns, opBytes))); err != nil {
		t.Error(err)
	}
}

func TestWrittenLinesAreReadAgain(t *testing.T) {
	k := signingtest.NewKey(t, "alice", ns)
	s := signing.Signer{Principal: "alice", Key: k.Public(), Namespaces: []string{"a", ns}, ValidBefore: noon.Add(time.Millisecond)}
	line, err := signing.FormatSigner(s)
	if err != nil {
		t.Fatal(err)
	}
	got := trustOf(t, line, "", signing.Algorithms{}).Signers()[0]
	if got.Principal != "alice" || !got.ValidBefore.Equal(noon) || !got.MaySign("a") || got.MaySign("b") || !got.ValidAfter.IsZero() {
		t.Errorf("got %+v", got)
	}
	for name, bad := range map[string]signing.Signer{
		"no key":           {Principal: "alice", Namespaces: []string{ns}},
		"no namespaces":    {Principal: "alice", Key: k.Public()},
		"no principal":     {Key: k.Public(), Namespaces: []string{ns}},
		"newline":          {Principal: "alice\nmallory", Key: k.Public(), Namespaces: []string{ns}},
		"quote":            {Principal: "alice", Key: k.Public(), Namespaces: []string{`a" `}},
		"turned round":     {Principal: "alice", Key: k.Public(), Namespaces: []string{ns}, ValidAfter: noon, ValidBefore: noon},
		"before the epoch": {Principal: "alice", Key: k.Public(), Namespaces: []string{ns}, ValidBefore: time.Unix(0, 0)},
	} {
		if line, err := signing.FormatSigner(bad); err == nil {
			t.Errorf("%s: wrote %q", name, line)
		}
	}
}

func TestOddListsOfRevokedKeysAreRefused(t *testing.T) {
	k := signingtest.FixedKey(t, "a", "alice", ns)
	key := signing.FormatRevoked(k.Public())
	rsaSecondForm := keyOf(ssh.KeyAlgoRSA, concat(str(ssh.KeyAlgoRSA), str("\x00\x01\x00\x01"), str("\x00\xff")))
	tests := map[string]struct {
		file []byte
		want string
	}{
		"missing":               {nil, "missing"},
		"garbage":               {[]byte(key + "garbage\n"), "line 2"},
		"line of the other":     {[]byte(k.Line(t)), "line 1"},
		"CRLF":                  {[]byte(strings.ReplaceAll(key, "\n", "\r\n")), "line 1"},
		"KRL":                   {[]byte("SSHKRL\n\x00\x00\x00\x00\x01"), "line 2"},
		"cut off":               {[]byte(key[:len(key)-9]), "line 1"},
		"fingerprint":           {[]byte("sha256:" + k.KeyID() + "\n"), "line 1"},
		"key in a second form":  {[]byte(rsaSecondForm), "shortest"},
		"type differs inside":   {[]byte(strings.Replace(key, "ed25519", "rsa", 1)), "inside"},
		"more than 200 lines":   {[]byte(strings.Repeat(key, 201)), "200 lines"},
		"fields parted by tabs": {[]byte(strings.Replace(key, " ", "\t", 1)), "line 1"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := signing.ParseTrust([]byte(k.Line(t)), tt.file, signing.Algorithms{})
			if code(t, err) != "trust_refused" || !strings.Contains(err.Error(), "revoked_keys") || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want it to say %q", err, tt.want)
			}
		})
	}
	for name, file := range map[string]string{"empty": "", "comment": "# none\n", "twice": key + key, "with comment": strings.TrimSpace(key) + " alice@laptop"} {
		if _, err := signing.ParseTrust([]byte(k.Line(t)), []byte(file), signing.Algorithms{}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestSamePointUnderAnotherTypeIsAnotherKey(t *testing.T) {
	k := signingtest.NewKey(t, "alice", ns)
	sk, _ := skBlob(t, k, 1)
	trust := trustOf(t, k.Line(t), keyOf(ssh.KeyAlgoSKED25519, sk)+"\n", signing.Algorithms{})
	if _, err := trust.Verify(opBytes, k.Sign(t, ns, opBytes), noon); err != nil {
		t.Errorf("token's key revoked, plain key refused: %v", err)
	}
}

func TestHugeRSAKeyInASignatureIsRefusedUnseen(t *testing.T) {
	k := signingtest.NewKey(t, "alice", ns)
	for _, key := range []string{rsaKey(16384, 65537), rsaKey(3072, 1<<31-1), rsaKey(1024, 65537)} {
		blob, err := base64.StdEncoding.DecodeString(strings.Fields(key)[1])
		if err != nil {
			t.Fatal(err)
		}
		c := good(k)
		c.key, c.alg, c.sig = blob, ssh.KeyAlgoRSASHA512, bytes.Repeat([]byte{1}, 384)
		if _, err := signing.ParseSignature(c.blob()); code(t, err) != "sig_alg_unsupported" {
			t.Errorf("got %v", err)
		}
	}
}
