package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync/atomic"

	bolt "go.etcd.io/bbolt"

	"github.com/sbxcron/sbxcron/jobspec"
)

const opsBucket = "ops"

// Chain is an open chain of ops whose history was proven when it was opened.
// Several goroutines may use it.
type Chain struct {
	dirs  Dirs
	db    *bolt.DB
	file  *os.File
	state atomic.Pointer[State]
}

// Load proves the history of d and closes the chain again. See OpenChain.
func Load(d Dirs) (*State, error) {
	c, err := OpenChain(d)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	return c.State(), nil
}

// OpenChain opens the chain for reading and proves its history from the pin.
//
// Errors: *UninitialisedError; *LockedError while another process has the chain
// open for writing; *Error with init_incomplete, pin_missing, pin_corrupt,
// chain_missing, chain_rollback, op_tampered, chain_broken, host_mismatch or
// store_corrupt; *safefile.Error.
func OpenChain(d Dirs) (*Chain, error) {
	o := dbOptions(chainMapped, chainMax)
	o.ReadOnly = true
	return openChain(d, o)
}

func openChain(d Dirs, o *bolt.Options) (*Chain, error) {
	host, pin, err := anchors(d)
	if err != nil {
		return nil, err
	}
	db, file, err := openExisting(d, d.ChainDB(), o)
	if err != nil {
		return nil, err
	}
	c := &Chain{dirs: d, db: db, file: file}
	if err := c.prove(host, pin); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// anchors reads what lies outside the database and says what is missing.
func anchors(d Dirs) (jobspec.HostID, Pin, error) {
	host, err := ReadHost(d)
	noHost := errors.Is(err, fs.ErrNotExist)
	if err != nil && !noHost {
		return "", Pin{}, err
	}
	pin, err := ReadPin(d)
	noPin := errors.Is(err, fs.ErrNotExist)
	if err != nil && !noPin {
		return "", Pin{}, err
	}
	_, err = os.Lstat(d.ChainDB())
	noChain := errors.Is(err, fs.ErrNotExist)
	if err != nil && !noChain {
		return "", Pin{}, err
	}
	missing := func(code jobspec.Code, path, detail string) error {
		return &Error{Reason: code, Seq: NoSeq, Path: path, Detail: detail}
	}
	switch {
	case noPin && noChain && noHost:
		return "", Pin{}, &UninitialisedError{Conf: d.Conf}
	case noPin && noChain:
		return "", Pin{}, missing(jobspec.CodeInitIncomplete, d.Pin(), "init did not finish: neither pin nor chain is there; run init again")
	case noChain:
		return "", Pin{}, missing(jobspec.CodeChainMissing, d.ChainDB(), "the pin is there and the chain is missing")
	case noPin && unfinished(d):
		return "", Pin{}, missing(jobspec.CodeInitIncomplete, d.Pin(), "init did not finish: genesis is there and the pin is missing; run init again")
	case noPin:
		return "", Pin{}, missing(jobspec.CodePinMissing, d.Pin(), "the chain is there and the pin is missing")
	case noHost:
		return "", Pin{}, missing(jobspec.CodeHostMismatch, d.Host(), "the host id is missing")
	case pin.Host != host:
		return "", Pin{}, missing(jobspec.CodeHostMismatch, d.Pin(), fmt.Sprintf("the pin is for host %q, this is %q", pin.Host, host))
	}
	return host, pin, nil
}

// unfinished tells an interrupted init from a chain that lost its pin.
func unfinished(d Dirs) bool {
	_, found, err := UnpinnedGenesis(d)
	return err == nil && found
}

// prove reads the whole chain once and keeps what it adds up to.
func (c *Chain) prove(host jobspec.HostID, pin Pin) error {
	return c.read(func(ops *bolt.Bucket) error {
		state, err := prove(c.dirs.ChainDB(), host, pin, ops.Cursor())
		c.state.Store(state)
		return err
	})
}

// read runs fn on the ops in one guarded read transaction.
func (c *Chain) read(fn func(ops *bolt.Bucket) error) error {
	path := c.dirs.ChainDB()
	return guard(path, func() error {
		return c.db.View(func(tx *bolt.Tx) error {
			ops := tx.Bucket([]byte(opsBucket))
			if ops == nil {
				return corrupt(path, errors.New("the ops are missing"))
			}
			return fn(ops)
		})
	})
}

// State is the proven history at the time of opening or of the last commit. It
// never changes; a commit makes a new one.
func (c *Chain) State() *State { return c.state.Load() }

// Entry reads one proven op anew, as each trigger does, and holds its bytes
// against the proven digest and the open file against the one at its path. The
// signatures are as found: whoever relies on them verifies them.
func (c *Chain) Entry(seq int64) (Entry, error) {
	want, ok := c.State().Digest(seq)
	if !ok {
		return Entry{}, c.fault(jobspec.CodeSeqInvalid, seq, "not in the proven history")
	}
	if err := c.inPlace(); err != nil {
		return Entry{}, err
	}
	var e Entry
	err := c.read(func(ops *bolt.Bucket) error {
		value := ops.Get(seqKey(seq))
		if value == nil {
			return c.fault(jobspec.CodeOpTampered, seq, "the op is gone")
		}
		var err error
		if e, err = decodeEntry(seq, value); err != nil {
			return &Error{Reason: jobspec.CodeOpTampered, Seq: seq, Path: c.dirs.ChainDB(), Detail: "the entry is damaged", Err: err}
		}
		return nil
	})
	if err != nil {
		return Entry{}, err
	}
	if jobspec.DigestOf(e.Op) != want {
		return Entry{}, c.fault(jobspec.CodeOpTampered, seq, "the bytes are not those that were proven")
	}
	return e, nil
}

// Recheck holds the pin in CONF and the file in STATE against what is open, and
// finds an exchange of either under a running service.
func (c *Chain) Recheck() error {
	if err := c.inPlace(); err != nil {
		return err
	}
	pin, err := ReadPin(c.dirs)
	if errors.Is(err, fs.ErrNotExist) {
		return &Error{Reason: jobspec.CodePinMissing, Seq: NoSeq, Path: c.dirs.Pin(), Detail: "the pin is gone"}
	}
	if err != nil {
		return err
	}
	if mine := c.State().Pin; pin.Seq != mine.Seq || pin.Digest != mine.Digest || pin.Host != mine.Host {
		return &Error{Reason: jobspec.CodeChainRollback, Seq: pin.Seq, Path: c.dirs.Pin(), Detail: "the pin is not the head that was proven"}
	}
	return nil
}

// inPlace finds a database that was renamed away or replaced: the open file
// would go on answering from the old one.
func (c *Chain) inPlace() error {
	if sameFile(c.file, c.dirs.ChainDB()) {
		return nil
	}
	if _, err := os.Lstat(c.dirs.ChainDB()); errors.Is(err, fs.ErrNotExist) {
		return c.fault(jobspec.CodeChainMissing, NoSeq, "the file was removed while open")
	}
	return c.fault(jobspec.CodeChainRollback, NoSeq, "another file was put in its place")
}

func (c *Chain) fault(code jobspec.Code, seq int64, detail string) error {
	return &Error{Reason: code, Seq: seq, Path: c.dirs.ChainDB(), Detail: detail}
}

// Close gives the database back.
func (c *Chain) Close() error {
	return guard(c.dirs.ChainDB(), c.db.Close)
}

// ReadEntries returns every entry of the chain that can be read, whether or not
// it fits the pin, for showing and judging what is left of a broken chain. What
// it returns is proven by nothing and starts nothing.
func ReadEntries(d Dirs) (entries []Entry, err error) {
	o := dbOptions(chainMapped, chainMax)
	o.ReadOnly = true
	db, file, err := openExisting(d, d.ChainDB(), o)
	if err != nil {
		return nil, err
	}
	c := &Chain{dirs: d, db: db, file: file}
	err = c.read(func(ops *bolt.Bucket) error {
		return ops.ForEach(func(k, v []byte) error {
			seq, err := keySeq(k)
			if err != nil {
				return nil
			}
			if e, err := decodeEntry(seq, v); err == nil {
				entries = append(entries, e)
			}
			return nil
		})
	})
	return entries, errors.Join(err, c.Close())
}
