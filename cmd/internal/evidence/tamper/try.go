package tamper

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/sbxcron/sbxcron/cmd/internal/api"
	"github.com/sbxcron/sbxcron/cmd/internal/evidence"
	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/store"
)

// Result is what became of one tampering.
type Result struct {
	Tampering string       `json:"tampering"`
	Tried     bool         `json:"tried"` // false: there is nothing that it could be done to
	Named     bool         `json:"named"`
	Failed    []string     `json:"failed"` // verdicts
	Problem   *api.Problem `json:"problem,omitempty"`
}

// Try does everything of the table to copies of a bundle, in a folder of its own that
// is removed. The anchor is what an auditor has: genesis, and the newest checkpoint.
// The first result is that of the bundle as it is: nothing may be named there.
func Try(ctx context.Context, whole Files) (all []Result, err error) {
	dir, err := os.MkdirTemp("", "sbxcron-selftest-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	anchor := evidence.Anchor{Genesis: jobspec.DigestOf(whole["ops/op-000000.json"])}
	if note := whole[newest]; len(note) > 0 {
		anchor.Checkpoints = []store.Witness{{Where: "the checkpoint that was kept", Note: string(note)}}
	}
	before, err := judge(dir, whole, anchor)
	if err != nil {
		return nil, err
	}
	all = append(all, resultOf("nothing", before, api.Audit{}))
	for _, t := range Table() {
		if err := ctx.Err(); err != nil {
			return all, err
		}
		copied := maps.Clone(whole)
		for name, b := range copied {
			copied[name] = b[:len(b):len(b)] // whoever appends, copies
		}
		if !t.do(copied) {
			all = append(all, Result{Tampering: t.Name})
			continue
		}
		v, err := judge(dir, copied, anchor)
		if err != nil {
			return all, fmt.Errorf("%s: %w", t.Name, err)
		}
		all = append(all, resultOf(t.Name, v, before))
	}
	return all, nil
}

// resultOf tells what stands against a bundle that did not before.
func resultOf(name string, v, before api.Audit) Result {
	r := Result{Tampering: name, Tried: true}
	for i, verdict := range []string{v.Authentic, v.Intact, v.Complete, v.Runs} {
		if verdict == api.Fail {
			r.Failed = append(r.Failed, []string{"authentic", "intact", "complete", "runs"}[i])
		}
	}
	for _, p := range v.Problems {
		if !slices.Contains(before.Problems, p) {
			r.Problem = &p
			break
		}
	}
	r.Named = len(r.Failed) > 0 && r.Problem != nil
	return r
}

func judge(dir string, f Files, anchor evidence.Anchor) (v api.Audit, err error) {
	path := filepath.Join(dir, "bundle.tar")
	out, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return v, err
	}
	if err := errors.Join(f.Write(out), out.Close()); err != nil {
		return v, err
	}
	b, err := evidence.OpenBundle(path)
	if err != nil {
		return v, err
	}
	v, err = evidence.Judge(&b.Evidence, anchor)
	return v, errors.Join(err, b.Close())
}
