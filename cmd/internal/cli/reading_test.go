package cli

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sbxcron/sbxcron/cmd/internal/api"
	"github.com/sbxcron/sbxcron/cmd/internal/doctor"
	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/runner/cause"
)

var update = flag.Bool("update", false, "write the golden files anew")

const runID = "r-01m8pjqx34yzqckbmd32bt6c3y"

func ptr[T any](v T) *T { return &v }

// filledBench answers every reading command with something in every field.
func filledBench(t *testing.T) *bench {
	b := newBench(t)
	verdicts := jobspec.Verdicts{Identity: jobspec.Yes, Capability: jobspec.Yes, Resources: jobspec.Yes, Consent: jobspec.No}
	job := api.Job{Job: "nightly", Revision: 2, Op: jobspec.DigestOf([]byte("op")), Principal: "alice", Tier: jobspec.Workspace, Net: jobspec.NetNone,
		Schedule: "30 2 * * *", Timezone: "Europe/Berlin", Next: ptr(noon.Add(13 * time.Hour)), State: "held", Flags: []string{"held", "refused"},
		Last: &api.Last{Run: runID, Outcome: "denied", StartedAt: ptr(noon.Add(-9 * time.Hour))}}
	plain := api.Job{Job: "plain", Revision: 1, Op: jobspec.DigestOf([]byte("op2")), Principal: "bob", Tier: jobspec.Scratch, Net: jobspec.NetNone,
		Schedule: "@daily", Timezone: "UTC", State: "active"}
	b.svc.jobs = []api.Job{job, plain}
	b.svc.detail = map[jobspec.Name]api.JobDetail{"nightly": {Job: job, Seq: 5, Prev: jobspec.DigestOf([]byte("prev")), Host: testHost,
		KeyID: "SHA256:abc", SignedAt: jobspec.InstantOf(noon), ExpiresAt: jobspec.InstantOf(noon.AddDate(0, 3, 0)), Command: []string{"./backup.sh", "--full"},
		Cwd: "/srv/ops", Policy: jobspec.PolicyDigests{Floor: jobspec.DigestOf([]byte("floor")), Managed: jobspec.DigestOf([]byte("managed")), Serial: 3},
		Hash: jobspec.DigestOf([]byte("op")), Files: []jobspec.Bound{{Role: jobspec.RoleExecutable, Typed: "./backup.sh", Real: "/srv/ops/backup.sh", Size: 812, SHA256: jobspec.DigestOf([]byte("x")), UID: 1000, Mode: "0755"}},
		Coverage: map[string]string{"executable": "hash", "libraries": "unbound"}, Problem: &api.Reason{Code: jobspec.CodeKeyRevoked, Detail: "key revoked", Remedy: "sign anew"},
		Summary: []string{"runs \"./backup.sh\""}, Bytes: []byte(`{"type":"sbxcron.op/v1"}`), Sig: []byte{1, 2}}}
	b.svc.next = []api.Next{{Job: "nightly", At: "2026-12-01T02:30:00+01:00", UTC: noon.Add(13*time.Hour + 30*time.Minute), Slot: "2026-12-01T02:30/Europe/Berlin#0", Notes: []string{"a note"}}}
	run := api.Run{Run: runID, Slot: "2026-11-30T02:30/Europe/Berlin#0", Job: "nightly", Op: job.Op, Outcome: "denied",
		Reasons:      []api.Reason{{Code: jobspec.CodeEscSudo, Layer: "floor", Rule: "floor.sudo", Target: "sudo", Detail: "tried", Remedy: "do not"}},
		ScheduledFor: ptr(noon.Add(-9 * time.Hour)), StartedAt: ptr(noon.Add(-9 * time.Hour)), EndedAt: ptr(noon.Add(-9*time.Hour + 2100*time.Millisecond)),
		Trigger: "schedule", RequestedBy: ptr(int64(1000)), ExitCode: ptr(int64(0)), Backend: "bwrap", Layers: []string{"seccomp", "landlock/7"}, Probe: "passed",
		SameUID: true, UID: 1000, Denials: []api.Denial{{Code: jobspec.CodeEscSudo, Target: "/usr/bin/sudo", Certainty: "observed", Count: 2, FirstAt: "2026-11-30T03:00:01Z", Expected: false, Rule: "shim"}},
		Verdicts: &verdicts, Weaker: []string{}, Resources: &api.Resources{CPUSeconds: 0.25, MaxRSSBytes: 4096},
		Outputs: []api.Output{{Stream: "out", Bytes: 9, SHA256: jobspec.DigestOf([]byte("out")), KeptBytes: 9, KeptSHA256: jobspec.DigestOf([]byte("out"))}}, Leaf: 12}
	b.svc.runs = []api.Run{run, {SlotCount: 3, Job: "plain", Outcome: "missed", Slot: "a", SlotLast: "c"}}
	b.svc.explained = api.Explanation{Job: "nightly", Decision: "refuse", Verdicts: verdicts, Checks: []jobspec.Check{{Step: "policy", Verdict: "yes"},
		{Step: "asks", Verdict: "no", Code: jobspec.CodeAskAtTrigger, Layer: "floor", Rule: "floor.inline", Target: "aaaa", Detail: "May it run this?\nbecause: it asks", Remedy: "answer at add", Allow: "sbxcron replace nightly -f FILE --answer aaaa=allow"}},
		May: []string{"run it"}, MayNot: []string{"ask"},
		Opens: jobspec.Opens{Read: []string{"/srv/data"}, Write: []string{"/srv/ops"}}, Coverage: map[string]string{"executable": "hash"}, Summary: []string{"runs it"}}
	b.svc.status = api.Status{Health: "clock_hold", Problems: []api.Reason{{Code: jobspec.CodeClockHold, Detail: "the clock went back", Remedy: "set it"}},
		Running: []api.Run{run}, Next: b.svc.next, Folder: "/srv/state", SameUID: true, Service: true, PID: 812, Since: ptr(noon.Add(-time.Hour)), Version: "1.0", Host: testHost, Jobs: 2}
	b.svc.audit = api.Audit{Authentic: "pass", Intact: "fail", Complete: "pass", Runs: "not_checked",
		Problems: []api.Problem{{Code: "op_tampered", Where: "op 3", Detail: "the bytes changed"}}, Ops: 4, Leaves: 20}
	b.svc.output = map[string]string{runID + "/out": "text\x1b[2J\n"}
	b.site.facts = doctor.Facts{Platform: "linux", UID: 1000, Now: noon, Zone: "Europe/Berlin", Machine: cause.Facts{Landlock: 7, Seccomp: true, UserNS: true, MaxUserNS: 9, UnprivClone: -1}, Files: []doctor.FileFact{{Path: "/srv/conf"}},
		Sandbox: jobspec.Sandbox{Problem: jobspec.CodeSbxBackendMissing, Detail: "no bwrap", Remedy: "install bubblewrap"}}
	b.site.backends = []jobspec.Sandbox{{Backend: "bwrap", Problem: jobspec.CodeSbxBackendMissing, Detail: "no bwrap", Remedy: "install bubblewrap", Lasting: true},
		{Backend: "landlock", Usable: true, Version: "ABI 7", Capabilities: []string{"landlock", "seccomp"}, Needs: []string{jobspec.WeakerBackendLandlock}}}
	return b
}

// Each reading command has --json; the golden files are what scripts may count on.
func TestReadingCommandsPrintTheAgreedDocuments(t *testing.T) {
	for name, tc := range map[string]struct {
		args   []string
		status int
	}{
		"list":         {[]string{"list"}, 0},
		"show":         {[]string{"show", "nightly"}, 0},
		"next":         {[]string{"next"}, 0},
		"next_expr":    {[]string{"next", "--expr", "30 2 * * *", "--timezone", "Europe/Berlin", "--from", "2026-10-24T00:00:00Z", "-n", "2"}, 0},
		"history":      {[]string{"history"}, 0},
		"explain":      {[]string{"explain", "nightly"}, 0},
		"explain_run":  {[]string{"explain", runID}, 0},
		"status":       {[]string{"status"}, 3},
		"doctor":       {[]string{"doctor"}, 3},
		"backend_list": {[]string{"backend", "list"}, 0},
		"audit_verify": {[]string{"audit", "verify"}, 20},
		"trust":        {[]string{"trust", "list"}, 0},
		"logs":         {[]string{"logs", runID}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			b := filledBench(t)
			if status := b.run(append([]string{"--json"}, tc.args...)...); status != tc.status {
				t.Fatalf("exit %d, want %d\n%s", status, tc.status, b.err.String())
			}
			if bytes.Contains(b.out.Bytes(), []byte("null")) {
				t.Errorf("a document holds null: %s", b.out.String())
			}
			golden(t, name+".json", indented(t, b.out.Bytes()))
		})
	}
}

// For people there are the same columns in a pipe as on a terminal.
func TestReadingCommandsSpeakToPeople(t *testing.T) {
	for name, args := range map[string][]string{
		"list": {"list"}, "show": {"show", "nightly"}, "next": {"next"}, "history": {"history"}, "explain": {"explain", "nightly"},
		"explain_run": {"explain", runID}, "status": {"status"}, "doctor": {"doctor"}, "audit_verify": {"audit", "verify"}, "trust": {"trust", "list"},
		"exit_codes": {"help", "exit-codes"},
	} {
		t.Run(name, func(t *testing.T) {
			b := filledBench(t)
			b.run(args...)
			golden(t, name+".txt", b.out.Bytes())
		})
	}
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), string(got)); d != "" {
		t.Error(d)
	}
}

func indented(t *testing.T, raw []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := json.Indent(&out, raw, "", "  "); err != nil {
		t.Fatalf("no JSON: %v\n%s", err, raw)
	}
	return out.Bytes()
}

func TestEmptyAnswersAreListsAndWords(t *testing.T) {
	for _, args := range [][]string{{"list"}, {"next"}, {"history"}} {
		b := newBench(t)
		if code := b.run(append([]string{"--json"}, args...)...); code != 0 || !strings.Contains(b.out.String(), `"items":[]`) {
			t.Errorf("%s: exit %d, %s", args, code, b.out.String())
		}
		if code := b.run(args...); code != 0 || b.out.Len() != 0 || b.err.Len() == 0 {
			t.Errorf("%s: exit %d, out %q, err %q", args, code, b.out.String(), b.err.String())
		}
		if b.run(append([]string{"-q"}, args...)...); b.err.Len() != 0 {
			t.Errorf("%s -q still says %q", args, b.err.String())
		}
	}
}

func TestShowSpecPrintsTheExactBytes(t *testing.T) {
	b := filledBench(t)
	if code := b.run("show", "nightly", "--spec"); code != 0 || b.out.String() != `{"type":"sbxcron.op/v1"}` {
		t.Errorf("exit %d, %q", code, b.out.String())
	}
}

func TestForeignTextIsEscapedInEveryLineForPeople(t *testing.T) {
	evil := "\x1b[2J\u202e\x07"
	b := filledBench(t)
	b.svc.jobs[0].Schedule, b.svc.jobs[0].Last.Outcome = evil, evil
	d := b.svc.detail["nightly"]
	d.Summary, d.Coverage, d.Files[0].Real, d.Problem.Detail = []string{evil}, map[string]string{evil: evil}, evil, evil
	b.svc.detail["nightly"] = d
	b.svc.runs[0].Reasons[0].Target, b.svc.runs[0].Denials[0].Target, b.svc.runs[0].Layers = evil, evil, []string{evil}
	b.svc.explained.Checks[1].Detail, b.svc.explained.Opens.Read, b.svc.explained.Summary = evil, []string{evil}, []string{evil}
	b.svc.status.Problems[0].Detail, b.svc.status.Folder = evil, evil
	b.svc.audit.Problems[0].Where = evil
	b.svc.errs["start"] = &api.Error{ErrCode: jobspec.CodeInternal, Exit: 1, Message: evil, Help: evil, Reasons: []api.Reason{{Detail: evil, Remedy: evil + "x"}}}
	for _, args := range [][]string{{"list"}, {"show", "nightly"}, {"next"}, {"history"}, {"explain", "nightly"}, {"explain", runID}, {"status"}, {"audit", "verify"}, {"run", "nightly"}, {evil}} {
		b.run(args...)
		for _, r := range b.out.String() + b.err.String() {
			if r < ' ' && r != '\n' || r == '\u202e' {
				t.Errorf("%s lets %U through:\n%s%s", args, r, b.out.String(), b.err.String())
				break
			}
		}
	}
}

func TestLogsGivesBytesToAPipeAndEscapesThemOnATerminal(t *testing.T) {
	b := filledBench(t)
	if code := b.run("logs", runID, "--stream", "out"); code != 0 || b.out.String() != b.svc.output[runID+"/out"] {
		t.Errorf("exit %d, %q", code, b.out.String())
	}
	if code := b.run("logs", "nightly"); code != 0 || b.out.String() != b.svc.output[runID+"/out"] {
		t.Errorf("by name: exit %d, %q", code, b.out.String())
	}
	b.app.UI.OutTTY = true
	b.out.Reset()
	sink := b.app.logSink("out")
	if _, err := sink.Write([]byte(b.svc.output[runID+"/out"])); err != nil || sink.Close() != nil {
		t.Fatal(err)
	}
	if got := b.out.String(); got != "text\\x1b[2J\n" {
		t.Errorf("on a terminal: %q", got)
	}
}

func TestLogsTellsSilenceFromLoss(t *testing.T) {
	b := filledBench(t)
	if code := b.run("logs", runID, "--stream", "err"); code != 0 || b.out.Len() != 0 {
		t.Errorf("a silent stream: exit %d, %q", code, b.err.String())
	}
	delete(b.svc.output, runID+"/out")
	b.run("--json", "logs", runID, "--stream", "out")
	if e := b.errorDoc(); e.ErrCode != string(jobspec.CodeOutputPruned) {
		t.Errorf("a lost stream: %+v", e)
	}
}

func TestJSONLinesNeverCutARune(t *testing.T) {
	text := "a\u00fc\u20ac\U0001f600z"
	for size := 1; size <= len(text); size++ {
		var out bytes.Buffer
		j := &jsonLines{enc: json.NewEncoder(&out), stream: "out"}
		for i := 0; i < len(text); i += size {
			if _, err := j.Write([]byte(text[i:min(i+size, len(text))])); err != nil {
				t.Fatal(err)
			}
		}
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
		var whole string
		for dec := json.NewDecoder(&out); dec.More(); {
			var l logLine
			if err := dec.Decode(&l); err != nil || l.Offset != int64(len(whole)) {
				t.Fatalf("%+v at %d, %v", l, len(whole), err)
			}
			whole += l.Text
		}
		if whole != text {
			t.Errorf("pieces of %d: %q", size, whole)
		}
	}
}

func TestHistoryAsksForWhatTheFlagsSay(t *testing.T) {
	b := filledBench(t)
	if code := b.run("history", "nightly", "--since", "24h", "--until", "2026-11-30T11:00:00Z", "--outcome", "failed,denied", "--limit", "3"); code != 0 {
		t.Fatalf("exit %d\n%s", code, b.err.String())
	}
	q := b.svc.queries[0]
	if q.Job != "nightly" || !q.Since.Equal(noon.Add(-24*time.Hour)) || !q.Until.Equal(noon.Add(-time.Hour)) || q.Limit != 3 || len(q.Outcome) != 2 {
		t.Errorf("query %+v", q)
	}
}
