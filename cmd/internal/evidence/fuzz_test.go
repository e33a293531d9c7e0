package evidence_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/sbxcron/sbxcron/cmd/internal/api"
	"github.com/sbxcron/sbxcron/cmd/internal/evidence"
	"github.com/sbxcron/sbxcron/cmd/internal/evidence/tamper"
	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/record"
	"github.com/sbxcron/sbxcron/signing"
	"github.com/sbxcron/sbxcron/store"
	"github.com/sbxcron/sbxcron/store/checkpoint"
)

// proof is that of a line, as the service makes it.
func (h *host) proof(index int64) api.Proof {
	h.t.Helper()
	history, err := store.OpenHistory(h.dirs)
	must(h.t, err)
	point := store.Signed{Note: h.note}
	point.Checkpoint, err = checkpoint.Unverified(h.note)
	must(h.t, err)
	proofs, err := store.OpenProofs(h.dirs, history, point)
	must(h.t, err)
	defer proofs.Close()
	_, hashes, err := proofs.Leaf(index)
	must(h.t, err)
	p := api.Proof{Checkpoint: h.note}
	enough := errors.New("enough")
	err = history.Scan(index, func(l store.Leaf) error {
		line := api.ProvenLine{Index: index, Line: string(l.Line)}
		for _, x := range hashes {
			line.Proof = append(line.Proof, x[:]...)
		}
		p.Run, p.Lines = l.Run, []api.ProvenLine{line}
		return enough
	})
	if !errors.Is(err, enough) {
		h.t.Fatal(err)
	}
	e, err := h.writer.Entry(1)
	must(h.t, err)
	p.Op = api.ProvenOp{Op: string(e.Op), Sigs: []string{string(signing.Armor(e.Sigs[0]))}}
	return p
}

// Whatever a proof says, its line is one of the ledger wherever it passes; and what is
// read from a proof is read again from what is written of it.
func FuzzProof(f *testing.F) {
	h := newHost(f, "").history()
	f.Cleanup(func() { h.t = f })
	whole := h.bundle()
	known := map[string]bool{}
	for _, l := range whole.lines() {
		known[strings.TrimSuffix(l, "\n")] = true
	}
	anchor := evidence.Anchor{Checkpoints: []store.Witness{{Where: "kept", Note: h.note}}}
	good := h.proof(3)
	if v := evidence.CheckProof(&good, anchor); v.Intact != api.Pass {
		f.Fatalf("the proof to begin with: %+v", v)
	}
	raw, err := json.Marshal(good)
	must(f, err)
	f.Add(raw)
	f.Add(bytes.Replace(raw, []byte("succeeded"), []byte("failed"), 1))
	f.Add([]byte(`{"lines":[{"index":0,"line":"","proof":""}]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		var p, again api.Proof
		if json.Unmarshal(b, &p) != nil {
			return
		}
		if v := evidence.CheckProof(&p, anchor); v.Intact == api.Pass {
			for _, l := range p.Lines {
				leaf, err := record.Decode([]byte(l.Line))
				if err != nil || !known[l.Line] || leaf.Run != p.Run || leaf.Op != jobspec.DigestOf([]byte(p.Op.Op)) {
					t.Errorf("passes: %q", l.Line)
				}
			}
			if v.Authentic == api.Pass {
				t.Errorf("authentic without an anchor: %+v", v)
			}
		}
		out, err := json.Marshal(p)
		must(t, err)
		must(t, json.Unmarshal(out, &again))
		if second, err := json.Marshal(again); err != nil || !bytes.Equal(second, out) || evidence.CheckProof(&again, anchor).Intact != evidence.CheckProof(&p, anchor).Intact {
			t.Errorf("%s reads again as %s", out, second)
		}
	})
}

// No archive ends the judge, passes for another host, or is anything else once it was
// read and written.
func FuzzBundle(f *testing.F) {
	h := newHost(f, "").history()
	whole, err := os.ReadFile(h.bundle().write(f))
	must(f, err)
	f.Add(whole)
	f.Add(whole[:1024])
	f.Add(bytes.Replace(whole, []byte("ops/op-000001.json"), []byte("ops/op-000000.json"), 1))
	f.Add([]byte{})
	stranger := evidence.Anchor{Genesis: jobspec.DigestOf([]byte("of another host"))}
	path := filepath.Join(f.TempDir(), "bundle.tar")
	f.Fuzz(func(t *testing.T, b []byte) {
		must(t, os.WriteFile(path, b, 0o600))
		opened, err := evidence.OpenBundle(path)
		if err != nil {
			return
		}
		v, err := evidence.Judge(&opened.Evidence, stranger)
		must(t, opened.Close())
		if err == nil && v.Authentic == api.Pass {
			t.Errorf("passes for a host that it is not of: %+v", v)
		}
		files, err := tamper.Read(bytes.NewReader(b))
		must(t, err)
		var out bytes.Buffer
		must(t, files.Write(&out))
		if again, err := tamper.Read(&out); err != nil || len(files) > 0 && !reflect.DeepEqual(again, files) {
			t.Errorf("read again: %v", err)
		}
	})
}
