package store

import (
	"archive/tar"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/sbxcron/sbxcron/store/safefile"
)

// manifestName is the last member of a backup: the SHA-256 of each one before it.
// A backup that was cut short has none and is refused.
const manifestName = "MANIFEST"

const chainMember = "chain.db"

// memberName is what a backup may hold. Nothing in it leads out of a folder.
var memberName = regexp.MustCompile(`^(chain\.db|(conf|ledger|trust|output/[0-9]{4}-[0-9]{2}-[0-9]{2})/[A-Za-z0-9][A-Za-z0-9._-]*)$`)

// Backup writes a snapshot of STATE and of the public files of CONF to w, as a tar
// file. Whoever holds the lock may ask for it, so nothing is written meanwhile. The
// chain is copied by a transaction of the database, never as a file, and only when
// the pin proves it. Private keys, credentials, and what can be derived (runs.db)
// are not in it.
func Backup(d Dirs, lock *Lock, w io.Writer) error {
	if !lock.holds(d) {
		return fmt.Errorf("back up: the lock %q is not held", d.Lock())
	}
	c, err := OpenChain(d)
	if err != nil {
		return err
	}
	b := &backup{dirs: d, tar: tar.NewWriter(w)}
	err = b.chain(c)
	if err = errors.Join(err, c.Close()); err != nil {
		return fmt.Errorf("back up: %w", err)
	}
	if err := b.rest(); err != nil {
		return fmt.Errorf("back up: %w", err)
	}
	return nil
}

type backup struct {
	dirs     Dirs
	tar      *tar.Writer
	manifest strings.Builder
}

func (b *backup) chain(c *Chain) error {
	return guard(b.dirs.ChainDB(), func() error {
		return c.db.View(func(tx *bolt.Tx) error {
			return b.member(chainMember, tx.Size(), time.Time{}, func(w io.Writer) error {
				_, err := tx.WriteTo(w)
				return err
			})
		})
	})
}

func (b *backup) rest() error {
	for _, path := range []string{b.dirs.Host(), b.dirs.Pin(), b.dirs.AllowedSigners(), b.dirs.RevokedKeys(), b.dirs.Policy(), b.dirs.Checkpoint()} {
		if err := b.file("conf/"+filepath.Base(path), path, safefile.Options{UID: b.dirs.UID}); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	for _, dir := range []string{b.dirs.LedgerDir(), b.dirs.TrustDir(), b.dirs.OutputDir()} {
		if err := b.folder(dir); err != nil {
			return err
		}
	}
	text := b.manifest.String()
	err := b.member(manifestName, int64(len(text)), time.Time{}, func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	})
	return errors.Join(err, b.tar.Close())
}

// folder takes the regular files that are ours by their names, which leaves out
// what a crash left half written.
func (b *backup) folder(dir string) error {
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		name, err := filepath.Rel(b.dirs.State, path)
		if name = filepath.ToSlash(name); err != nil || !memberName.MatchString(name) {
			return err
		}
		return b.file(name, path, safefile.Options{UID: b.dirs.UID, Secret: true})
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

func (b *backup) file(name, path string, o safefile.Options) error {
	f, err := safefile.Open(path, os.O_RDONLY, o)
	if err != nil {
		return err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return err
	}
	return b.member(name, st.Size(), st.ModTime(), func(w io.Writer) error {
		_, err := io.CopyN(w, f, st.Size())
		return err
	})
}

func (b *backup) member(name string, size int64, at time.Time, fill func(io.Writer) error) error {
	if err := b.tar.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Size: size, Mode: 0o600, ModTime: at}); err != nil {
		return err
	}
	sum := sha256.New()
	if err := fill(io.MultiWriter(b.tar, sum)); err != nil {
		return err
	}
	fmt.Fprintf(&b.manifest, "%x  %s\n", sum.Sum(nil), name)
	return nil
}
