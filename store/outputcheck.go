package store

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/record"
)

// Fault is what is wrong with one stream or with the text of a run.
type Fault string

// The faults. Missing is no tampering where a pruned leaf names the run.
const (
	FaultMissing Fault = "output_missing"
	FaultChanged Fault = "output_changed"
	FaultSidecar Fault = "output_sidecar_changed"
)

// OutputProblem says that what lies in STATE/output is not what a leaf binds.
type OutputProblem struct {
	Run    string
	Stream string // "out", "err", or "text"
	Fault  Fault
	Detail string
}

// Verify compares the files of a run with the commitments in its leaf. Empty
// means that everything which the leaf binds is there and unchanged.
func (o *Outputs) Verify(leaf *record.Leaf) []OutputProblem {
	if !binds(leaf) {
		return nil
	}
	var problems []OutputProblem
	report := func(stream string, f Fault, format string, args ...any) {
		problems = append(problems, OutputProblem{Run: leaf.Run, Stream: stream, Fault: f, Detail: fmt.Sprintf(format, args...)})
	}
	side, err := o.readSidecar(leaf.Run)
	if errors.Is(err, fs.ErrNotExist) {
		report("", FaultMissing, "salts and hashes are gone")
		return problems
	}
	if err != nil {
		report("", FaultSidecar, "%v", err)
		return problems
	}
	for _, out := range leaf.Outputs {
		if out.SHA256.IsZero() {
			continue
		}
		if f, detail := o.verifyStream(leaf.Run, out, side); f != "" {
			report(out.Stream, f, "%s", detail)
		}
	}
	if !leaf.Text.IsZero() && commit(side.Salt, []byte(side.Text)) != leaf.Text {
		report("text", FaultChanged, "the text is not the one that was recorded")
	}
	return problems
}

// binds reports whether a leaf binds anything on disk.
func binds(leaf *record.Leaf) bool {
	for _, out := range leaf.Outputs {
		if !out.SHA256.IsZero() {
			return true
		}
	}
	return !leaf.Text.IsZero()
}

func (o *Outputs) verifyStream(run string, out record.Output, side *sidecar) (Fault, string) {
	s := side.stream(out.Stream)
	if s == nil {
		return FaultSidecar, "the sidecar does not name the stream"
	}
	if commit(s.Salt, s.SHA256[:]) != out.SHA256 || commit(s.KeptSalt, s.KeptSHA[:]) != out.KeptSHA {
		return FaultSidecar, "salt or hash is not the one that was recorded"
	}
	got, n, err := o.hash(run, out.Stream)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return FaultMissing, "the file is gone"
	case err != nil:
		return FaultChanged, err.Error()
	case n != out.Kept || got != s.KeptSHA:
		return FaultChanged, fmt.Sprintf("the file has %d bytes with digest %s, recorded were %d with %s", n, got.Short(), out.Kept, s.KeptSHA.Short())
	}
	return "", ""
}

func (s *sidecar) stream(name string) *sealedStream {
	for i := range s.Streams {
		if s.Streams[i].Stream == name {
			return &s.Streams[i]
		}
	}
	return nil
}

// Plain returns the plain hashes of a run's streams, for showing, from the
// sidecar. They prove nothing until Verify found no problem.
func (o *Outputs) Plain(run string) ([]record.Captured, error) {
	side, err := o.readSidecar(run)
	if err != nil {
		return nil, err
	}
	var all []record.Captured
	for _, s := range side.Streams {
		all = append(all, record.Captured{Stream: s.Stream, Bytes: s.Bytes, SHA256: s.SHA256, Kept: s.Kept, KeptSHA: s.KeptSHA, Truncated: s.Kept != s.Bytes})
	}
	return all, nil
}

func (o *Outputs) hash(run, stream string) (jobspec.Digest, int64, error) {
	f, err := o.Open(run, stream)
	if err != nil {
		return jobspec.Digest{}, 0, err
	}
	defer f.Close()
	h := sha256.New()
	n, err := io.Copy(h, f)
	return jobspec.Digest(h.Sum(nil)), n, err
}
