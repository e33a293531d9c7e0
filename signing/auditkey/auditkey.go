package auditkey

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"

	"golang.org/x/mod/sumdb/note"

	"github.com/sbxcron/sbxcron/signing/internal/keyfile"
)

// maxFile bounds the key file: a name, a hash and 33 bytes in base64.
const maxFile = 1024

// Create makes an audit key, writes it to a new file with mode 0600 and returns
// the verifier key ("name+hash+base64") that the owner certifies in genesis. The
// name is that of the log, without spaces and plus signs. An existing file is an
// error that errors.Is fs.ErrExist.
func Create(path, name string) (string, error) {
	private, public, err := note.GenerateKey(rand.Reader, name)
	if err != nil {
		return "", fmt.Errorf("make audit key %q: %w", name, err)
	}
	if _, err := note.NewVerifier(public); err != nil {
		return "", fmt.Errorf("make audit key %q: %w", name, err)
	}
	if err := keyfile.Create(path, 0o600, []byte(private+"\n")); err != nil {
		return "", fmt.Errorf("make audit key: %w", err)
	}
	return public, nil
}

// Load reads the file that Create wrote. The error never quotes its content.
func Load(path string) (note.Signer, error) {
	data, err := keyfile.ReadOwn(path, maxFile)
	if err != nil {
		return nil, fmt.Errorf("load audit key: %w", err)
	}
	defer clear(data)
	line, ok := bytes.CutSuffix(data, []byte("\n"))
	if !ok || bytes.ContainsAny(line, "\r\n \t") {
		return nil, fmt.Errorf("load audit key %q: not one line", path)
	}
	signer, err := note.NewSigner(string(line))
	if err != nil {
		return nil, fmt.Errorf("load audit key %q: %w", path, errors.New("not a signer key of a note"))
	}
	return signer, nil
}
