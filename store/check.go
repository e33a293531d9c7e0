package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/record"
)

// Part is one part of STATE and what is wrong with it.
type Part struct {
	Name   string // chain, ledger, index, trust, outputs
	Path   string
	Err    error  // nil: nothing was found
	Detail string // what was looked at
}

// maxTold is how many faults of one part are told.
const maxTold = 20

// CheckParts reads all of STATE and changes nothing: the chain from the pin on,
// every line of the ledger against every checkpoint, the pages of the run index,
// the copies of trust files against their names, and the outputs against the lines
// that bind them. A *LockedError in the chain means that a service runs.
func CheckParts(d Dirs) []Part {
	chain, key := checkChain(d)
	ledger, history := checkLedger(d, key)
	return []Part{chain, ledger, checkIndex(d), checkTrust(d), checkOutputs(d, history)}
}

func checkChain(d Dirs) (p Part, auditKey string) {
	p = Part{Name: "chain", Path: d.ChainDB()}
	c, err := OpenChain(d)
	if err != nil {
		p.Err = err
		return p, ""
	}
	p.Detail = fmt.Sprintf("%d ops proven from the pin", c.State().Len())
	auditKey, err = c.auditKey()
	p.Err = errors.Join(err, c.Close())
	return p, auditKey
}

// auditKey is what genesis certifies, "" where it certifies none.
func (c *Chain) auditKey() (string, error) {
	e, err := c.Entry(0)
	if err != nil {
		return "", err
	}
	op, err := jobspec.DecodeOp(e.Op)
	if err != nil || op.Root == nil {
		return "", err
	}
	return op.Root.AuditKey, nil
}

// checkLedger answers no history where none can be opened.
func checkLedger(d Dirs, auditKey string) (Part, *History) {
	p := Part{Name: "ledger", Path: d.LedgerDir()}
	h, err := OpenHistory(d)
	if err != nil {
		p.Err = err
		return p, nil
	}
	if p.Err = h.Damage(); p.Err != nil {
		return p, h
	}
	if auditKey == "" {
		p.Detail = fmt.Sprintf("%d lines, not held against checkpoints: no key for them is known", h.Len())
		return p, h
	}
	a, err := AuditLog(d, h, auditKey, nil)
	if err != nil {
		p.Err = err
		return p, h
	}
	p.Detail = fmt.Sprintf("%d lines held against %d checkpoints", a.Lines, a.Checkpoints)
	var faults faultList
	for _, f := range a.Faults {
		faults.add(&Error{Reason: f.Reason, Seq: NoSeq, Path: d.LedgerDir(), Detail: f.Where + ": " + f.Detail})
	}
	p.Err = faults.join()
	return p, h
}

func checkIndex(d Dirs) Part {
	p := Part{Name: "index", Path: d.RunsDB(), Detail: "built anew by the next start where it does not fit"}
	if _, err := os.Lstat(d.RunsDB()); errors.Is(err, fs.ErrNotExist) {
		return p
	}
	o := runsOptions()
	o.ReadOnly = true
	db, _, err := openExisting(d, d.RunsDB(), o)
	if err == nil {
		err = guard(d.RunsDB(), db.Close)
	}
	p.Err = err
	return p
}

func checkTrust(d Dirs) Part {
	signers, err := AllTrust(d, AllowedSigners)
	revoked, err2 := AllTrust(d, RevokedKeys)
	return Part{Name: "trust", Path: d.TrustDir(), Err: errors.Join(err, err2),
		Detail: fmt.Sprintf("%d copies fit the digests in their names", len(signers)+len(revoked))}
}

func checkOutputs(d Dirs, h *History) Part {
	p := Part{Name: "outputs", Path: d.OutputDir()}
	if h == nil {
		p.Detail = "not looked at: the ledger cannot be read"
		return p
	}
	var faults faultList
	var runs int
	p.Err = eachBound(h, func(leaf *record.Leaf, pruned bool) error {
		runs++
		for _, bad := range NewOutputs(d, nil).Verify(leaf) {
			if bad.Fault != FaultMissing || !pruned {
				faults.add(&Error{Reason: jobspec.CodeStoreCorrupt, Seq: NoSeq, Path: d.OutputDir(),
					Detail: fmt.Sprintf("run %s %s: %s: %s", bad.Run, bad.Stream, bad.Fault, bad.Detail)})
			}
		}
		return nil
	})
	p.Err = errors.Join(p.Err, faults.join())
	p.Detail = fmt.Sprintf("outputs of %d runs held against the ledger", runs)
	return p
}

// eachBound calls fn with every leaf that binds outputs, and whether a later line
// says that they were removed. Damage ends it where the ledger ends.
func eachBound(h *History, fn func(leaf *record.Leaf, pruned bool) error) error {
	pruned := map[string]bool{}
	err := h.Scan(0, func(l Leaf) error {
		if l.Kind == record.Pruned {
			pruned[l.Run] = true
		}
		return nil
	})
	if err != nil && !errors.As(err, new(*LedgerError)) {
		return err
	}
	err = h.Scan(0, func(l Leaf) error {
		if !binds(l.Leaf) {
			return nil
		}
		return fn(l.Leaf, pruned[l.Run])
	})
	if errors.As(err, new(*LedgerError)) {
		return nil
	}
	return err
}

// faultList keeps the first faults and counts the others.
type faultList struct {
	told []error
	more int
}

func (f *faultList) add(err error) {
	if len(f.told) == maxTold {
		f.more++
		return
	}
	f.told = append(f.told, err)
}

func (f *faultList) join() error {
	if f.more > 0 {
		return errors.Join(append(f.told, fmt.Errorf("and %d more", f.more))...)
	}
	return errors.Join(f.told...)
}
