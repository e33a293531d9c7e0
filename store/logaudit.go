package store

import (
	"fmt"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/store/checkpoint"
	"github.com/sbxcron/sbxcron/store/merkle"
)

// LogFault is something that speaks against the ledger.
type LogFault struct {
	Reason jobspec.Code
	Where  string // file, leaf or op
	Detail string
}

// LogAudit is what checkpoints say of a ledger.
type LogAudit struct {
	Checkpoints int64 // that were held against the lines
	Lines       int64
	Proven      int64            // lines that the largest checkpoint which holds vouches for
	Keys        *checkpoint.Keys // of the epochs, as far as they could be followed; nil where genesis has none
	Newest      Signed           // as it lies in CONF, if it was accepted
	Faults      []LogFault
}

// Witness is a checkpoint that somebody else has kept, unverified: an owner in an
// op, or an auditor.
type Witness struct {
	Where string
	Note  string
}

func (a *LogAudit) against(where string, err error) {
	a.Faults = append(a.Faults, LogFault{jobspec.CodeOr(err, jobspec.CodeCheckpointInvalid), where, err.Error()})
}

// AuditLog reads every line and every checkpoint, signs nothing and needs no lock.
// It goes on after a fault, so that each is named. The error says that a file
// could not be read at all; what is wrong in it is a fault.
func AuditLog(d Dirs, h *History, genesisKey string, brought []Witness) (*LogAudit, error) {
	a := &LogAudit{}
	receipts, err := receiptsOf(d) // first: what is newer than these, they cannot know
	if err != nil {
		return nil, err
	}
	notes, newest, err := readTogether(d)
	if err != nil {
		return nil, err
	}
	if a.Keys, err = checkpoint.NewKeys(genesisKey); err != nil {
		a.against("genesis", err)
		return a, nil
	}
	all := a.followEpochs(d, notes)
	all = append(all, a.readNewest(d, newest)...)
	all = append(all, a.judgeWitnesses(d, receipts, brought)...)
	a.Checkpoints = int64(len(all))
	a.replay(d, h, all)
	return a, nil
}

// followEpochs learns the keys. Behind an epoch that is refused no key is
// certified, so what was signed since is refused as well.
func (a *LogAudit) followEpochs(d Dirs, notes []string) (all []checkpoint.Named) {
	for i, note := range notes {
		where := fmt.Sprintf("%s, epoch %d", d.Epochs(), i+1)
		c, err := a.Keys.End(note)
		if err != nil {
			a.against(where, err)
			continue
		}
		all = append(all, checkpoint.Named{Checkpoint: c, Where: where})
	}
	return all
}

func (a *LogAudit) readNewest(d Dirs, note string) []checkpoint.Named {
	where := d.Checkpoint()
	if note == "" {
		return nil
	}
	c, err := a.Keys.Open(note)
	if err == nil && c.Ends() && c.Epoch == a.Keys.Epoch() {
		_, err = a.Keys.End(note) // a crash came between the two writes
	}
	if err != nil {
		a.against(where, err)
		return nil
	}
	if end, ok := a.Keys.Ended(); ok && c.Epoch <= end.Epoch && c != end {
		a.Faults = append(a.Faults, LogFault{jobspec.CodeCheckpointRollback, where, fmt.Sprintf("it is of epoch %d, and epoch %d has ended", c.Epoch, end.Epoch)})
	}
	a.Newest = Signed{c, note}
	return []checkpoint.Named{{Checkpoint: c, Where: where}}
}

// maxFaults is how many faults of receipts are told one by one.
const maxFaults = 20

// receiptsOf are the checkpoints of the receipts.
func receiptsOf(d Dirs) (all []Witness, err error) {
	err = ReadReceipts(d, func(line int64, note string) error {
		all = append(all, Witness{fmt.Sprintf("%s line %d", d.Receipts(), line), note})
		return nil
	})
	return all, err
}

// readTogether reads the epochs and the newest checkpoint as they were at one
// time: a service may be going on meanwhile.
func readTogether(d Dirs) (epochs []string, newest string, err error) {
	for range 100 {
		before, err := ReadCheckpoint(d)
		if err != nil {
			return nil, "", err
		}
		if epochs, _, err = ReadEpochs(d); err != nil {
			return nil, "", err
		}
		if newest, err = ReadCheckpoint(d); err != nil || newest == before {
			return epochs, newest, err
		}
	}
	return epochs, newest, nil
}

// judgeWitnesses takes receipts and what others have kept. None of them may know of
// more than the newest checkpoint does.
func (a *LogAudit) judgeWitnesses(d Dirs, receipts, brought []Witness) (all []checkpoint.Named) {
	var ahead *checkpoint.Named
	take := func(w Witness) bool {
		c, err := a.Keys.Open(w.Note)
		if err != nil {
			a.against(w.Where, err)
			return false
		}
		n := checkpoint.Named{Checkpoint: c, Where: w.Where}
		if a.behind(c) && (ahead == nil || c.Size > ahead.Size) {
			ahead = &n
		}
		all = append(all, n)
		return true
	}
	bad := 0
	for _, r := range receipts {
		if bad < maxFaults && !take(r) {
			bad++
		}
	}
	for _, w := range brought {
		take(w)
	}
	if ahead != nil {
		a.Faults = append(a.Faults, LogFault{jobspec.CodeCheckpointRollback, d.Checkpoint(),
			fmt.Sprintf("%s has a checkpoint of %d lines in epoch %d, and the newest one is older or gone", ahead.Where, ahead.Size, ahead.Epoch)})
	}
	return all
}

// behind reports whether the newest checkpoint knows less than c.
func (a *LogAudit) behind(c checkpoint.Checkpoint) bool {
	return a.Newest.Note == "" || c.Size > a.Newest.Size || c.Epoch > a.Newest.Epoch
}

// replay holds the lines against all checkpoints in one walk.
func (a *LogAudit) replay(d Dirs, h *History, all []checkpoint.Named) {
	r := checkpoint.NewReplay(all)
	err := h.ScanLines(0, func(_ int64, line []byte) error {
		a.Lines++
		r.Line(line)
		return nil
	})
	if err != nil {
		a.against(d.LedgerDir(), err)
	}
	faults, proven := r.End()
	a.Proven = proven
	for i, f := range faults {
		if i > 0 && f.Reason == faults[i-1].Reason && f.After == faults[i-1].After {
			continue // every later checkpoint says the same
		}
		where := d.LedgerDir()
		if f.Reason == jobspec.CodeLedgerTampered {
			where = a.locate(d, h, f)
		}
		a.Faults = append(a.Faults, LogFault{f.Reason, where, f.Detail(a.Lines)})
	}
}

// locate names the first leaf whose line does not have the hash that the file of
// hashes keeps, where that file still gives the root of the checkpoint.
func (a *LogAudit) locate(d Dirs, h *History, f checkpoint.Fault) string {
	s, done, err := openStored(d)
	if err != nil {
		return d.LedgerDir()
	}
	defer done()
	if _, err := s.Frontier(f.Size, f.Root); err != nil {
		return d.LedgerDir()
	}
	where := d.LedgerDir()
	_ = h.ScanLines(f.After, func(index int64, line []byte) error {
		kept, err := s.Leaf(index)
		if err == nil && index < f.Size && kept == merkle.LeafHash(line) {
			return nil
		}
		where = fmt.Sprintf("leaf %d", index)
		return errFound
	})
	return where
}
