package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sbxcron/sbxcron/cmd/internal/api"
	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/signing"
	"github.com/sbxcron/sbxcron/store"
)

// folder is a bench with a folder of job files.
type folder struct {
	*bench
	dir, plan string
}

func newFolder(t *testing.T, files ...string) *folder {
	t.Helper()
	f := &folder{newBench(t), t.TempDir(), ""}
	f.plan = filepath.Join(t.TempDir(), "jobs.plan")
	for i := 0; i < len(files); i += 2 {
		f.write(files[i], files[i+1])
	}
	return f
}

func (f *folder) write(name, more string) {
	f.t.Helper()
	text := "name = \"" + name + "\"\nschedule = \"30 2 * * *\"\ntimezone = \"UTC\"\ncommand = [\"/usr/bin/backup\"]\n" + more + "\n"
	if err := os.WriteFile(filepath.Join(f.dir, name+".toml"), []byte(text), 0o600); err != nil {
		f.t.Fatal(err)
	}
}

// items runs plan -f with --json.
func (f *folder) items(want int, flags ...string) []planItem {
	f.t.Helper()
	if code := f.run(append([]string{"--json", "plan", "-f", f.dir}, flags...)...); code != want {
		f.t.Fatalf("plan %q: exit %d, want %d\n%s%s", flags, code, want, f.out.String(), f.err.String())
	}
	var doc struct{ Items []planItem }
	if err := json.Unmarshal(f.out.Bytes(), &doc); err != nil {
		f.t.Fatal(err)
	}
	return doc.Items
}

// actions are what is planned, "action job" each.
func actions(items []planItem) (out []string) {
	for _, i := range items {
		out = append(out, i.Action+" "+string(i.Job))
	}
	return out
}

// take signs the plan, applies it, and makes the service hold what it says.
func (f *folder) take() {
	f.t.Helper()
	for _, args := range [][]string{{"sign", f.plan, "--yes", "--json"}, {"apply", f.plan, f.plan + ".sig", "--json"}} {
		if code := f.run(args...); code != 0 {
			f.t.Fatalf("%s: exit %d\n%s", args, code, f.err.String())
		}
	}
	if f.svc.detail == nil {
		f.svc.detail = map[jobspec.Name]api.JobDetail{}
	}
	for _, s := range f.svc.submitted {
		op, err := jobspec.DecodeOp(s.Op)
		if err != nil {
			f.t.Fatal(err)
		}
		f.svc.jobs = slices.DeleteFunc(f.svc.jobs, func(j api.Job) bool { return j.Job == op.Job })
		j := api.Job{Job: op.Job, Revision: op.Revision, Op: jobspec.DigestOf(s.Op), Principal: op.Principal, State: "active"}
		if op.Action == jobspec.Remove {
			j.State = "removed"
		} else {
			f.svc.jobs = append(f.svc.jobs, j)
		}
		f.svc.detail[op.Job] = api.JobDetail{Job: j, Bytes: s.Op}
		f.svc.head.Seq, f.svc.head.Prev = op.Seq+1, jobspec.DigestOf(s.Op)
	}
	f.site.pin = store.Pin{Host: testHost, Seq: f.svc.head.Seq - 1, Digest: f.svc.head.Prev}
	f.svc.submitted = nil
	for _, file := range []string{f.plan, f.plan + ".sig"} {
		if err := os.Remove(file); err != nil {
			f.t.Fatal(err)
		}
	}
}

func TestAFolderOfJobsIsOnePlanThatIsSignedOnce(t *testing.T) {
	f := newFolder(t, "a", "", "b", "note = \"second\"", "c", "")
	if got := actions(f.items(0, "--out", f.plan)); !slices.Equal(got, []string{"add a", "add b", "add c"}) {
		t.Fatal(got)
	}
	if f.key.used != 0 || len(f.svc.submitted) != 0 {
		t.Error("a plan touched the key or the service's chain")
	}
	f.answers = []string{"y"}
	if code := f.run("sign", f.plan); code != 0 || len(f.asked) != 1 || !strings.Contains(f.asked[0], "all 3 ops") || f.key.used != 3 {
		t.Fatalf("exit %d, asked %q, key used %d times\n%s", code, f.asked, f.key.used, f.err.String())
	}
	if got := strings.Count(f.err.String(), "It will run WITHOUT YOU"); got != 3 {
		t.Errorf("%d of 3 ops were shown before the question", got)
	}
	if code := f.run("apply", f.plan, f.plan+".sig"); code != 0 || len(f.svc.submitted) != 3 {
		t.Fatalf("exit %d\n%s", code, f.err.String())
	}
	prev, seq := f.svc.head.Prev, f.svc.head.Seq
	for i, s := range f.svc.submitted {
		op, err := jobspec.DecodeOp(s.Op)
		if err != nil || op.Prev != prev || op.Seq != seq+int64(i) || op.Revision != 1 {
			t.Errorf("op %d: %+v, %v", i, op, err)
		}
		sig, err := signing.ParseSignature(s.Sig)
		if err != nil || sig.Verify(s.Op) != nil {
			t.Errorf("op %d: the signature is not over its bytes", i)
		}
		prev = jobspec.DigestOf(s.Op)
	}
}

// What stays the same is told as such, however much later it is asked for.
func TestAFolderThatIsInForcePlansNothing(t *testing.T) {
	f := newFolder(t, "a", "", "b", "")
	f.items(0, "--out", f.plan)
	f.take()
	f.svc.head.Now = noon.Add(20 * 24 * time.Hour)
	if got := actions(f.items(0, "--out", f.plan)); !slices.Equal(got, []string{"keep a", "keep b"}) || isThere(f.plan) {
		t.Errorf("%q, a plan was written: %v", got, isThere(f.plan))
	}
	if f.run("plan", "-f", f.dir, "--out", f.plan) != 0 || !strings.Contains(f.out.String(), "nothing to do") {
		t.Errorf("%s%s", f.out.String(), f.err.String())
	}
	f.items(0, "--dry-run")
}

func TestAPlanReplacesWhatDiffersAndRemovesOnlyWithPrune(t *testing.T) {
	f := newFolder(t, "a", "", "b", "", "c", "")
	f.items(0, "--out", f.plan)
	f.take()
	f.svc.jobs = append(f.svc.jobs, api.Job{Job: "theirs", Principal: "bob"})
	f.write("a", "expires = \"30d\"\n[limits]\ntimeout = \"1h\"")
	f.write("d", "")
	if err := os.Remove(filepath.Join(f.dir, "c.toml")); err != nil {
		t.Fatal(err)
	}
	items := f.items(3, "--dry-run")
	if got := actions(items); !slices.Equal(got, []string{"leave c", "replace a", "keep b", "add d"}) || isThere(f.plan) {
		t.Fatal(got)
	}
	if diff := cmp.Diff([]string{"expires", "limits"}, items[1].Changes); diff != "" {
		t.Error(diff)
	}
	if words := strings.Join(items[1].Words, "\n"); !strings.Contains(words, "- ") || !strings.Contains(words, "+ ") || !strings.Contains(words, "3600 s") || strings.Contains(words, "apply:") {
		t.Error(words)
	}
	if f.run("plan", "-f", f.dir, "--dry-run"); !strings.Contains(f.out.String(), "in force and in no file: c") {
		t.Error(f.out.String())
	}
	if got := actions(f.items(0, "--prune", "--out", f.plan)); !slices.Equal(got, []string{"remove c", "replace a", "keep b", "add d"}) {
		t.Fatal(got)
	}
	f.take()
	if got := actions(f.items(0, "--dry-run", "--prune")); !slices.Equal(got, []string{"keep a", "keep b", "keep d"}) {
		t.Error(got)
	}
	f.write("c", "")
	if items := f.items(3, "--dry-run"); items[2].Action != "add" || items[2].Revision != 3 {
		t.Errorf("the name of a removed job: %+v", items[2])
	}
}

func TestJobsOfOthersAndDisabledOnesAreLeftAlone(t *testing.T) {
	f := newFolder(t, "a", "", "b", "")
	f.items(0, "--out", f.plan)
	f.take()
	f.svc.jobs[0].Flags = []string{"disabled"}
	f.svc.jobs[1].Flags = []string{"expired"}
	f.write("a", "note = \"changed\"")
	items := f.items(3, "--dry-run")
	if got := actions(items); !slices.Equal(got, []string{"skip a", "replace b"}) || !slices.Equal(items[1].Changes, []string{"expired"}) {
		t.Errorf("%+v", items)
	}
	f.svc.jobs[1].Principal = "bob"
	items = f.items(77, "--out", f.plan)
	if len(items[1].Refused) != 1 || items[1].Refused[0].Code != jobspec.CodeNotJobOwner || isThere(f.plan) {
		t.Errorf("%+v", items)
	}
}

func TestABrokenFileIsNamedAndNothingIsPlanned(t *testing.T) {
	f := newFolder(t, "a", "", "b", "nonsense = 1")
	f.write("c", "")
	if err := os.Rename(filepath.Join(f.dir, "c.toml"), filepath.Join(f.dir, "twice.toml")); err != nil {
		t.Fatal(err)
	}
	f.write("c", "")
	if code := f.run("--json", "plan", "-f", f.dir, "--out", f.plan); code != 65 || isThere(f.plan) {
		t.Errorf("exit %d", code)
	}
	if e := f.errorDoc(); !strings.Contains(e.Message, "b.toml") || !strings.Contains(e.Message, "twice.toml") || strings.Contains(e.Message, "a.toml") {
		t.Error(e.Message)
	}
	for _, dir := range []string{t.TempDir(), filepath.Join(f.dir, "none")} {
		if code := f.run("--json", "plan", "-f", dir, "--prune", "--out", f.plan); code != 65 {
			t.Errorf("%s: exit %d: an empty folder is no wish to remove everything", dir, code)
		}
	}
	for _, args := range [][]string{{"plan"}, {"plan", "-f", f.dir}, {"plan", "-f", f.dir, "--out", "x", "--dry-run"}, {"plan", "none"}} {
		if code := f.run(args...); code != 64 {
			t.Errorf("%q: exit %d", args, code)
		}
	}
}

// One job that may not be is enough: half of a folder is in force never.
func TestARefusedJobKeepsTheWholeFolderFromBeingPlanned(t *testing.T) {
	f := newFolder(t, "a", "", "b", "tier = \"workspace\"\ncwd = \"/srv\"")
	f.site.change = func(in *jobspec.Input) {
		in.Policy.Principals = map[jobspec.Principal]jobspec.Ceiling{"alice": {MaxTier: jobspec.Scratch, MaxNet: jobspec.NetNone}}
	}
	if code := f.run("plan", "-f", f.dir, "--out", f.plan); code == 0 || isThere(f.plan) || !strings.Contains(f.out.String(), "REFUSED") {
		t.Errorf("exit %d\n%s%s", code, f.out.String(), f.err.String())
	}
}

func TestOpsOfTwoPlansOrWithTheWrongSignaturesAreRefused(t *testing.T) {
	f := newFolder(t, "a", "", "b", "")
	f.items(0, "--out", f.plan)
	if code := f.run("sign", f.plan, "--yes"); code != 0 {
		t.Fatalf("exit %d\n%s", code, f.err.String())
	}
	ops, sigs := mustRead(t, f.plan), mustRead(t, f.plan+".sig")
	first, second, _ := strings.Cut(ops, "\n")
	blocks := cutArmor([]byte(sigs))
	for what, c := range map[string]struct {
		ops, sigs string
		want      int
	}{
		"turned around":    {second + "\n" + first, string(blocks[1]) + string(blocks[0]), 65},
		"one signature":    {ops, string(blocks[0]), 10},
		"swapped":          {ops, string(blocks[1]) + string(blocks[0]), 10},
		"text between":     {ops, string(blocks[0]) + "ok\n" + string(blocks[1]), 10},
		"an op is missing": {second, sigs, 10},
		"ops changed":      {strings.Replace(ops, "backup", "backuq", 1), sigs, 10},
	} {
		dir := t.TempDir()
		for name, text := range map[string]string{"p": c.ops, "p.sig": c.sigs} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if code := f.run("--json", "apply", filepath.Join(dir, "p"), filepath.Join(dir, "p.sig")); code != c.want || len(f.svc.submitted) != 0 {
			t.Errorf("%s: exit %d, want %d, %d submitted\n%s", what, code, c.want, len(f.svc.submitted), f.err.String())
		}
	}
	f.svc.errs["submit"] = api.New(jobspec.CodeHeadMoved, "another op came first")
	if code := f.run("--json", "apply", f.plan, f.plan+".sig"); code != 5 || !strings.HasPrefix(f.errorDoc().Message, "none of the 2 ops") {
		t.Errorf("exit %d, %s", code, f.err.String())
	}
	f.svc.head.Prev = jobspec.DigestOf([]byte(first))
	if f.run("--json", "apply", f.plan, f.plan+".sig"); !strings.HasPrefix(f.errorDoc().Message, "the first 1 of 2 ops are in force") {
		t.Error(f.err.String())
	}
}

func mustRead(t *testing.T, file string) string {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}
