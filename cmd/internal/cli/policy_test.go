package cli

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sbxcron/sbxcron/cmd/internal/api"
	"github.com/sbxcron/sbxcron/cmd/internal/config"
	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/jobtoml"
)

const basePolicy = `serial = 3
enabled_platforms = ["linux"]
[principals.alice]
max_tier = "workspace"
read = ["/srv"]
[principals.alice.limits]
pids = 300
[[rules]]
id = "no-push"
effect = "deny"
why = "publishing is manual"
name = "git"
has = ["push"]
`

const furtherPolicy = `serial = 2
agent_cli = "deny"
[principals.alice]
max_tier = "read-only"
read = ["/srv/a", "/data"]
max_ttl = "30d"
`

const ownPolicy = `[principals.alice]
max_jobs = 3
`

// policyDir is a folder laid out like CONF.
func policyDir(t *testing.T, base string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"policy.toml": base, "policy.d/10-site.toml": furtherPolicy, "owner.d/alice.toml": ownPolicy} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func policyBench(t *testing.T) *bench {
	t.Helper()
	b := newBench(t)
	set, err := config.DraftPolicy(policyDir(t, basePolicy))
	if err != nil {
		t.Fatal(err)
	}
	b.site.policy = set
	b.site.problems = []config.PolicyProblem{
		{File: "/srv/conf/policy.toml", Line: 7, Column: 1, Code: jobspec.CodePolicySelftest, Detail: "rules[0].match: rule \"r\" does not match \"ls\"", Remedy: "correct the rule"},
		{File: "/srv/conf/policy.d/10-site.toml", Line: 3, Column: 1, Code: config.CodeRuleHidden, Rule: "push", Detail: "rule \"push\" allows in vain", Remedy: "remove the rule"}}
	return b
}

// storedJob puts a job into the service as it was signed, and a run of it.
func storedJob(t *testing.T, b *bench) {
	t.Helper()
	if code := b.run(line(plainJob, []string{"--yes"}, command)...); code != 0 {
		t.Fatalf("exit %d\n%s", code, b.err.String())
	}
	op := b.svc.submitted[0].Op
	at := noon.Add(-time.Hour)
	digest := jobspec.DigestOf(op)
	b.svc.ops = []api.OpFile{{Seq: 7, Op: op}}
	b.svc.jobs = []api.Job{{Job: "nightly", Op: digest, Principal: "alice"}}
	b.svc.runs = []api.Run{
		{Run: "run-1", Job: "nightly", Op: digest, Outcome: "succeeded", StartedAt: &at},
		{Run: "run-2", Job: "nightly", Op: digest, Outcome: "refused", ScheduledFor: &at, Reasons: []api.Reason{{Code: jobspec.CodeDriftExecHash}}},
		{Run: "run-3", Job: "nightly", Op: digest, Outcome: "refused", ScheduledFor: &at, Reasons: []api.Reason{{Code: jobspec.CodeTTLOverCeiling}}},
		{Run: "run-4", Job: "nightly", Op: digest, Outcome: "missed", ScheduledFor: &at}}
	b.out.Reset()
	b.err.Reset()
}

func TestPolicyCommandsPrintTheAgreedDocuments(t *testing.T) {
	for name, tc := range map[string]struct {
		args   []string
		status int
	}{
		"policy_show":      {[]string{"policy", "show"}, 0},
		"policy_effective": {[]string{"policy", "show", "--effective", "--for", "alice"}, 0},
		"policy_check":     {[]string{"policy", "check"}, 3},
	} {
		t.Run(name, func(t *testing.T) {
			b := policyBench(t)
			if status := b.run(append([]string{"--json"}, tc.args...)...); status != tc.status {
				t.Fatalf("exit %d, want %d\n%s", status, tc.status, b.err.String())
			}
			golden(t, name+".json", withoutFloor(indented(t, b.out.Bytes())))
			b = policyBench(t)
			b.run(tc.args...)
			golden(t, name+".txt", b.out.Bytes())
		})
	}
}

// withoutFloor keeps the golden files from changing with each rule of the floor.
func withoutFloor(doc []byte) []byte {
	return bytes.ReplaceAll(doc, []byte(jobspec.FloorDigest().String()), []byte("sha256:FLOOR"))
}

func TestTheFloorIsPrintedAsItIs(t *testing.T) {
	b := newBench(t)
	if status := b.run("--json", "policy", "show", "floor"); status != 0 {
		t.Fatal(b.err.String())
	}
	var doc struct {
		Schema string
		Item   struct {
			Version int
			Digest  jobspec.Digest
			Lines   []string
		}
	}
	if err := json.Unmarshal(b.out.Bytes(), &doc); err != nil {
		t.Fatal(err)
	}
	if doc.Schema != "sbxcron.policy_floor/v1" || doc.Item.Version != jobspec.FloorVersion || doc.Item.Digest != jobspec.FloorDigest() {
		t.Errorf("%+v", doc)
	}
	b.out.Reset()
	b.run("policy", "show", "floor")
	if text := strings.Join(doc.Item.Lines, "\n") + "\n"; text != b.out.String() || jobspec.DigestOf([]byte(text)) != doc.Item.Digest {
		t.Errorf("%q\n%q", text, b.out.String())
	}
}

func TestAReplayTellsWhatAPolicyWouldChange(t *testing.T) {
	b := policyBench(t)
	loose, err := config.DraftPolicy(policyDir(t, basePolicy))
	if err != nil {
		t.Fatal(err)
	}
	p, err := jobtoml.ReadPolicy([]byte(basePolicy))
	if err != nil {
		t.Fatal(err)
	}
	loose.Policy = p // without the files that narrow
	b.site.policy = loose
	storedJob(t, b)
	refused := b.svc.runs[2]
	b.svc.runs = append(b.svc.runs[:2:2], b.svc.runs[3])
	if status := b.run("policy", "check", "--replay"); status != 0 || !strings.Contains(b.err.String(), "nothing would change") {
		t.Fatalf("the policy in force: exit %d\n%s%s", status, b.out.String(), b.err.String())
	}
	b.svc.runs = append(b.svc.runs, refused)
	dir := policyDir(t, basePolicy)
	if status := b.run("--json", "policy", "check", "--replay", "--policy", dir); status != 3 {
		t.Fatalf("a tighter one: exit %d\n%s%s", status, b.out.String(), b.err.String())
	}
	golden(t, "policy_replay.json", indented(t, b.out.Bytes()))
	b.out.Reset()
	b.run("policy", "check", "--replay", "--policy", dir)
	golden(t, "policy_replay.txt", b.out.Bytes())

	b.out.Reset()
	if status := b.run("policy", "check", "--replay"); status != 3 || !strings.Contains(b.out.String(), "run-3") || strings.Contains(b.out.String(), "run-1") {
		t.Errorf("a run that the policy refused and would not: exit %d\n%s", status, b.out.String())
	}

	// The other way round: what is refused today would run.
	tight, err := config.DraftPolicy(dir)
	if err != nil {
		t.Fatal(err)
	}
	b.site.policy = tight
	if err := os.RemoveAll(filepath.Join(dir, "policy.d")); err != nil {
		t.Fatal(err)
	}
	b.out.Reset()
	if status := b.run("--json", "policy", "check", "--replay", "--policy", dir, "--runs", "0"); status != 3 {
		t.Fatalf("a looser one: exit %d\n%s", status, b.err.String())
	}
	var doc struct{ Items []replayed }
	if err := json.Unmarshal(b.out.Bytes(), &doc); err != nil {
		t.Fatal(err)
	}
	if len(doc.Items) != 1 || doc.Items[0].Before != "refuse" || doc.Items[0].After != "allow" || len(doc.Items[0].Reasons) == 0 {
		t.Errorf("%+v", doc.Items)
	}
}

func TestFilesAndFoldersAreCheckedBeforeTheyAreInForce(t *testing.T) {
	dir := policyDir(t, basePolicy)
	b := newBench(t)
	if status := b.run("policy", "check", dir); status != 0 {
		t.Errorf("exit %d\n%s%s", status, b.out.String(), b.err.String())
	}
	file := filepath.Join(dir, "policy.toml")
	if err := os.WriteFile(file, []byte("serial = 1\n\nsandbox = \"off\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, target := range []string{file, dir} {
		b := newBench(t)
		if status := b.run("policy", "check", target); status != 3 || !strings.HasPrefix(b.out.String(), file+":3:1: ") {
			t.Errorf("%s: exit %d\n%s%s", target, status, b.out.String(), b.err.String())
		}
	}
	if status := newBench(t).run("policy", "check", dir+"/none"); status != 65 {
		t.Errorf("nothing there: exit %d", status)
	}
}

func TestEveryShippedFlagOfTheServiceIsInTheSchema(t *testing.T) {
	b := newBench(t)
	if status := b.run("schema", "config"); status != 0 {
		t.Fatal(b.err.String())
	}
	var s struct {
		Properties map[string]struct{ Type, Description string }
	}
	if err := json.Unmarshal(b.out.Bytes(), &s); err != nil {
		t.Fatal(err)
	}
	if s.Properties["--max-parallel"].Type != "integer" || s.Properties["--drain"].Type != "string" || s.Properties["--log-format"].Description == "" {
		t.Errorf("%+v", s)
	}
}

// Where the policy demands a terminal, --yes is no answer, and what somebody
// types there is.
func TestAPolicyThatDemandsATerminalSignsForNobodyElse(t *testing.T) {
	demandFor := func(b *bench, tier jobspec.Tier) {
		p := &jobspec.Policy{Serial: 3, Principals: map[jobspec.Principal]jobspec.Ceiling{
			"alice": {MaxTier: jobspec.Workspace, Require: map[jobspec.Tier][]string{tier: {jobspec.RequireTerminal}}}}}
		b.site.policy = &config.PolicySet{Policy: p, Files: []config.PolicyFile{{Name: config.PolicyName, Policy: p}}}
	}
	demand := func(b *bench) { demandFor(b, jobspec.Scratch) }
	add := func(b *bench, more ...string) int { return b.run(line(more, plainJob, []string{"--yes"}, command)...) }
	b := newBench(t)
	demand(b)
	if status := add(b); status != 64 || b.key.used != 0 || len(b.svc.submitted) != 0 || !strings.Contains(b.err.String(), "terminal") {
		t.Errorf("without a terminal: exit %d\n%s", status, b.err.String())
	}
	b = newBench(t)
	demand(b)
	b.answers = []string{"y"}
	if status := add(b, "--json"); status != 64 || b.key.used != 0 {
		t.Errorf("with --json: exit %d\n%s", status, b.err.String())
	}
	if status := add(b); status != 0 || b.key.used != 1 || len(b.asked) != 1 {
		t.Errorf("on a terminal: exit %d, asked %q\n%s", status, b.asked, b.err.String())
	}
	b = newBench(t)
	demand(b)
	b.answers = []string{"n"}
	if status := add(b); status != 1 || b.key.used != 0 {
		t.Errorf("answered no: exit %d\n%s", status, b.err.String())
	}
	b = newBench(t)
	demandFor(b, jobspec.Workspace)
	if status := add(b); status != 0 {
		t.Errorf("another tier: exit %d\n%s", status, b.err.String())
	}
}

// A window is about when a job starts, not about when somebody asks.
func TestAReplayJudgesWindowsAtTheNextSlot(t *testing.T) {
	b := policyBench(t)
	p, err := jobtoml.ReadPolicy([]byte(basePolicy))
	if err != nil {
		t.Fatal(err)
	}
	b.site.policy = &config.PolicySet{Policy: p}
	storedJob(t, b)
	dir := t.TempDir()
	text := strings.Replace(basePolicy, "read = ", `windows = ["02:00-03:00"]`+"\nread = ", 1)
	if err := os.WriteFile(filepath.Join(dir, "policy.toml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for next, want := range map[time.Duration]int{14*time.Hour + 30*time.Minute: 0, time.Hour: 3} { // from noon
		at := noon.Add(next)
		b.svc.jobs[0].Next = &at
		b.out.Reset()
		if status := b.run("policy", "check", "--replay", "--policy", dir, "--runs", "0"); status != want || (want == 3) != strings.Contains(b.out.String(), "window_closed") {
			t.Errorf("next at %s: exit %d, want %d\n%s%s", at, status, want, b.out.String(), b.err.String())
		}
	}
}
