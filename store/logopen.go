package store

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/store/checkpoint"
	"github.com/sbxcron/sbxcron/store/merkle"
	"github.com/sbxcron/sbxcron/store/safefile"
)

// Certified is what genesis says of the log.
type Certified struct {
	Key     string    // verifier key of the first epoch
	Created time.Time // when that began
}

// OpenLog holds a ledger that nothing was appended to yet against its checkpoints
// and goes on from there. With keys it can make checkpoints; a change of the key
// that a crash has cut short is finished then. What contradicts a checkpoint is an
// *Error that names the file: nothing may run after it.
//
// Lines that the newest checkpoint vouches for are read only where the kept hashes
// do not give its root; the others are read and hashed.
func OpenLog(ledger *Ledger, c Certified, keys AuditKeys, disk Disk) (*Log, error) {
	l := &Log{dirs: ledger.dirs, disk: disk, ledger: ledger, keys: keys, begun: c.Created}
	if err := l.readCheckpoints(c.Key); err != nil {
		return nil, err
	}
	if err := l.rightKey(); err != nil {
		return nil, err
	}
	if err := l.openTree(); err != nil {
		return nil, errors.Join(err, l.closeTree())
	}
	ledger.mu.Lock()
	ledger.hashed = true
	ledger.mu.Unlock()
	return l, nil
}

func (l *Log) fault(code jobspec.Code, path, format string, args ...any) error {
	return &Error{Reason: code, Seq: NoSeq, Path: path, Detail: fmt.Sprintf(format, args...)}
}

// readCheckpoints reads the epochs and the newest checkpoint.
func (l *Log) readCheckpoints(genesisKey string) error {
	notes, whole, err := ReadEpochs(l.dirs)
	if err != nil {
		return err
	}
	if l.known, err = EpochKeys(l.dirs, genesisKey, notes); err != nil {
		return err
	}
	if end, ok := l.known.Ended(); ok {
		l.begun = end.Time.Time()
	}
	if err := l.cutEpochs(whole); err != nil {
		return err
	}
	note, err := ReadCheckpoint(l.dirs)
	if err != nil {
		return err
	}
	if note == "" {
		return l.noCheckpoint(len(notes))
	}
	newest, err := l.known.Open(note)
	if err != nil {
		return &Error{Reason: jobspec.CodeOf(err), Seq: NoSeq, Path: l.dirs.Checkpoint(), Detail: "the newest checkpoint is refused", Err: err}
	}
	l.newest = Signed{newest, note}
	if newest.Ends() && newest.Epoch == l.known.Epoch() {
		return l.closeEpoch(l.newest) // a crash came between the two writes
	}
	if end, ok := l.known.Ended(); ok && newest.Epoch <= end.Epoch && newest != end {
		return l.fault(jobspec.CodeCheckpointRollback, l.dirs.Checkpoint(), "the newest checkpoint is of epoch %d, and epoch %d has ended", newest.Epoch, end.Epoch)
	}
	return nil
}

// noCheckpoint tells a ledger that has none yet from one whose checkpoint is gone.
func (l *Log) noCheckpoint(epochs int) error {
	_, err := os.Lstat(l.dirs.Receipts())
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	} else if err == nil {
		err = ReadReceipts(l.dirs, func(int64, string) error { return errHasReceipt })
	}
	switch {
	case epochs > 0 || errors.Is(err, errHasReceipt):
		return l.fault(jobspec.CodeCheckpointRollback, l.dirs.Checkpoint(), "the newest checkpoint is gone, and the ledger had checkpoints")
	default:
		return err
	}
}

var errHasReceipt = errors.New("there is a receipt")

// EpochKeys are the keys that the last checkpoints of the epochs certify, one
// after the other.
func EpochKeys(d Dirs, genesisKey string, notes []string) (*checkpoint.Keys, error) {
	keys, err := checkpoint.NewKeys(genesisKey)
	if err != nil {
		return nil, err
	}
	for i, note := range notes {
		if _, err := keys.End(note); err != nil {
			return nil, &Error{Reason: jobspec.CodeOf(err), Seq: NoSeq, Path: d.Epochs(), Detail: fmt.Sprintf("the last checkpoint of epoch %d is refused", i+1), Err: err}
		}
	}
	return keys, nil
}

// cutEpochs removes a checkpoint that was never finished.
func (l *Log) cutEpochs(whole int64) error {
	st, err := os.Lstat(l.dirs.Epochs())
	if errors.Is(err, fs.ErrNotExist) || err == nil && st.Size() == whole {
		return nil
	}
	if err != nil {
		return err
	}
	f, err := safefile.Open(l.dirs.Epochs(), os.O_WRONLY, safefile.Options{UID: l.dirs.UID, Secret: true})
	if err != nil {
		return err
	}
	return errors.Join(f.Truncate(whole), f.Sync(), f.Close())
}

// rightKey finds out whether the private key is that of the newest epoch, and
// finishes a change that was cut short behind its checkpoint.
func (l *Log) rightKey() error {
	if l.keys == nil {
		return nil
	}
	current, err := l.keys.Current()
	if err == nil && checkpoint.Fits(current, l.known.Key()) {
		return nil
	}
	next, nerr := l.keys.Pending()
	if nerr == nil && checkpoint.Fits(next, l.known.Key()) {
		return l.keys.TakeOver()
	}
	if err == nil {
		err = errors.New("it is the key of another epoch")
	}
	return &Error{Reason: jobspec.CodeAuditKeyLost, Seq: NoSeq, Path: l.dirs.AuditKey(), Detail: fmt.Sprintf("no checkpoint of epoch %d can be signed", l.known.Epoch()), Err: err}
}

// openTree brings the tree to the length of the ledger.
func (l *Log) openTree() error {
	if n := l.ledger.Len(); n < l.newest.Size {
		return l.fault(jobspec.CodeLedgerTruncated, l.dirs.LedgerDir(), "the newest checkpoint vouches for %d lines, and %d are there", l.newest.Size, n)
	}
	if err := l.openHashes(); err != nil {
		return err
	}
	if l.newest.Note != "" {
		if f, err := merkle.NewStored(l.hashes).Frontier(l.newest.Size, l.newest.Root); err == nil {
			l.tree = f
			return l.catchUp()
		}
	}
	return l.catchUp() // from the first line on
}

// openHashes opens the file of hashes, or makes it.
func (l *Log) openHashes() (err error) {
	path := l.dirs.Tree()
	l.hashes, err = safefile.Open(path, os.O_RDWR, safefile.Options{UID: l.dirs.UID, Secret: true})
	if errors.Is(err, fs.ErrNotExist) {
		l.hashes, err = os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	}
	return err
}

func (l *Log) closeTree() error {
	if l.hashes == nil {
		return nil
	}
	return l.hashes.Close()
}

// atOnce is how many hashes of leaves are taken into the tree together.
const atOnce = 1 << 14

// catchUp hashes the lines that the tree does not have, and holds the result
// against the newest checkpoint where the tree has passed it.
func (l *Log) catchUp() error {
	at := merkle.StoredBytes(l.tree.Size())
	if err := errors.Join(l.hashes.Truncate(at), seek(l.hashes, at)); err != nil {
		return err
	}
	var fresh []merkle.Hash
	flush := func() error {
		err := l.grow(fresh)
		fresh = fresh[:0]
		return err
	}
	err := l.ledger.ScanLines(l.tree.Size(), func(index int64, line []byte) error {
		fresh = append(fresh, merkle.LeafHash(line))
		if len(fresh) < atOnce && index+1 != l.newest.Size {
			return nil
		}
		if err := flush(); err != nil || index+1 != l.newest.Size {
			return err
		}
		return l.holdNewest()
	})
	return errors.Join(err, flush())
}

func (l *Log) holdNewest() error {
	if l.tree.Root() == l.newest.Root {
		return nil
	}
	return l.fault(jobspec.CodeLedgerTampered, l.dirs.LedgerDir(), "the first %d lines do not give the root of the newest checkpoint: one was changed, removed, added or moved", l.newest.Size)
}

func seek(f *os.File, at int64) error {
	_, err := f.Seek(at, io.SeekStart)
	return err
}
