//go:build linux

package e2e

import (
	"context"
	"fmt"
	"testing"

	"github.com/sbxcron/sbxcron/cmd/internal/api"
	"github.com/sbxcron/sbxcron/cmd/internal/engine"
	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/signing/signingtest"
	"github.com/sbxcron/sbxcron/store"
)

// claim is one line of the table: an op about a job, and how it is signed.
type claim struct {
	action    jobspec.Action
	namespace string
	foreign   bool // the job belongs to alice, not to bob who signs
	tier      jobspec.Tier
	limited   bool // the key's line names only scratch and manage
}

func (c claim) String() string {
	whose, key := "own", "full"
	if c.foreign {
		whose = "foreign"
	}
	if c.limited {
		key = "limited"
	}
	return fmt.Sprintf("%s/%s/%s/%s/%s", c.action, c.namespace, whose, c.tier, key)
}

// wanted says by the design's own table whether the claim is accepted. Both
// jobs are in force with tier read-only, so scratch is down and workspace up.
func (c claim) wanted() bool {
	if c.limited && c.namespace != "scratch.none.v1@sbxcron" && c.namespace != jobspec.ManageNamespace {
		return false
	}
	switch c.action {
	case jobspec.Add: // a new name, so nobody's
		return c.namespace == c.tier.String()+".none.v1@sbxcron"
	case jobspec.Replace:
		return !c.foreign && c.namespace == c.tier.String()+".none.v1@sbxcron"
	case jobspec.Enable:
		return !c.foreign && c.tier == jobspec.ReadOnly && c.namespace == "read-only.none.v1@sbxcron"
	case jobspec.Disable, jobspec.Remove:
		if c.foreign {
			return c.namespace == jobspec.RootNamespace
		}
		return c.namespace == jobspec.ManageNamespace
	}
	return false
}

// claims are all of them.
func claims() []claim {
	namespaces := append([]string{jobspec.RootNamespace, jobspec.ManageNamespace, "git", "file", "Scratch.none.v1@sbxcron",
		"scratch.none.v2@sbxcron"}, jobspec.JobNamespaces()...)
	var all []claim
	for _, action := range []jobspec.Action{jobspec.Genesis, jobspec.Add, jobspec.Replace, jobspec.Enable, jobspec.Disable,
		jobspec.Remove, "rebase", "settings", "attest"} {
		tiers := []jobspec.Tier{jobspec.Scratch, jobspec.ReadOnly, jobspec.Workspace}
		if action != jobspec.Add && action != jobspec.Replace && action != jobspec.Enable {
			tiers = tiers[1:2]
		}
		for _, n := range namespaces {
			for _, tier := range tiers {
				for _, foreign := range []bool{false, true} {
					if foreign && action == jobspec.Add {
						continue
					}
					all = append(all, claim{action, n, foreign, tier, false}, claim{action, n, foreign, tier, true})
				}
			}
		}
	}
	return all
}

// court is an installation with a job of alice and one of bob, each disabled or
// not, and bob's two keys.
type court struct {
	h             *house
	full, limited *signingtest.Key
	drafts        map[jobspec.Tier]*jobspec.Op // by bob
	on, off       *house                       // the jobs are active; disabled
	at            map[*house]api.Head
	jobs          map[*house]map[jobspec.Name]jobspec.Job
}

func newCourt(t *testing.T) *court {
	t.Helper()
	h := newHouse(t)
	c := &court{h: h, drafts: map[jobspec.Tier]*jobspec.Op{}, at: map[*house]api.Head{}, jobs: map[*house]map[jobspec.Name]jobspec.Job{}}
	c.full = signingtest.NewKey(t, "bob", append([]string{jobspec.RootNamespace, jobspec.ManageNamespace}, jobspec.JobNamespaces()...)...)
	c.full.Namespaces = append(c.full.Namespaces, "git", "file", "Scratch.none.v1@sbxcron", "scratch.none.v2@sbxcron")
	c.limited = signingtest.NewKey(t, "bob", "scratch.none.v1@sbxcron", jobspec.ManageNamespace)
	h.trustAlso(c.full, c.limited)
	h.admit("bob")
	for _, tier := range []jobspec.Tier{jobspec.Scratch, jobspec.ReadOnly, jobspec.Workspace} {
		c.drafts[tier] = h.draftOp(tier.String(), "draft", "--principal", "bob")
	}
	dir := h.mkdir("drafts")
	h.must("add", "alices", "--yes", "--schedule", never, "--tier", "read-only", "--cwd", dir, "--", "/bin/true")
	h.must("add", "bobs", "--yes", "--schedule", never, "--tier", "read-only", "--cwd", dir, "--key", keyFile(t, c.full), "--", "/bin/true")
	c.on = h.twin(t)
	h.must("disable", "alices", "--yes")
	h.must("disable", "bobs", "--yes", "--key", keyFile(t, c.full))
	c.off = h.twin(t)
	return c
}

// look remembers where the two installations stand.
func (c *court) look(t *testing.T, in *insider) {
	t.Helper()
	for _, h := range []*house{c.on, c.off} {
		e, err := in.open(t, h, false)
		if err != nil {
			t.Fatal(err)
		}
		if c.at[h], err = e.Head(context.Background()); err != nil {
			t.Fatal(err)
		}
		c.jobs[h] = map[jobspec.Name]jobspec.Job{}
		state, err := store.Load(h.dirs())
		if err != nil {
			t.Fatal(err)
		}
		for _, j := range state.View.Jobs() {
			c.jobs[h][j.Name] = j
		}
		e.Close()
	}
}

// place is the installation in which the claim could be right.
func (c *court) place(k claim) *house {
	if k.action == jobspec.Enable {
		return c.off
	}
	return c.on
}

// entry makes the op of a claim, right in all but what the claim is about.
func (c *court) entry(t *testing.T, k claim) store.Entry {
	t.Helper()
	h := c.place(k)
	head := c.at[h]
	op := *c.drafts[k.tier]
	op.Action, op.Seq, op.Prev, op.Host = k.action, head.Seq, head.Prev, head.Host
	op.Created = jobspec.InstantOf(head.Now)
	op.ApplyBefore = op.Created.Add(jobspec.DefaultApplyFor)
	if k.action != jobspec.Add {
		op.Job = "bobs"
		if k.foreign {
			op.Job = "alices"
		}
		op.Revision = c.jobs[h][op.Job].Revision + 1
	}
	switch k.action {
	case jobspec.Enable:
		op.Spec, op.Target = nil, c.jobs[h][op.Job].SpecOp
	case jobspec.Disable, jobspec.Remove:
		op.Spec, op.Tier, op.Net = nil, jobspec.NoTier, jobspec.NoNet
	case jobspec.Genesis:
		op.Spec, op.Tier, op.Net, op.Job, op.Revision = nil, jobspec.NoTier, jobspec.NoNet, "", 0
		op.Root = &jobspec.GenesisBody{AuditKey: "test+00000000+AAAA", AllowedSigners: head.Prev, RevokedKeys: head.Prev}
	}
	raw := encode(t, &op)
	key := c.full
	if k.limited {
		key = c.limited
	}
	return store.Entry{Seq: head.Seq, Op: raw, Sigs: [][]byte{key.Sign(t, k.namespace, raw)}}
}

func TestOnlyTheTableOfTheDesignIsAccepted(t *testing.T) {
	c, in := newCourt(t), newInsider(t)
	c.look(t, in)
	accepted, codes := 0, map[jobspec.Code]int{}
	standing := map[*house]*engine.Engine{}
	for i, k := range claims() {
		if !k.wanted() && i%bounded(3, 1) != 0 {
			continue // each claim is judged, without files, by the tests of jobspec
		}
		entry := c.entry(t, k)
		t.Run(k.String(), func(t *testing.T) {
			if k.wanted() || i%bounded(11, 1) == 0 { // each takes files of its own
				c.written(t, in, k, entry)
			}
			if c.submitted(t, in, k, entry, standing, codes) {
				accepted++
			}
		})
	}
	for _, e := range standing {
		e.Close()
	}
	// 3 adds, 3 replaces, 1 enable, 4 by manage and root; with the limited key
	// scratch twice and manage twice.
	if accepted != 3+3+1+4+2+2 {
		t.Errorf("%d claims were accepted, want 15", accepted)
	}
	for _, want := range []jobspec.Code{jobspec.CodeNamespaceMismatch, jobspec.CodeKeyNotForNamespace, jobspec.CodeNotJobOwner,
		jobspec.CodeActionUnknown, jobspec.CodeSeqInvalid, jobspec.CodeSpecMalformed} {
		if codes[want] == 0 {
			t.Errorf("no claim was refused with %s: %v", want, codes)
		}
	}
	c.applied(t)
}

// submitted offers the op as apply does. Where it is refused the engine stands
// as before and takes the next one; where it is accepted it is put away.
func (c *court) submitted(t *testing.T, in *insider, k claim, entry store.Entry, standing map[*house]*engine.Engine, codes map[jobspec.Code]int) bool {
	place := c.place(k)
	e := standing[place]
	if e == nil {
		var err error
		if e, err = in.open(t, place.twin(c.h.t), true); err != nil {
			t.Fatal(err)
		}
		standing[place] = e
	}
	_, err := e.Submit(context.Background(), api.Submission{Op: entry.Op, Sig: entry.Sigs[0]})
	if (err == nil) != k.wanted() {
		t.Errorf("submitted: accepted %v, want %v: %v", err == nil, k.wanted(), err)
	}
	head, herr := e.Head(context.Background())
	if want := entry.Seq + one(err == nil); herr != nil || head.Seq != want {
		t.Errorf("the head is at %d (%v), want %d", head.Seq, herr, want)
	}
	if err == nil {
		delete(standing, place)
		e.Close()
		return true
	}
	code := api.Wrap(err).ErrCode
	codes[code]++
	if code == jobspec.CodeInternal {
		t.Errorf("refused without a code: %v", err)
	}
	return false
}

func one(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// written puts the op into the database, beyond the pin, and starts.
func (c *court) written(t *testing.T, in *insider, k claim, entry store.Entry) {
	h := c.place(k).twin(t)
	h.putEntries(entry)
	e, err := in.open(t, h, true)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	pin, err := store.ReadPin(h.dirs())
	if err != nil {
		t.Fatal(err)
	}
	if k.wanted() {
		if e.Proven() != nil || pin.Seq != entry.Seq {
			t.Errorf("written: pin at %d, %v; want it in force", pin.Seq, e.Proven())
		}
		return
	}
	if err := e.Proven(); err == nil || api.Wrap(err).Exit != 12 || pin.Seq != entry.Seq-1 {
		t.Errorf("written: pin at %d, %v; want that nothing runs, class 12", pin.Seq, err)
	}
}

// applied takes a few claims through the real command.
func (c *court) applied(t *testing.T) {
	for _, a := range []struct {
		claim
		exit int
	}{
		{claim{jobspec.Replace, "workspace.none.v1@sbxcron", false, jobspec.Workspace, false}, 0},
		{claim{jobspec.Replace, "read-only.none.v1@sbxcron", false, jobspec.Workspace, false}, 11},
		{claim{jobspec.Replace, "workspace.none.v1@sbxcron", false, jobspec.Workspace, true}, 11},
		{claim{jobspec.Replace, "read-only.none.v1@sbxcron", true, jobspec.ReadOnly, false}, 77},
		{claim{jobspec.Remove, jobspec.ManageNamespace, true, jobspec.ReadOnly, false}, 11},
		{claim{jobspec.Remove, jobspec.RootNamespace, true, jobspec.ReadOnly, false}, 0},
		{claim{"rebase", jobspec.RootNamespace, false, jobspec.ReadOnly, false}, 65},
	} {
		entry := c.entry(t, a.claim)
		h := c.place(a.claim).twin(t)
		if r := h.apply(entry); r.code != a.exit {
			t.Errorf("apply %s: exit %d, want %d\n%s", a.claim, r.code, a.exit, r.err)
		}
	}
}
