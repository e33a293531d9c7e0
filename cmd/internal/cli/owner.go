package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/sbxcron/sbxcron/cmd/internal/ui"
	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/signing"
	"github.com/sbxcron/sbxcron/signing/keysource"
)

// owner is the principal that an op will speak for, the key where it is known,
// and why the key would not count. The principal is always the one that
// allowed_signers gives the key; nobody can name another.
type owner struct {
	principal jobspec.Principal
	keyID     string
	signer    keysource.Signer // nil unless a key was opened
	trust     *signing.Trust
	lines     []signing.Signer // the lines of allowed_signers that may sign
}

// keyFlags say which key signs.
type keyFlags struct {
	key       string
	principal string
}

// knownOwner finds out who the owner is without touching a private key: from a
// fingerprint, a .pub file or the .pub file beside a private one.
func (a *App) knownOwner(site Site, k keyFlags) (owner, error) {
	trust, err := site.Trust()
	if err != nil {
		return owner{}, err
	}
	if k.principal != "" {
		return ownerNamed(trust, k.principal)
	}
	key, err := chosenKey(site, k)
	if err != nil {
		return owner{}, err
	}
	match, err := publicPart(key)
	if err != nil {
		return owner{}, err
	}
	for _, s := range trust.Signers() {
		if match(s) {
			return owner{principal: jobspec.Principal(s.Principal), keyID: s.KeyID, trust: trust, lines: []signing.Signer{s}}, nil
		}
	}
	return owner{}, unknownKey(key)
}

// ownerNamed takes all keys of a principal, where another machine will sign.
func ownerNamed(trust *signing.Trust, principal string) (owner, error) {
	o := owner{principal: jobspec.Principal(principal), trust: trust}
	for _, s := range trust.Signers() {
		if s.Principal == principal {
			o.lines = append(o.lines, s)
		}
	}
	if len(o.lines) == 0 {
		return owner{}, ownError(jobspec.CodePrincipalUnknown, jobspec.CodePrincipalUnknown.Class(),
			jobspec.CodePrincipalUnknown.Remedy(), "principal %q has no line in allowed_signers", principal)
	}
	return o, nil
}

// openOwner opens the key that will sign. Nothing is asked yet.
func (a *App) openOwner(ctx context.Context, site Site, k keyFlags) (owner, error) {
	trust, err := site.Trust()
	if err != nil {
		return owner{}, err
	}
	key, err := chosenKey(site, k)
	if err != nil {
		return owner{}, err
	}
	signer, err := a.openKey(ctx, key)
	if err != nil {
		return owner{}, err
	}
	s, ok := trust.Find(signer.Public())
	if !ok {
		return owner{}, unknownKey(key)
	}
	return owner{principal: jobspec.Principal(s.Principal), keyID: s.KeyID, signer: signer, trust: trust, lines: []signing.Signer{s}}, nil
}

func (a *App) openKey(ctx context.Context, key string) (keysource.Signer, error) {
	return a.Ports.Key(ctx, keysource.Source{Key: key, AgentSocket: a.Getenv("SSH_AUTH_SOCK"), Passphrase: a.askPassphrase})
}

func (a *App) askPassphrase(_ context.Context, path string, attempt int) ([]byte, error) {
	prompt := fmt.Sprintf("Passphrase for %s: ", ui.Escape(path))
	if attempt > 1 {
		prompt = "That was not it. " + prompt
	}
	secret, err := a.UI.Passphrase(prompt)
	if errors.Is(err, ui.ErrNoTerminal) {
		return nil, needFlag("load the key into ssh-agent and name it by its .pub file, or use plan, ssh-keygen -Y sign, apply",
			"key %q has a passphrase and there is no terminal to ask on", path)
	}
	return secret, err
}

// maxKeyFile bounds a key file, in bytes: an encrypted RSA key has some 4 KiB.
const maxKeyFile = 64 << 10

// chosenKey is --key, else the one that init recorded.
func chosenKey(site Site, k keyFlags) (string, error) {
	if k.key != "" {
		return k.key, nil
	}
	key, err := site.DefaultKey()
	if err != nil {
		return "", err
	}
	if key == "" {
		return "", needFlag("--key FILE, or --key with a .pub file or SHA256:... of a key in ssh-agent", "no key to sign with is named")
	}
	return key, nil
}

// publicPart tells which line of allowed_signers belongs to a key, from what is
// public of it.
func publicPart(key string) (func(signing.Signer) bool, error) {
	if strings.HasPrefix(key, "SHA256:") {
		return func(s signing.Signer) bool { return s.KeyID == key }, nil
	}
	file := key
	if !strings.HasSuffix(file, ".pub") {
		file += ".pub"
	}
	text, err := readFile(file, maxKeyFile)
	if err != nil {
		return nil, fileError(err, "name a .pub file or a fingerprint with --key, or say who signs with --principal")
	}
	public, _, _, _, err := ssh.ParseAuthorizedKey(text)
	if err != nil {
		return nil, fileError(fmt.Errorf("read %q: %w", file, err), "name an OpenSSH public key")
	}
	return func(s signing.Signer) bool { return bytes.Equal(s.Key.Marshal(), public.Marshal()) }, nil
}

func unknownKey(key string) error {
	return ownError(jobspec.CodeKeyUnknown, jobspec.CodeKeyUnknown.Class(), jobspec.CodeKeyUnknown.Remedy(),
		"key %q has no line in allowed_signers", key)
}

// judge says why none of the owner's keys would count for namespace at a time,
// with the reason of the last one; "" when one does.
func (o owner) judge(namespace string, at time.Time) (jobspec.Code, string) {
	code, detail := jobspec.CodeKeyUnknown, "no key"
	for _, s := range o.lines {
		err := o.trust.Allows(s.Key, namespace, at)
		if err == nil {
			return "", ""
		}
		code, detail = jobspec.CodeOf(err), err.Error()
	}
	return code, detail
}

// mayUse is judge as an error, for ops that Decide does not look at.
func (o owner) mayUse(namespace string, at time.Time) error {
	code, detail := o.judge(namespace, at)
	if code == "" {
		return nil
	}
	return ownError(code, code.Class(), code.Remedy(), "%s", detail)
}
