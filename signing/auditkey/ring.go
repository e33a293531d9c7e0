package auditkey

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/mod/sumdb/note"

	"github.com/sbxcron/sbxcron/signing/internal/keyfile"
)

// nextExt is what the name of the next key's file ends with.
const nextExt = ".next"

// Ring is the key of the epoch and, while it is being changed, that of the next.
type Ring struct {
	Path string // of the key of the epoch
	Name string // of the log
}

// Current reads the key of the epoch.
func (r Ring) Current() (note.Signer, error) { return Load(r.Path) }

// Next makes a key for the next epoch, beside the current one, and returns its
// verifier key. One that was made before and never certified is thrown away.
func (r Ring) Next() (string, error) {
	if err := os.Remove(r.Path + nextExt); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("remove a key that was not used: %w", err)
	}
	return Create(r.Path+nextExt, r.Name)
}

// Pending reads the key that Next made; fs.ErrNotExist where there is none.
func (r Ring) Pending() (note.Signer, error) { return Load(r.Path + nextExt) }

// TakeOver puts the next key in the place of the current one, whose file is gone
// then. Its bytes may still lie on the disk: no file system that writes copies or
// a journal, and no flash memory, lets a program write over a place. What is
// promised is that no file holds the old key and that the change is durable.
func (r Ring) TakeOver() error {
	if err := os.Rename(r.Path+nextExt, r.Path); err != nil {
		return fmt.Errorf("change the audit key: %w", err)
	}
	if err := keyfile.SyncFolder(filepath.Dir(r.Path)); err != nil {
		return fmt.Errorf("change the audit key: %w", err)
	}
	return nil
}
