package store

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/sbxcron/sbxcron/jobspec"
)

// Begin makes the chain of a new installation from its genesis, pins it, and
// returns the chain open. CONF/host must be there; a pin must not.
//
// The database is filled under another name and then renamed, so chain.db never
// exists without its genesis. A crash between that and the pin is resumed by
// calling Begin with the same op (see UnpinnedGenesis); any other op is refused
// with init_incomplete, since what lies there was perhaps a chain in use.
func Begin(d Dirs, lock *Lock, disk Disk, op, sig []byte, now time.Time, serial int64) (*Writer, error) {
	if !lock.holds(d) {
		return nil, fmt.Errorf("begin: the lock %q is not held", d.Lock())
	}
	if _, err := os.Lstat(d.Pin()); !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("begin: %q: %w", d.Pin(), fs.ErrExist)
	}
	host, err := ReadHost(d)
	if err != nil {
		return nil, fmt.Errorf("begin: %w", err)
	}
	if err := checkGenesis(host, op); err != nil {
		return nil, err
	}
	if err := placeGenesis(d, disk, Entry{Op: op, Sigs: [][]byte{sig}}); err != nil {
		return nil, err
	}
	pin := Pin{Host: host, Digest: jobspec.DigestOf(op), Time: jobspec.InstantOf(now), PolicySerial: serial}
	if err := writePin(disk, d, pin); err != nil {
		return nil, unknownState("move pin", err)
	}
	return OpenWriter(d, lock, disk)
}

func checkGenesis(host jobspec.HostID, raw []byte) error {
	op, err := jobspec.DecodeOp(raw)
	if err != nil {
		return err
	}
	if op.Host != host {
		return &jobspec.OpError{Reason: jobspec.CodeHostMismatch, Detail: fmt.Sprintf("made for host %q, this is %q", op.Host, host)}
	}
	var empty jobspec.View
	_, err = empty.Check(op)
	if err == nil && op.Action != jobspec.Genesis {
		err = &jobspec.OpError{Reason: jobspec.CodeSeqInvalid, Detail: fmt.Sprintf("action %q cannot begin a chain", op.Action)}
	}
	return err
}

// placeGenesis puts a database with only e in place, or finds it there.
func placeGenesis(d Dirs, disk Disk, e Entry) error {
	old, found, err := UnpinnedGenesis(d)
	if err != nil {
		return err
	}
	if found {
		if bytes.Equal(old.Op, e.Op) {
			return nil
		}
		return &Error{Reason: jobspec.CodeInitIncomplete, Path: d.ChainDB(), Detail: "another genesis lies there without a pin"}
	}
	value, err := e.encode()
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	temp := filepath.Join(d.State, ".chain.db.new")
	if err := os.Remove(temp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("begin: %w", err)
	}
	if err := disk.Commit(func() error { return fillDB(temp, value) }); err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	if err := disk.Rename(temp, d.ChainDB()); err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	return disk.SyncDir(d.State)
}

// fillDB makes a database that holds genesis. Closing it releases a synced file.
func fillDB(path string, genesis []byte) error {
	return guard(path, func() error {
		db, err := bolt.Open(path, 0o600, dbOptions(0, chainMax))
		if err != nil {
			return err
		}
		err = db.Update(func(tx *bolt.Tx) error {
			ops, err := tx.CreateBucket([]byte(opsBucket))
			if err != nil {
				return err
			}
			return ops.Put(seqKey(0), genesis)
		})
		return errors.Join(err, db.Close())
	})
}

// UnpinnedGenesis returns the genesis of an init that was interrupted before
// the pin. A chain of more than one op without a pin is pin_missing: that was
// no interrupted init.
func UnpinnedGenesis(d Dirs) (e Entry, found bool, err error) {
	if _, err := os.Lstat(d.ChainDB()); errors.Is(err, fs.ErrNotExist) {
		return Entry{}, false, nil
	}
	all, err := ReadEntries(d)
	if err != nil {
		return Entry{}, false, err
	}
	if len(all) != 1 || all[0].Seq != 0 {
		return Entry{}, false, &Error{Reason: jobspec.CodePinMissing, Seq: NoSeq, Path: d.Pin(), Detail: fmt.Sprintf("a chain of %d ops lies there without a pin", len(all))}
	}
	return all[0], true, nil
}
