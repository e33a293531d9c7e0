package evidence

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/sbxcron/sbxcron/signing"
	"github.com/sbxcron/sbxcron/store"
)

// A bundle is a tar archive: the files of a root folder that an auditor needs, under
// the names that they have there, and ops/ in place of chain.db.

// inBundle are the names that a bundle may hold.
var inBundle = regexp.MustCompile(`^(ops/op-[0-9]{6,15}\.json(\.sig(\.[0-9]{1,2})?)?` +
	`|conf/checkpoint|state/ledger/([0-9]{4}-[0-9]{2}\.jsonl|epochs|receipts)` +
	`|state/trust/(allowed_signers|revoked_keys)\.[0-9a-f]{64}` +
	`|state/output/[0-9]{4}-[0-9]{2}-[0-9]{2}/[0-9A-Za-z._-]{1,200})$`)

// BundleError refuses what is no bundle.
type BundleError struct {
	Path, Detail string
}

func (e *BundleError) Error() string { return fmt.Sprintf("bundle %q: %s", e.Path, e.Detail) }

// Bundle is a bundle that was unpacked into a private folder.
type Bundle struct {
	Evidence
	dir string
}

// OpenBundle unpacks a bundle. Close removes what it unpacked.
func OpenBundle(path string) (b *Bundle, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	dir, err := os.MkdirTemp("", "sbxcron-audit-")
	if err != nil {
		return nil, err
	}
	b = &Bundle{dir: dir}
	defer func() {
		if err != nil {
			err = errors.Join(err, b.Close())
			b = nil
		}
	}()
	whole, err := f.Stat()
	if err != nil {
		return b, err
	}
	if err = unpack(tar.NewReader(f), path, dir, whole.Size()); err != nil {
		return b, err
	}
	if b.Dirs, err = store.RootDirs(dir, os.Getuid()); err != nil {
		return b, err
	}
	if b.Ops, err = readOps(filepath.Join(dir, "ops"), path); err != nil {
		return b, err
	}
	if b.History, err = store.OpenHistory(b.Dirs); err != nil {
		return b, err
	}
	b.Lines, b.prefix = b.History.Len(), filepath.Dir(b.Dirs.State)+string(filepath.Separator)
	if _, there := os.Lstat(b.Dirs.OutputDir()); there == nil {
		b.Outputs = store.NewOutputs(b.Dirs, nil)
	}
	return b, nil
}

// Close removes what was unpacked.
func (b *Bundle) Close() error { return os.RemoveAll(b.dir) }

// unpack takes plain files with the names of a bundle, each once, and nothing else. A
// sparse file would unpack to more than the archive holds.
func unpack(t *tar.Reader, path, dir string, left int64) error {
	for {
		h, err := t.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return &BundleError{path, fmt.Sprintf("it is no tar archive, or was cut short: %v", err)}
		}
		if h.Typeflag == tar.TypeDir {
			continue
		}
		if h.Typeflag != tar.TypeReg || !inBundle.MatchString(h.Name) {
			return &BundleError{path, fmt.Sprintf("it holds %q, which no bundle does", h.Name)}
		}
		if left -= h.Size; left < 0 {
			return &BundleError{path, fmt.Sprintf("%q is larger than the archive", h.Name)}
		}
		if err := unpackFile(t, filepath.Join(dir, filepath.FromSlash(h.Name))); err != nil {
			if errors.Is(err, fs.ErrExist) {
				return &BundleError{path, fmt.Sprintf("it holds %q twice", h.Name)}
			}
			return fmt.Errorf("unpack bundle %q: %w", path, err)
		}
	}
}

func unpackFile(from io.Reader, to string) error {
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, from)
	return errors.Join(err, f.Close())
}

// opFile is the name of an op in a bundle.
func opFile(seq int64) string { return fmt.Sprintf("op-%06d.json", seq) }

// readOps reads the ops in the order of their names. A signature that is no armour
// is kept as it is, and then is none.
func readOps(dir, path string) ([]store.Entry, error) {
	names, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	found := map[int64]*store.Entry{}
	for _, n := range names { // op-N.json comes before op-N.json.sig, and that before .sig.2
		var seq int64
		rest, _ := strings.CutPrefix(n.Name(), "op-")
		digits, kind, _ := strings.Cut(rest, ".json")
		if _, err := fmt.Sscanf(digits, "%d", &seq); err != nil || opFile(seq)+kind != n.Name() {
			return nil, &BundleError{path, fmt.Sprintf("ops/%s is no name of an op", n.Name())}
		}
		b, err := os.ReadFile(filepath.Join(dir, n.Name()))
		if err != nil {
			return nil, err
		}
		if found[seq] == nil {
			found[seq] = &store.Entry{Seq: seq}
		}
		if kind == "" {
			found[seq].Op = b
			continue
		}
		if blob, err := signing.Dearmor(b); err == nil {
			b = blob
		}
		found[seq].Sigs = append(found[seq].Sigs, b)
	}
	var all []store.Entry
	for _, e := range found {
		all = append(all, *e)
	}
	slices.SortFunc(all, func(a, b store.Entry) int { return int(a.Seq - b.Seq) })
	return all, nil
}

// WriteBundle writes the evidence of an installation, which may be running: ops are
// asked for when everything else that could name one was read.
func WriteBundle(w io.Writer, d store.Dirs, ops func() ([]store.Entry, error), outputs bool, now time.Time) error {
	t := &packer{tar.NewWriter(w), now}
	if err := errors.Join(t.notes(d), t.lines(d), t.folder(d.TrustDir(), "state/trust")); err != nil {
		return err
	}
	if outputs {
		if err := t.outputs(d); err != nil {
			return err
		}
	}
	all, err := ops()
	if err != nil {
		return err
	}
	for _, e := range all {
		if err := t.op(e); err != nil {
			return err
		}
	}
	return t.Close()
}
