package checkpoint

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/canon"
	"github.com/sbxcron/sbxcron/store/merkle"
	"github.com/sbxcron/sbxcron/store/safefile"
)

const (
	memoryType = "sbxcron.seen/v1"
	maxMemory  = 16 << 10
)

// Memory is the newest checkpoint of one host that somebody has seen, and what is
// needed to check the next one. The first one is believed as it comes, as ssh
// believes the first key of a host; from then on nothing older and no other
// history is. Its zero value has seen nothing.
type Memory struct {
	Type       string         `json:"type"`
	Host       jobspec.HostID `json:"host"`
	Genesis    jobspec.Digest `json:"genesis"`    // of op 0
	Epoch      int64          `json:"epoch"`      // whose key it is
	Key        string         `json:"key"`        // verifier key
	Checkpoint string         `json:"checkpoint"` // absent where the ledger had none yet
}

// Answer is what a host says of itself to somebody with a Memory. Nothing in it is
// believed before Advance has checked it.
type Answer struct {
	Genesis    []byte   // the bytes of op 0
	Epochs     []string // last checkpoints, from the epoch of the Memory on
	Checkpoint string   // the newest
	Proof      []string // that its tree begins with the remembered one
}

// Seen is the remembered checkpoint; false where there is none.
func (m Memory) Seen() (Checkpoint, bool) {
	if m.Checkpoint == "" {
		return Checkpoint{}, false
	}
	c, err := Unverified(m.Checkpoint) // it was verified before it was remembered
	return c, err == nil
}

// Advance checks an answer of host and returns what is to be remembered from now
// on. An older checkpoint than the remembered one, or one of another history, is
// an *Error.
func (m Memory) Advance(host jobspec.HostID, a Answer) (Memory, error) {
	next, keys, err := m.begin(host, a.Genesis)
	if err != nil {
		return Memory{}, err
	}
	old, had := m.Seen()
	if a.Checkpoint == "" {
		if had {
			return Memory{}, rollback(fmt.Sprintf("host %s shows no checkpoint, and one of %d lines was seen before", host, old.Size))
		}
		next.Epoch, next.Key = keys.Epoch(), keys.Key()
		return next, nil
	}
	if u, err := Unverified(a.Checkpoint); err == nil && had && (u.Size < old.Size || u.Epoch < old.Epoch) {
		return Memory{}, rollback(fmt.Sprintf("host %s shows a checkpoint of %d lines in epoch %d, and one of %d lines in epoch %d was seen before", host, u.Size, u.Epoch, old.Size, old.Epoch))
	}
	for _, end := range a.Epochs {
		if _, err := keys.End(end); err != nil {
			return Memory{}, err
		}
	}
	c, err := keys.Open(a.Checkpoint)
	if err != nil {
		return Memory{}, err
	}
	if c.Ends() && c.Epoch == keys.Epoch() {
		if _, err := keys.End(a.Checkpoint); err != nil {
			return Memory{}, err
		}
	}
	if had {
		if err := followsBy(old, c, a.Proof); err != nil {
			return Memory{}, err
		}
	}
	next.Epoch, next.Key, next.Checkpoint = keys.Epoch(), keys.Key(), a.Checkpoint
	return next, nil
}

// begin finds the keys to go on from: those that are remembered, else those that
// genesis certifies.
func (m Memory) begin(host jobspec.HostID, genesis []byte) (Memory, *Keys, error) {
	next := Memory{Type: memoryType, Host: host, Genesis: jobspec.DigestOf(genesis)}
	if m.Type == "" {
		op, err := jobspec.DecodeOp(genesis)
		switch {
		case err != nil:
			return Memory{}, nil, err
		case op.Root == nil || op.Host != host:
			return Memory{}, nil, invalid("the host shows no genesis of %s", host)
		}
		keys, err := NewKeys(op.Root.AuditKey)
		if err == nil && keys.Origin() != Origin(host) {
			err = invalid("genesis names the audit key of another log, %q", keys.Origin())
		}
		return next, keys, err
	}
	if m.Host != host || m.Genesis != next.Genesis {
		return Memory{}, nil, &Error{forkCode, fmt.Sprintf("host %s shows another genesis, %s, than the one that was seen before, %s", host, next.Genesis, m.Genesis)}
	}
	keys, err := ResumeKeys(m.Epoch, m.Key, m.before())
	return next, keys, err
}

// before is what no later checkpoint may lie before.
func (m Memory) before() Checkpoint {
	if c, ok := m.Seen(); ok {
		return c
	}
	return Checkpoint{Root: merkle.EmptyRoot()}
}

func followsBy(old, c Checkpoint, proof []string) error {
	var hashes []merkle.Hash
	for _, text := range proof {
		h, err := merkle.ParseHash(text)
		if err != nil {
			return formError("a proof: " + err.Error())
		}
		hashes = append(hashes, h)
	}
	return Follows(old, c, hashes)
}

func rollback(detail string) error { return &Error{jobspec.CodeCheckpointRollback, detail} }

// MemoryFile is where a folder keeps what was seen of a host.
func MemoryFile(dir string, host jobspec.HostID) string {
	return filepath.Join(dir, string(host)+".json")
}

// Recall reads what dir keeps of a host; the zero Memory where nothing was seen.
// The folder belongs to uid and to nobody else.
func Recall(dir string, host jobspec.HostID, uid int) (Memory, error) {
	path := MemoryFile(dir, host)
	b, err := safefile.Read(path, safefile.Options{MaxBytes: maxMemory, UID: uid})
	if errors.Is(err, fs.ErrNotExist) {
		return Memory{}, nil
	}
	if err != nil {
		return Memory{}, err
	}
	var m Memory
	if err := canon.Unmarshal(b, &m, maxMemory); err != nil || m.Type != memoryType || m.Host != host {
		return Memory{}, invalid("%q is not what was seen of host %s", path, host)
	}
	return m, nil
}

// Keep writes what is to be remembered into dir, which exists. Several processes
// may do so at one time: each writes a file of its own and puts it in place whole.
func (m Memory) Keep(dir string) error {
	b, err := canon.Marshal(&m)
	if err == nil {
		err = keep(dir, MemoryFile(dir, m.Host), b)
	}
	if err != nil {
		return fmt.Errorf("remember the checkpoint of host %s: %w", m.Host, err)
	}
	return nil
}

func keep(dir, path string, b []byte) error {
	f, err := os.CreateTemp(dir, ".seen-*") // 0600, whatever the umask
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return (safefile.RealDisk{}).SyncDir(dir)
}
