package evidence

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/sbxcron/sbxcron/signing"
	"github.com/sbxcron/sbxcron/store"
	"github.com/sbxcron/sbxcron/store/safefile"
)

// packer writes the members of a bundle.
type packer struct {
	*tar.Writer
	now time.Time
}

func (t *packer) stream(name string, size int64, from io.Reader) error {
	h := &tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o600, Size: size, ModTime: t.now.Truncate(time.Second), Format: tar.FormatUSTAR}
	if err := t.WriteHeader(h); err != nil {
		return fmt.Errorf("bundle: %s: %w", name, err)
	}
	if _, err := io.CopyN(t, from, size); err != nil {
		return fmt.Errorf("bundle: %s: %w", name, err)
	}
	return nil
}

func (t *packer) bytes(name string, b []byte) error {
	return t.stream(name, int64(len(b)), bytes.NewReader(b))
}

func (t *packer) op(e store.Entry) error {
	name := "ops/" + opFile(e.Seq)
	if err := t.bytes(name, e.Op); err != nil {
		return err
	}
	for i, sig := range e.Sigs {
		end := ".sig"
		if i > 0 {
			end = fmt.Sprintf(".sig.%d", i+1)
		}
		if err := t.bytes(name+end, signing.Armor(sig)); err != nil {
			return err
		}
	}
	return nil
}

// notes writes the checkpoints. The service writes checkpoint, epochs and receipts
// in this order; read the other way round, none knows of more than the one before.
func (t *packer) notes(d store.Dirs) error {
	for {
		receipts, err := readIf(d.Receipts())
		if err != nil {
			return err
		}
		epochs, err := readIf(d.Epochs())
		if err != nil {
			return err
		}
		checkpoint, err := readIf(d.Checkpoint())
		if err != nil {
			return err
		}
		again, err := readIf(d.Epochs())
		if err != nil {
			return err
		}
		if !bytes.Equal(epochs, again) {
			continue // an epoch ended meanwhile, which it does once a day
		}
		return errors.Join(t.present("state/ledger/receipts", whole(receipts)), t.present("state/ledger/epochs", epochs), t.present("conf/checkpoint", checkpoint))
	}
}

// present writes a file that is not empty; an absent one says the same.
func (t *packer) present(name string, b []byte) error {
	if len(b) == 0 {
		return nil
	}
	return t.bytes(name, b)
}

// whole cuts what lies behind the last line end.
func whole(b []byte) []byte { return b[:bytes.LastIndexByte(b, '\n')+1] }

func readIf(path string) ([]byte, error) {
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return b, err
}

// folder writes the plain files of a folder whose names a bundle knows.
func (t *packer) folder(dir, as string) error {
	names, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, n := range names {
		name := as + "/" + n.Name()
		if !inBundle.MatchString(name) || !n.Type().IsRegular() {
			continue
		}
		b, err := readIf(filepath.Join(dir, n.Name()))
		if err != nil {
			return err
		}
		if err := t.bytes(name, b); err != nil {
			return err
		}
	}
	return nil
}

// outputs writes what is kept of what runs wrote, and the salts beside it.
func (t *packer) outputs(d store.Dirs) error {
	days, err := os.ReadDir(d.OutputDir())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, day := range days {
		if err := t.folder(filepath.Join(d.OutputDir(), day.Name()), "state/output/"+day.Name()); err != nil {
			return err
		}
	}
	return nil
}

// lines writes the months of the ledger, each up to its last line end as of now: the
// service goes on writing behind it.
func (t *packer) lines(d store.Dirs) error {
	names, err := os.ReadDir(d.LedgerDir())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, n := range names {
		name := "state/ledger/" + n.Name()
		if !strings.HasSuffix(name, ".jsonl") || !inBundle.MatchString(name) {
			continue
		}
		if err := t.month(filepath.Join(d.LedgerDir(), n.Name()), name, d.UID); err != nil {
			return err
		}
	}
	return nil
}

func (t *packer) month(path, name string, uid int) error {
	f, err := safefile.Open(path, os.O_RDONLY, safefile.Options{UID: uid, Secret: true})
	if err != nil {
		return err
	}
	defer f.Close()
	size, err := wholeLines(f)
	if err != nil {
		return err
	}
	return t.stream(name, size, io.NewSectionReader(f, 0, size))
}

// wholeLines is how many bytes of a file its whole lines take.
func wholeLines(f *os.File) (int64, error) {
	st, err := f.Stat()
	if err != nil {
		return 0, err
	}
	const step = 128 << 10 // longer than any line
	from := max(0, st.Size()-step)
	tail := make([]byte, st.Size()-from)
	if _, err := f.ReadAt(tail, from); err != nil && err != io.EOF {
		return 0, err
	}
	return from + int64(len(whole(tail))), nil
}
