package evidence_test

import (
	"archive/tar"
	"bytes"
	"crypto/rand"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
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

// host is an installation with a history: three days of runs, an owner who left and
// one who came, ops that carry checkpoints.
type host struct {
	t      testing.TB
	dirs   store.Dirs
	lock   *store.Lock
	writer *store.Writer
	ledger *store.Ledger
	log    *store.Log
	keys   map[jobspec.Principal]*signingtest.Key
	now    time.Time
	runs   int
	note   string // the newest checkpoint
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// newHost makes an installation whose keys come from a seed, with a genesis and a
// first list of signers.
func newHost(t testing.TB, seed string) *host {
	t.Helper()
	all := append([]string{jobspec.RootNamespace, jobspec.ManageNamespace}, jobspec.JobNamespaces()...)
	h := &host{t: t, now: storetest.Epoch(), keys: map[jobspec.Principal]*signingtest.Key{
		"alice": signingtest.FixedKey(t, seed+"alice", "alice", all...),
		"bob":   signingtest.FixedKey(t, seed+"bob", "bob", all[1:]...),
		"eve":   signingtest.FixedKey(t, seed+"eve", "eve", all...),
	}}
	h.dirs = storetest.Root(t, string(signingtest.AllowedSigners(t, h.keys["alice"])), "")
	ring := auditkey.Ring{Path: h.dirs.AuditKey(), Name: checkpoint.Origin(storetest.Host)}
	public, err := auditkey.Create(ring.Path, ring.Name)
	must(t, err)
	genesis := storetest.Genesis(t, h.dirs)
	genesis.Root.AuditKey = public
	raw := storetest.Encode(t, genesis)
	h.lock = storetest.Lock(t, h.dirs)
	h.writer, err = store.Begin(h.dirs, h.lock, store.RealDisk{}, raw, h.sign("alice", jobspec.RootNamespace, raw), h.now, 0)
	must(t, err)
	h.ledger, err = store.OpenLedger(h.dirs, h.lock, store.RealDisk{})
	must(t, err)
	h.log, err = store.OpenLog(h.ledger, store.Certified{Key: public, Created: h.now}, ring, store.RealDisk{})
	must(t, err)
	t.Cleanup(func() { _ = errors.Join(h.log.Close(), h.ledger.Close(), h.writer.Close()) })
	h.trust("alice")
	return h
}

func (h *host) sign(who jobspec.Principal, namespace string, op []byte) []byte {
	return h.keys[who].Sign(h.t, namespace, op)
}

// trust puts a list of signers in force, as the service does.
func (h *host) trust(who ...jobspec.Principal) {
	var keys []*signingtest.Key
	for _, w := range who {
		keys = append(keys, h.keys[w])
	}
	digest, err := store.KeepTrust(h.dirs, store.AllowedSigners, signingtest.AllowedSigners(h.t, keys...))
	must(h.t, err)
	h.line(record.TrustLoaded, func(l *record.Leaf) { l.Trust = digest })
}

func (h *host) line(kind record.Kind, fill func(*record.Leaf)) {
	h.now = h.now.Add(time.Second)
	l := storetest.Leaf(kind, h.now)
	fill(l)
	_, err := h.ledger.Append(l)
	must(h.t, err)
}

// op commits an op of a principal and records that it was accepted.
func (h *host) op(who jobspec.Principal, action jobspec.Action, job jobspec.Name) {
	h.now = h.now.Add(time.Minute)
	state := h.writer.State()
	op := storetest.Next(state, action, job)
	op.Created = jobspec.InstantOf(h.now)
	op.ApplyBefore, op.Principal, op.Checkpoint = op.Created.Add(time.Hour), who, h.note
	raw := storetest.Encode(h.t, op)
	namespace, err := state.View.Check(op)
	must(h.t, err)
	_, err = h.writer.Commit(raw, h.sign(who, namespace, raw), h.now, 0)
	must(h.t, err)
	h.line(record.OpAccepted, func(l *record.Leaf) { l.Job, l.Op, l.Seq, l.Principal = job, jobspec.DigestOf(raw), op.Seq, who })
}

// spec is the digest of the first op of a job, as lines name it.
func (h *host) spec(job jobspec.Name) string {
	e, err := h.writer.Entry(1)
	must(h.t, err)
	if !bytes.Contains(e.Op, []byte(job)) {
		h.t.Fatalf("op 1 is not about %s", job)
	}
	return jobspec.DigestOf(e.Op).String()
}

// run records a run of a job, with an output.
func (h *host) run(job jobspec.Name) {
	h.runs++
	id := "r-0123456789abcdefghjkmnpqr" + string("0123456789"[h.runs])
	j, ok := h.writer.State().View.Job(job)
	if !ok {
		h.t.Fatalf("no job %s", job)
	}
	h.now = h.now.Add(time.Minute).Truncate(time.Minute)
	slot := jobspec.SlotAt(h.now, "UTC", 0)
	about := func(l *record.Leaf) {
		l.Job, l.Op, l.Seq, l.Run, l.Slot, l.Scheduled = job, j.SpecOp, j.SpecSeq, id, &slot, record.Stamp(h.now.Truncate(time.Minute))
	}
	h.line(record.Started, about)
	outputs := store.NewOutputs(h.dirs, rand.Reader)
	f, err := outputs.Create(id, "out")
	must(h.t, err)
	said := []byte("hello of " + id)
	_, err = f.Write(said)
	must(h.t, errors.Join(err, f.Close()))
	sum, size := jobspec.DigestOf(said), int64(len(said))
	sealed, text, err := outputs.Seal(id, []record.Captured{{Stream: "out", Bytes: size, SHA256: sum, Kept: size, KeptSHA: sum}}, "a note about "+id)
	must(h.t, err)
	h.line(record.Finished, func(l *record.Leaf) {
		about(l)
		l.Outcome, l.Exited, l.Outputs, l.Text = record.OutcomeSucceeded, true, sealed, text
	})
}

// checkpoint signs what there is; on a later day than the last it ends the epoch.
func (h *host) checkpoint() {
	h.now = h.now.Add(time.Second)
	made, err := h.log.Checkpoint(h.now, store.Head{Seq: h.writer.State().View.Next - 1, Digest: h.writer.State().View.Head})
	must(h.t, err)
	if len(made) > 0 {
		h.note = made[len(made)-1].Note
	}
}

// history is what all evidence here is about.
func (h *host) history() *host {
	h.op("alice", jobspec.Add, "nightly")
	h.run("nightly")
	h.checkpoint()
	h.trust("alice", "bob")
	h.checkpoint() // who came is vouched for
	h.op("bob", jobspec.Add, "weekly")
	h.run("weekly")
	h.run("nightly")
	h.now = h.now.Add(24 * time.Hour)
	h.checkpoint()
	h.op("alice", jobspec.Remove, "weekly") // another's job
	h.run("nightly")
	h.now = h.now.Add(24 * time.Hour)
	h.checkpoint()
	h.op("alice", jobspec.Replace, "nightly")
	h.run("nightly")
	h.checkpoint()
	return h
}

// bundle is what a bundle of the host holds, by name.
func (h *host) bundle() files {
	h.t.Helper()
	var b bytes.Buffer
	must(h.t, evidence.WriteBundle(&b, h.dirs, func() ([]store.Entry, error) {
		var all []store.Entry
		for seq := range h.writer.State().View.Next {
			e, err := h.writer.Entry(seq)
			if err != nil {
				return nil, err
			}
			all = append(all, e)
		}
		return all, nil
	}, true, h.now))
	return readTar(h.t, &b)
}

// genesis is the digest of op 0.
func (f files) genesis() jobspec.Digest { return jobspec.DigestOf(f["ops/op-000000.json"]) }

// files are the members of a bundle.
type files map[string][]byte

func (f files) clone() files {
	out := files{}
	for name, b := range f {
		out[name] = bytes.Clone(b)
	}
	return out
}

func readTar(t testing.TB, r io.Reader) files {
	t.Helper()
	out := files{}
	in := tar.NewReader(r)
	for {
		m, err := in.Next()
		if err == io.EOF {
			return out
		}
		must(t, err)
		out[m.Name], err = io.ReadAll(in)
		must(t, err)
	}
}

// write makes a bundle of them.
func (f files) write(t testing.TB) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "bundle.tar")
	out, err := os.Create(path)
	must(t, err)
	w := tar.NewWriter(out)
	for _, name := range slices.Sorted(maps.Keys(f)) {
		must(t, w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o600, Size: int64(len(f[name])), Format: tar.FormatUSTAR}))
		_, err := w.Write(f[name])
		must(t, err)
	}
	must(t, errors.Join(w.Close(), out.Close()))
	return path
}

// lines are those of all months.
func (f files) lines() (all []string) {
	for _, name := range slices.Sorted(maps.Keys(f)) {
		if strings.HasSuffix(name, ".jsonl") {
			all = append(all, strings.SplitAfter(strings.TrimSuffix(string(f[name]), "\n"), "\n")...)
			all[len(all)-1] += "\n"
		}
	}
	return all
}

// setLines puts all lines into one month.
func (f files) setLines(all []string) {
	maps.DeleteFunc(f, func(name string, _ []byte) bool { return strings.HasSuffix(name, ".jsonl") })
	f[month] = []byte(strings.Join(all, ""))
}

func judge(t testing.TB, path string, a evidence.Anchor) api.Audit {
	t.Helper()
	b, err := evidence.OpenBundle(path)
	must(t, err)
	v, err := evidence.Judge(&b.Evidence, a)
	must(t, errors.Join(err, b.Close()))
	return v
}
