package runnertest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/sbxcron/sbxcron/jobspec"
)

// keyFile is no server: a private key that the job has as a credential.
func keyFile(l *Lab, _ string) (*offer, error) {
	key := filepath.Join(l.Dir, "key")
	if out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "test", "-f", key).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("make a key: %w: %s", err, out)
	}
	private, err := os.ReadFile(key)
	return &offer{credentials: []jobspec.Credential{{Name: "key", As: "path:~/.ssh/id_ed25519"}}, values: map[string]string{"key": string(private)}}, err
}

// ringFile is no server either: a text, its signature and the public key.
func ringFile(l *Lab, _ string) (*offer, error) {
	if _, err := tool("gpg"); err != nil {
		return nil, err
	}
	dir, home := l.folder("ring"), filepath.Join(l.Dir, "gnupg")
	script := `set -e; mkdir -m 700 "$1"; cd "$2"; export GNUPGHOME="$1"; trap 'gpgconf --kill all' EXIT
gpg -q --batch --passphrase '' --quick-generate-key job@example.org ed25519; echo text >text; gpg -q --batch -b text; gpg -q --export >ring`
	if out, err := exec.Command("/bin/sh", "-c", script, "sh", home, dir).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("make a signature: %w: %s", err, out)
	}
	return &offer{reads: []string{dir}, env: map[string]string{"FOLDER": dir}}, nil
}
