package store

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/sbxcron/sbxcron/jobspec/record"
)

// Restored is one thing that Restore did, or found no need to do.
type Restored struct {
	Part   string // chain, ledger, trust, outputs
	Action string // kept, restored, lost: damaged, and not in the backup
	Path   string
	Aside  string // where the damaged one lies now, "" where there was none
}

// Restore puts back what is missing or damaged in STATE, from a backup. What is
// sound is kept, however old the backup; what is damaged is moved aside and never
// removed. CONF is never touched: pin and newest checkpoint there decide whether
// the backup is good, so that an older one cannot take a revocation back. Outputs
// that were pruned stay gone. A crash leaves a state that Restore goes on from.
func Restore(d Dirs, lock *Lock, backup io.Reader, now time.Time) ([]Restored, error) {
	if !lock.holds(d) {
		return nil, fmt.Errorf("restore: the lock %q is not held", d.Lock())
	}
	staged := Dirs{Conf: d.Conf, State: filepath.Join(d.State, ".restore"), Run: d.Run, UID: d.UID}
	if err := os.RemoveAll(staged.State); err != nil {
		return nil, fmt.Errorf("restore: %w", err)
	}
	if err := os.Mkdir(staged.State, 0o700); err != nil {
		return nil, fmt.Errorf("restore: %w", err)
	}
	r := &restorer{dirs: d, from: staged, aside: filepath.Join(d.State, "damaged-"+now.UTC().Format("20060102T150405Z"))}
	err := unpack(backup, staged.State)
	if err == nil {
		err = r.all()
	}
	return r.done, errors.Join(err, os.RemoveAll(staged.State))
}

type restorer struct {
	dirs, from Dirs
	aside      string // folder for what is damaged, which no reader of ours looks into
	done       []Restored
}

func (r *restorer) all() error {
	if err := r.chain(); err != nil {
		return err
	}
	chain, key := checkChain(r.dirs)
	if chain.Err != nil {
		return chain.Err
	}
	if err := r.ledger(key); err != nil {
		return err
	}
	return errors.Join(r.trust(AllowedSigners), r.trust(RevokedKeys), r.outputs())
}

// chain is restored only from one that holds the pinned op.
func (r *restorer) chain() error {
	_, err := Load(r.dirs)
	if err == nil || errors.As(err, new(*LockedError)) {
		r.note("chain", "kept", r.dirs.ChainDB(), "")
		return err
	}
	if _, err := Load(r.from); err != nil {
		return fmt.Errorf("the chain in the backup does not fit pin and host in CONF: %w", err)
	}
	return r.replace("chain", r.from.ChainDB(), r.dirs.ChainDB())
}

// ledger is restored only from one that every checkpoint fits.
func (r *restorer) ledger(key string) error {
	mine, _ := checkLedger(r.dirs, key)
	if mine.Err == nil {
		r.note("ledger", "kept", r.dirs.LedgerDir(), "")
		return nil
	}
	if theirs, _ := checkLedger(r.from, key); theirs.Err != nil {
		return fmt.Errorf("the ledger in the backup does not fit the checkpoint in CONF: %w", theirs.Err)
	}
	return r.replace("ledger", r.from.LedgerDir(), r.dirs.LedgerDir())
}

func (r *restorer) trust(kind TrustKind) error {
	copies, err := AllTrust(r.from, kind)
	if err != nil {
		return err
	}
	if err := makeDir(r.dirs.TrustDir(), 0o700); err != nil {
		return err
	}
	for _, c := range copies {
		if _, err := ReadTrust(r.dirs, kind, c.Digest); err == nil {
			continue
		}
		if err := r.replace("trust", r.from.trustCopy(kind, c.Digest), r.dirs.trustCopy(kind, c.Digest)); err != nil {
			return err
		}
	}
	return nil
}

// outputs are restored run by run, as the lines of the ledger bind them.
func (r *restorer) outputs() error {
	h, err := OpenHistory(r.dirs)
	if err != nil {
		return err
	}
	mine, theirs := NewOutputs(r.dirs, nil), NewOutputs(r.from, nil)
	return eachBound(h, func(leaf *record.Leaf, pruned bool) error {
		if pruned || len(mine.Verify(leaf)) == 0 {
			return nil
		}
		if len(theirs.Verify(leaf)) > 0 {
			r.note("outputs", "lost", leaf.Run, "")
			return nil
		}
		files, err := filepath.Glob(filepath.Join(r.from.OutputDir(), "*", leaf.Run+".*"))
		if err != nil {
			return err
		}
		return r.files(files)
	})
}

func (r *restorer) files(files []string) error {
	for _, from := range files {
		name, err := filepath.Rel(r.from.State, from)
		if err != nil {
			return err
		}
		to := filepath.Join(r.dirs.State, name)
		if err := makeDir(filepath.Dir(to), 0o700); err != nil {
			return err
		}
		if err := r.replace("outputs", from, to); err != nil {
			return err
		}
	}
	return nil
}

// replace moves what lies at to aside, puts from there, and makes both durable.
func (r *restorer) replace(part, from, to string) error {
	aside, err := r.putAside(to)
	if err != nil {
		return fmt.Errorf("restore %s: %w", part, err)
	}
	if err := os.Rename(from, to); err != nil {
		return fmt.Errorf("restore %s: %w", part, err)
	}
	r.note(part, "restored", to, aside)
	return RealDisk{}.SyncDir(filepath.Dir(to))
}

// putAside answers "" where there is nothing.
func (r *restorer) putAside(path string) (aside string, err error) {
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	name, err := filepath.Rel(r.dirs.State, path)
	if err != nil {
		return "", err
	}
	aside = filepath.Join(r.aside, name)
	if err := makeDir(filepath.Dir(aside), 0o700); err != nil {
		return "", err
	}
	return aside, os.Rename(path, aside)
}

func (r *restorer) note(part, action, path, aside string) {
	r.done = append(r.done, Restored{Part: part, Action: action, Path: path, Aside: aside})
}
