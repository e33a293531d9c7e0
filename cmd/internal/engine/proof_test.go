package engine

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"os"
	"reflect"
	"testing"
	"time"

	"github.com/sbxcron/sbxcron/cmd/internal/api"
	"github.com/sbxcron/sbxcron/cmd/internal/evidence"
	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/record"
	"github.com/sbxcron/sbxcron/signing/auditkey"
	"github.com/sbxcron/sbxcron/signing/signingtest"
	"github.com/sbxcron/sbxcron/store"
	"github.com/sbxcron/sbxcron/store/checkpoint"
	"github.com/sbxcron/sbxcron/store/storetest"
)

// sealedBench is a bench whose genesis certifies an audit key that is there.
func sealedBench(t *testing.T) *bench {
	t.Helper()
	namespaces := append([]string{jobspec.RootNamespace, jobspec.ManageNamespace}, jobspec.JobNamespaces()...)
	b := &bench{t: t, key: signingtest.FixedKey(t, "alice", "alice", namespaces...), now: storetest.Epoch().Add(time.Hour)}
	b.dirs = storetest.Root(t, string(signingtest.AllowedSigners(t, b.key)), "")
	must(t, os.WriteFile(b.dirs.Policy(), []byte("serial = 1\nenabled_platforms = [\"linux\"]\n"), 0o600))
	genesis := storetest.Genesis(t, b.dirs)
	var err error
	genesis.Root.AuditKey, err = auditkey.Create(b.dirs.AuditKey(), checkpoint.Origin(storetest.Host))
	must(t, err)
	b.ring = auditkey.Ring{Path: b.dirs.AuditKey(), Name: checkpoint.Origin(storetest.Host)}
	raw := storetest.Encode(t, genesis)
	lock, err := store.TryLock(b.dirs, store.LockWait)
	must(t, err)
	defer lock.Close()
	w, err := store.Begin(b.dirs, lock, store.RealDisk{}, raw, b.sign(jobspec.RootNamespace, raw), storetest.Epoch(), 0)
	must(t, err)
	must(t, w.Close())
	return b
}

// ran appends a run of a job and returns its id.
func (b *bench) ran(e *Engine, job jobspec.Name) string {
	b.t.Helper()
	b.now = b.now.Add(time.Minute)
	id, err := record.NewRunID(b.now, rand.Reader)
	must(b.t, err)
	j, ok := e.chain.State().View.Job(job)
	if !ok {
		b.t.Fatalf("no job %s", job)
	}
	slot := jobspec.SlotAt(b.now.Truncate(time.Minute), "UTC", 0)
	line := func(kind record.Kind) *record.Leaf {
		return &record.Leaf{Kind: kind, Job: job, Op: j.SpecOp, Seq: j.SpecSeq, Run: id, Slot: &slot, Scheduled: record.Stamp(b.now.Truncate(time.Minute))}
	}
	start, end := line(record.Started), line(record.Finished)
	start.Trust = e.trusted.allowed
	end.Outcome = record.OutcomeSucceeded
	_, err = e.Append(start)
	must(b.t, err)
	_, err = e.Append(end)
	must(b.t, err)
	return id
}

func TestARunIsProvenToWhoeverBringsAnAnchor(t *testing.T) {
	b := sealedBench(t)
	b.commit(jobspec.Add, "job")
	b.commit(jobspec.Add, "other")
	e := b.open(true)
	_, err := e.trust()
	must(t, err)
	var ids []string
	for range 5 {
		ids = append(ids, b.ran(e, "job"))
	}
	other := b.ran(e, "other")
	ctx := context.Background()
	if _, err := e.Prove(ctx, api.ProofQuery{Run: other}); jobspec.CodeOf(err) != jobspec.CodeCheckpointInvalid {
		t.Errorf("before there is a checkpoint: %v", err)
	}
	made, err := e.Checkpoint()
	must(t, err)
	kept := made[len(made)-1].Note
	young := b.ran(e, "job")
	if _, err := e.Prove(ctx, api.ProofQuery{Run: young}); jobspec.CodeOf(err) != jobspec.CodeCheckpointInvalid {
		t.Errorf("a run behind the checkpoint: %v", err)
	}
	b.now = b.now.Add(24 * time.Hour)
	_, err = e.Checkpoint()
	must(t, err)

	full, err := e.Prove(ctx, api.ProofQuery{Run: ids[2], Full: true})
	must(t, err)
	short, err := e.Prove(ctx, api.ProofQuery{Run: ids[2], Checkpoint: kept})
	must(t, err)
	genesis, err := e.chain.Entry(0)
	must(t, err)
	anchor := evidence.Anchor{Genesis: jobspec.DigestOf(genesis.Op)}
	signers := signingtest.AllowedSigners(t, b.key)
	witness := []store.Witness{{Where: "mine", Note: kept}}
	for name, c := range map[string]struct {
		p                 api.Proof
		a                 evidence.Anchor
		authentic, intact string
	}{
		"full, the genesis":                  {full, anchor, "pass", "pass"},
		"full, nothing":                      {full, evidence.Anchor{}, "not_checked", "not_checked"},
		"full, another genesis":              {full, evidence.Anchor{Genesis: jobspec.DigestOf(nil)}, "fail", "not_checked"},
		"short, a checkpoint":                {short, evidence.Anchor{Checkpoints: witness}, "not_checked", "pass"},
		"short, a checkpoint and signers":    {short, evidence.Anchor{Checkpoints: witness, Signers: signers}, "pass", "pass"},
		"short, the genesis":                 {short, anchor, "not_checked", "not_checked"},
		"full, the signers of somebody else": {full, evidence.Anchor{Genesis: anchor.Genesis, Signers: signingtest.AllowedSigners(t, signingtest.FixedKey(t, "eve", "eve", jobspec.RootNamespace))}, "fail", "pass"},
	} {
		v := evidence.CheckProof(&c.p, c.a)
		if v.Authentic != c.authentic || v.Intact != c.intact || v.Outcome != "succeeded" || v.Job != "job" {
			t.Errorf("%s: %+v", name, v)
		}
	}
	forged(t, e, full, anchor, other)
	everyByte(t, short, evidence.Anchor{Checkpoints: witness, Signers: signers})
	everyByte(t, full, anchor)
}

// forged tries proofs that are made of parts of good ones.
func forged(t *testing.T, e *Engine, good api.Proof, anchor evidence.Anchor, other string) {
	t.Helper()
	another, err := e.Prove(context.Background(), api.ProofQuery{Run: other, Full: true})
	must(t, err)
	for name, change := range map[string]func(p *api.Proof){
		"the lines of another run":      func(p *api.Proof) { p.Lines = another.Lines },
		"the op of another job":         func(p *api.Proof) { p.Op = another.Op },
		"the proof of another line":     func(p *api.Proof) { p.Lines[0].Proof = another.Lines[0].Proof },
		"the place of another line":     func(p *api.Proof) { p.Lines[0].Index++ },
		"no line":                       func(p *api.Proof) { p.Lines = nil },
		"an empty proof":                func(p *api.Proof) { p.Lines[0].Proof = nil },
		"a longer proof":                func(p *api.Proof) { p.Lines[0].Proof = append(p.Lines[0].Proof, make([]byte, 32)...) },
		"half a hash more":              func(p *api.Proof) { p.Lines[0].Proof = append(p.Lines[0].Proof, make([]byte, 16)...) },
		"a very long proof":             func(p *api.Proof) { p.Lines[0].Proof = make([]byte, 32<<12) },
		"an index below zero":           func(p *api.Proof) { p.Lines[0].Index = -1 },
		"a huge index":                  func(p *api.Proof) { p.Lines[0].Index = 1<<63 - 1 },
		"no checkpoint":                 func(p *api.Proof) { p.Checkpoint = "" },
		"no genesis":                    func(p *api.Proof) { p.Genesis = "" },
		"no epochs":                     func(p *api.Proof) { p.Epochs = nil },
		"epochs twice":                  func(p *api.Proof) { p.Epochs = append(p.Epochs, p.Epochs...) },
		"no signature":                  func(p *api.Proof) { p.Op.Sigs = nil },
		"no list of signers":            func(p *api.Proof) { p.Signers = "" },
		"a list with a comment more":    func(p *api.Proof) { p.Signers += "# more\n" },
		"another run's name":            func(p *api.Proof) { p.Run = other },
		"the other lines under its own": func(p *api.Proof) { p.Run, p.Lines, p.Op = other, another.Lines, good.Op },
	} {
		p := clone(t, good)
		change(&p)
		if v := evidence.CheckProof(&p, anchor); v.Authentic == "pass" && v.Intact == "pass" {
			t.Errorf("%s: %+v", name, v)
		}
	}
}

func clone(t *testing.T, p api.Proof) (out api.Proof) {
	t.Helper()
	raw, err := json.Marshal(p)
	must(t, err)
	must(t, json.Unmarshal(raw, &out))
	return out
}

// everyByte changes a bit of each byte of a proof's document: what still decodes to
// something else never passes.
func everyByte(t *testing.T, good api.Proof, anchor evidence.Anchor) {
	t.Helper()
	raw, err := json.Marshal(good)
	must(t, err)
	if v := evidence.CheckProof(&good, anchor); v.Authentic != "pass" || v.Intact != "pass" {
		t.Fatalf("untouched: %+v", v)
	}
	tried := 0
	for i := range raw {
		bad := append([]byte(nil), raw...)
		bad[i] ^= 1 << (i % 7)
		var p api.Proof
		if json.Unmarshal(bad, &p) != nil || reflect.DeepEqual(p, good) {
			continue
		}
		tried++
		if v := evidence.CheckProof(&p, anchor); v.Authentic == "pass" && v.Intact == "pass" {
			t.Errorf("byte %d of %s passes: %s", i, raw[max(0, i-20):i+20], bad[max(0, i-20):i+20])
		}
	}
	if tried < len(raw)/2 {
		t.Errorf("%d of %d bytes were tried", tried, len(raw))
	}
}
