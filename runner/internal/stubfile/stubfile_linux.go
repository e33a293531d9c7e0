package stubfile

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/runner/stub"
)

// File is the emitted stub as a file of its own. The zero value is none.
type File struct {
	path   string
	digest jobspec.Digest
	size   int64
}

// Path is where it lies.
func (s File) Path() string { return s.path }

// Digest is that of its bytes.
func (s File) Digest() jobspec.Digest { return s.digest }

// Write puts the stub for this machine to dir/stub-DIGEST, 0555, unless the
// right bytes are there already.
func Write(dir string) (File, error) {
	elf, err := stub.Emit(runtime.GOARCH)
	if err != nil {
		return File{}, err
	}
	digest := jobspec.DigestOf(elf)
	s := File{path: filepath.Join(dir, fmt.Sprintf("stub-%x", digest[:])), digest: digest, size: int64(len(elf))}
	if f, err := s.Open(); err == nil {
		return s, f.Close()
	}
	if err := replaceFile(s.path, elf, 0o555); err != nil {
		return File{}, fmt.Errorf("write the stub: %w", err)
	}
	return s, nil
}

// replaceFile writes a new file beside path and renames it into place, so that
// no reader ever sees half of it.
func replaceFile(path string, b []byte, mode fs.FileMode) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".new-")
	if err != nil {
		return err
	}
	_, werr := f.Write(b)
	err = errors.Join(werr, f.Chmod(mode), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

// Open opens the stub at offset 0 and checks its bytes through the very
// descriptor that the sandbox copies it from.
func (s File) Open() (*os.File, error) {
	f, err := os.Open(s.path)
	if err != nil {
		return nil, fmt.Errorf("open the stub: %w", err)
	}
	h := sha256.New()
	n, err := io.Copy(h, io.NewSectionReader(f, 0, s.size+1))
	if err != nil || n != s.size || jobspec.Digest(h.Sum(nil)) != s.digest {
		f.Close()
		return nil, errors.Join(fmt.Errorf("the stub %s is not the one that was emitted", s.path), err)
	}
	return f, nil
}
