package signing_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sbxcron/sbxcron/signing"
	"github.com/sbxcron/sbxcron/signing/signingtest"
)

const vectorFolder = "../testdata/vectors/signing"

func vectorFile(t *testing.T, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(vectorFolder, name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestFrozenSignaturesAreJudgedAsEver(t *testing.T) {
	msg, seen := vectorFile(t, "message.json"), 0
	for line := range strings.Lines(string(vectorFile(t, "want.txt"))) {
		f := strings.Fields(line)
		if len(f) < 2 || f[0] == "#" {
			continue
		}
		seen++
		t.Run(f[0], func(t *testing.T) {
			text := vectorFile(t, f[0])
			sig, err := signing.ParseSignature(text)
			if err == nil {
				err = sig.Verify(msg)
			}
			got := code(t, err)
			if got == "" {
				got = "ok"
			}
			if got != f[1] {
				t.Errorf("got %s (%v), want %s", got, err, f[1])
			}
			if got == "ok" && string(signing.Armor(sig.Blob())) != string(text) {
				t.Error("written differently today")
			}
		})
	}
	if files, err := filepath.Glob(vectorFolder + "/*.sig"); err != nil || len(files) != seen {
		t.Errorf("%d signatures in want.txt, %d in the folder (%v)", seen, len(files), err)
	}
}

// TestEd25519SignaturesAreThoseOfStockSSHKeygen: the scheme leaves no choice
// (RFC 8032), so the same key and bytes give the same file.
func TestEd25519SignaturesAreThoseOfStockSSHKeygen(t *testing.T) {
	k := signingtest.FixedKey(t, "sbxcron vector", "alice", "manage.v1@sbxcron")
	got := signing.Armor(k.Sign(t, "manage.v1@sbxcron", vectorFile(t, "message.json")))
	if want := vectorFile(t, "ed25519.sig"); string(got) != string(want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestMarksInTheFrozenListAreTrue asks stock ssh-keygen, which needs the key: it
// is taken out of the signature by check-novalidate, which asks for none.
func TestMarksInTheFrozenListAreTrue(t *testing.T) {
	version, _ := signingtest.Run(t, nil, nil, "ssh", "-V")
	if !strings.HasPrefix(version, "OpenSSH_9.2p1") {
		t.Logf("the list is of OpenSSH 9.2p1, this is %s", strings.TrimSpace(version))
		return
	}
	msg := vectorFile(t, "message.json")
	for line := range strings.Lines(string(vectorFile(t, "want.txt"))) {
		f := strings.Fields(line)
		if len(f) < 2 || f[0] == "#" {
			continue
		}
		_, err := signingtest.Run(t, msg, nil, "ssh-keygen", "-Y", "check-novalidate", "-n", "manage.v1@sbxcron",
			"-s", filepath.Join(vectorFolder, f[0]))
		if marked := len(f) > 2 && f[2] == "*"; marked != (err == nil) {
			t.Errorf("%s: ssh-keygen says %v", f[0], err)
		}
	}
}
