package signingtest

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/sbxcron/sbxcron/signing"
)

// Tool is the path of a program of the host. Without it the test is skipped and
// says which one is missing.
func Tool(tb testing.TB, name string) string {
	tb.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		tb.Skipf("%s is not installed", name)
	}
	return path
}

// Run runs a program of the host with an environment of nothing but PATH, HOME
// (a new folder) and extra, and returns what it printed, both streams together.
func Run(tb testing.TB, stdin []byte, extra []string, name string, args ...string) (string, error) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, Tool(tb, name), args...)
	cmd.Env = append([]string{"PATH=/usr/bin:/bin", "HOME=" + tb.TempDir()}, extra...)
	cmd.Stdin = bytes.NewReader(stdin)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return string(out), fmt.Errorf("%s: %w: %s", name, err, bytes.TrimSpace(out))
	}
	return string(out), nil
}

// File writes a file of mode 0600 into a new folder and returns its path.
func File(tb testing.TB, name string, data []byte) string {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), name)
	if err := os.WriteFile(path, data, 0o600); err != nil {
		tb.Fatal(err)
	}
	return path
}

// Stock is a question to stock ssh-keygen -Y verify.
type Stock struct {
	Allowed   []byte    // allowed_signers
	Revoked   []byte    // revoked_keys; nil: not asked
	Principal string    // -I
	Namespace string    // -n
	At        time.Time // -O verify-time; zero: now
}

// Verify asks ssh-keygen whether the armored signature is good over msg; the
// error has what it printed.
func (s Stock) Verify(tb testing.TB, msg, armored []byte) error {
	tb.Helper()
	args := []string{
		"-Y", "verify", "-f", File(tb, "allowed_signers", s.Allowed), "-I", s.Principal, "-n", s.Namespace,
		"-s", File(tb, "sig", armored),
	}
	if s.Revoked != nil {
		args = append(args, "-r", File(tb, "revoked_keys", s.Revoked))
	}
	if !s.At.IsZero() {
		args = append(args, "-O", "verify-time="+s.At.UTC().Format("20060102150405Z"))
	}
	_, err := Run(tb, msg, nil, "ssh-keygen", args...)
	return err
}

// StockKey makes a key pair with ssh-keygen and returns the path of the private
// half: args say which, such as "-t", "ed25519".
func StockKey(tb testing.TB, args ...string) string {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "id")
	if _, err := Run(tb, nil, nil, "ssh-keygen", append([]string{"-q", "-C", "owner@test", "-f", path}, args...)...); err != nil {
		tb.Fatal(err)
	}
	return path
}

// StockSign signs msg with ssh-keygen -Y sign and returns the armored
// signature. The key may be a public one when extra has SSH_AUTH_SOCK.
func StockSign(tb testing.TB, extra []string, key, namespace string, msg []byte) []byte {
	tb.Helper()
	file := File(tb, "op", msg)
	if _, err := Run(tb, nil, extra, "ssh-keygen", "-Y", "sign", "-f", key, "-n", namespace, file); err != nil {
		tb.Fatal(err)
	}
	sig, err := os.ReadFile(file + ".sig")
	if err != nil {
		tb.Fatal(err)
	}
	return sig
}

// PublicLine is the line of allowed_signers of the key in a .pub file.
func PublicLine(tb testing.TB, pub, principal string, namespaces ...string) []byte {
	tb.Helper()
	line, err := signing.FormatSigner(signing.Signer{Principal: principal, Key: ReadPublic(tb, pub), Namespaces: namespaces})
	if err != nil {
		tb.Fatal(err)
	}
	return []byte(line)
}
