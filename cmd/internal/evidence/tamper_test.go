package evidence_test

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/mod/sumdb/note"

	"github.com/sbxcron/sbxcron/cmd/internal/evidence"
	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/signing"
	"github.com/sbxcron/sbxcron/signing/auditkey"
	"github.com/sbxcron/sbxcron/signing/signingtest"
	"github.com/sbxcron/sbxcron/store"
	"github.com/sbxcron/sbxcron/store/checkpoint"
	"github.com/sbxcron/sbxcron/store/merkle"
)

const (
	month    = "state/ledger/2026-11.jsonl"
	epochs   = "state/ledger/epochs"
	receipts = "state/ledger/receipts"
	newest   = "conf/checkpoint"
)

// tampering is something that was done to a bundle, and what is said of it.
type tampering struct {
	name   string
	do     func(m *mischief)
	failed string // verdicts that are fail, in their order; "" where one is not_checked
	code   jobspec.Code
}

// mischief is a bundle in the hands of somebody.
type mischief struct {
	files
	h       *host
	brought []store.Witness
}

func op(seq int) string { return fmt.Sprintf("ops/op-%06d.json", seq) }

// edit replaces the first place of a text in a file.
func (m *mischief) edit(name, from, to string) {
	if !bytes.Contains(m.files[name], []byte(from)) {
		m.h.t.Fatalf("%s does not hold %q", name, from)
	}
	m.files[name] = bytes.Replace(m.files[name], []byte(from), []byte(to), 1)
}

// line edits one line of the ledger.
func (m *mischief) line(i int, from, to string) {
	all := m.lines()
	if !strings.Contains(all[i], from) {
		m.h.t.Fatalf("line %d, %s, does not hold %q", i, all[i], from)
	}
	all[i] = strings.Replace(all[i], from, to, 1)
	m.setLines(all)
}

// change gives the lines to f.
func (m *mischief) change(f func([]string) []string) { m.setLines(f(m.lines())) }

// resign has somebody sign an op, as the namespace and the bytes are.
func (m *mischief) resign(seq int, who jobspec.Principal, namespace string) {
	m.files[op(seq)+".sig"] = signing.Armor(m.h.sign(who, namespace, m.files[op(seq)]))
}

// next is an op behind the last, made by somebody.
func (m *mischief) next(who jobspec.Principal) {
	o := &jobspec.Op{Type: jobspec.OpType, Host: m.h.writer.State().Host, Seq: 5, Prev: jobspec.DigestOf(m.files[op(4)]), Action: jobspec.Add, Job: "evil", Revision: 1,
		Created: jobspec.InstantOf(m.h.now), ApplyBefore: jobspec.InstantOf(m.h.now), Principal: who, Tier: jobspec.Scratch, Net: jobspec.NetNone,
		Spec: &jobspec.Spec{Argv: []string{"/bin/false"}}}
	raw, err := o.Encode()
	must(m.h.t, err)
	m.files[op(5)] = raw
	m.resign(5, who, "scratch.none.v1@sbxcron")
}

// believe puts a list of signers beside the others.
func (m *mischief) believe(who ...jobspec.Principal) jobspec.Digest {
	var keys []*signingtest.Key
	for _, w := range who {
		keys = append(keys, m.h.keys[w])
	}
	list := signingtest.AllowedSigners(m.h.t, keys...)
	d := jobspec.DigestOf(list)
	m.files["state/trust/allowed_signers."+strings.TrimPrefix(d.String(), "sha256:")] = list
	return d
}

// thief signs with the audit key of the running epoch what the lines now are.
func (m *mischief) thief(change func(*checkpoint.Checkpoint)) {
	key, err := auditkey.Load(m.h.dirs.AuditKey())
	must(m.h.t, err)
	m.files[newest] = []byte(m.forge(key, change))
}

func (m *mischief) forge(key note.Signer, change func(*checkpoint.Checkpoint)) string {
	c, err := checkpoint.Unverified(string(m.files[newest]))
	must(m.h.t, err)
	var tree merkle.Frontier
	for _, l := range m.lines() {
		tree.Add(merkle.LeafHash([]byte(strings.TrimSuffix(l, "\n"))), nil)
	}
	c.Size, c.Root = tree.Size(), tree.Root()
	if change != nil {
		change(&c)
	}
	s, err := c.Sign(key)
	must(m.h.t, err)
	return s
}

// otherKey is an audit key that nobody has certified.
func (m *mischief) otherKey() note.Signer {
	path := filepath.Join(m.h.t.TempDir(), "key")
	_, err := auditkey.Create(path, checkpoint.Origin(m.h.writer.State().Host))
	must(m.h.t, err)
	key, err := auditkey.Load(path)
	must(m.h.t, err)
	return key
}

// receiptLines are those of the receipts.
func (m *mischief) receiptLines() []string {
	return strings.SplitAfter(string(m.files[receipts]), "\n")
}

// parts are the texts and signatures of the epochs.
func (m *mischief) parts() []string { return strings.Split(string(m.files[epochs]), "\n\n") }

// back takes everything back to where the first n lines and ops were all there was.
func (m *mischief) back(lines, ops int) {
	old, err := checkpoint.Unverified(string(m.files[newest]))
	must(m.h.t, err)
	m.brought = []store.Witness{{Where: "what I kept", Note: string(m.files[newest])}}
	var kept []string
	for _, r := range m.receiptLines()[:2] {
		kept = append(kept, r)
	}
	m.files[receipts] = []byte(strings.Join(kept, ""))
	first := strings.SplitN(kept[1], `"checkpoint":"`, 2)[1]
	m.files[newest] = []byte(strings.ReplaceAll(strings.TrimSuffix(first, "\"}\n"), `\u000a`, "\n"))
	delete(m.files, epochs)
	m.change(func(all []string) []string { return all[:lines] })
	for seq := ops; seq <= int(old.Seq); seq++ {
		delete(m.files, op(seq))
		delete(m.files, op(seq)+".sig")
	}
}

// output names a file of the outputs by its end.
func (m *mischief) output(end string) string {
	for _, name := range slices.Sorted(maps.Keys(m.files)) {
		if strings.HasPrefix(name, "state/output/") && strings.HasSuffix(name, end) {
			return name
		}
	}
	m.h.t.Fatalf("no output %s", end)
	return ""
}

// verifierPath is the verifier that was written from the document alone.
var verifierPath = filepath.Join("..", "..", "..", "testdata", "verifier", "verify.py")

func TestTamperingIsNamed(t *testing.T) {
	h := newHost(t, "").history()
	whole := h.bundle()
	anchor := evidence.Anchor{Genesis: whole.genesis()}
	for _, c := range tamperings() {
		t.Run(c.name, func(t *testing.T) {
			m := &mischief{files: whole.clone(), h: h}
			h.t = t
			c.do(m)
			path := m.write(t)
			a := anchor
			a.Checkpoints = m.brought
			v := judge(t, path, a)
			if got := failedOf(v.Authentic, v.Intact, v.Complete, v.Runs); got != c.failed {
				t.Errorf("failed: %q, want %q\n%+v", got, c.failed, v)
			}
			if !slices.ContainsFunc(v.Problems, func(p apiProblem) bool { return p.Code == string(c.code) && p.Where != "" && p.Detail != "" }) {
				t.Errorf("no problem is %s: %+v", c.code, v.Problems)
			}
			if v.Authentic == "pass" && v.Intact == "pass" && v.Complete == "pass" && v.Runs == "pass" {
				t.Errorf("everything passes")
			}
			agree(t, path, a, v)
		})
	}
	h.t = t
}

func TestNothingSpeaksAgainstAWholeBundle(t *testing.T) {
	h := newHost(t, "").history()
	whole := h.bundle()
	signers := signingtest.AllowedSigners(t, h.keys["alice"], h.keys["bob"])
	for name, c := range map[string]struct {
		a         evidence.Anchor
		authentic string
	}{
		"genesis":     {evidence.Anchor{Genesis: whole.genesis()}, "pass"},
		"signers":     {evidence.Anchor{Signers: signers}, "pass"},
		"both":        {evidence.Anchor{Genesis: whole.genesis(), Signers: signers}, "pass"},
		"a witness":   {evidence.Anchor{Genesis: whole.genesis(), Checkpoints: []store.Witness{{Where: "kept", Note: h.note}}}, "pass"},
		"no anchor":   {evidence.Anchor{}, "not_checked"},
		"few signers": {evidence.Anchor{Signers: signingtest.AllowedSigners(t, h.keys["alice"])}, "fail"},
	} {
		path := whole.write(t)
		v := judge(t, path, c.a)
		if v.Authentic != c.authentic || v.Intact != "pass" || v.Complete != "pass" || v.Runs != "pass" || v.Proven != v.Leaves || v.Ops != 5 {
			t.Errorf("%s: %+v", name, v)
		}
		agree(t, path, c.a, v)
	}
}

// A bundle that somebody made with keys of his own is consistent, and passes for
// nobody who knows the host.
func TestABundleOfOtherKeysNeverPasses(t *testing.T) {
	real, forged := newHost(t, ""), newHost(t, "forged ").history()
	signers := signingtest.AllowedSigners(t, real.keys["alice"], real.keys["bob"])
	e, err := real.writer.Entry(0)
	must(t, err)
	path := forged.bundle().write(t)
	for name, c := range map[string]struct {
		a    evidence.Anchor
		want string
	}{
		"no anchor":   {evidence.Anchor{}, "not_checked"},
		"the genesis": {evidence.Anchor{Genesis: jobspec.DigestOf(e.Op)}, "fail"},
		"the signers": {evidence.Anchor{Signers: signers}, "fail"},
	} {
		v := judge(t, path, c.a)
		if v.Authentic != c.want {
			t.Errorf("%s: %+v", name, v)
		}
		agree(t, path, c.a, v)
	}
}

func failedOf(verdicts ...string) string {
	var all []string
	for i, name := range []string{"authentic", "intact", "complete", "runs"} {
		if verdicts[i] == "fail" {
			all = append(all, name)
		}
	}
	return strings.Join(all, " ")
}

func TestWhatIsNoBundleIsRefused(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir()) // nobody else leaves anything there
	h := newHost(t, "").history()
	whole := h.bundle()
	cut := whole.write(t)
	b, err := os.ReadFile(cut)
	must(t, err)
	must(t, os.WriteFile(cut, b[:len(b)/2], 0o600))
	odd := whole.clone()
	odd["conf/policy.toml"] = []byte("x")
	up := whole.clone()
	up["ops/../../x"] = []byte("x")
	name := whole.clone()
	name["ops/op-0000001.json"] = []byte("x")
	text := filepath.Join(t.TempDir(), "text")
	must(t, os.WriteFile(text, []byte("no archive\n"), 0o600))
	for what, path := range map[string]string{"cut short": cut, "another file in it": odd.write(t), "a path that leads out": up.write(t), "another spelling": name.write(t), "no archive": text} {
		if b, err := evidence.OpenBundle(path); err == nil {
			t.Errorf("%s: opened", what)
			b.Close()
		}
	}
	if left, _ := filepath.Glob(filepath.Join(os.TempDir(), "sbxcron-audit-*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// A file of nothing but holes takes no room in an archive, and would fill a disk.
func TestAnArchiveThatUnpacksToMoreThanItHoldsIsRefused(t *testing.T) {
	dir := t.TempDir()
	folder := filepath.Join(dir, "state", "output", "2026-11-30")
	must(t, os.MkdirAll(folder, 0o700))
	must(t, os.WriteFile(filepath.Join(folder, "r-x.out"), nil, 0o600))
	must(t, os.Truncate(filepath.Join(folder, "r-x.out"), 8<<30))
	path := filepath.Join(t.TempDir(), "holes.tar")
	if out, err := exec.Command("tar", "--format=posix", "--sparse", "-C", dir, "-cf", path, "state").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	b, err := evidence.OpenBundle(path)
	if err == nil {
		b.Close()
	}
	if err == nil || !strings.Contains(err.Error(), "larger than the archive") {
		t.Errorf("%v", err)
	}
	if out, err := exec.Command("python3", verifierPath, path).CombinedOutput(); err == nil || !strings.Contains(string(out), "no bundle") {
		t.Errorf("the independent verifier: %v, %s", err, out)
	}
}
