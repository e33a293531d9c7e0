package cli

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/sbxcron/sbxcron/cmd/internal/api"
	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/signing"
	"github.com/sbxcron/sbxcron/signing/signingtest"
)

var (
	plainJob  = []string{"add", "nightly", "--schedule", "30 2 * * *", "--timezone", "Europe/Berlin"}
	command   = []string{"--", "/usr/bin/true"}
	inlineJob = []string{"--", "sh", "-c", "echo hi"}
)

func line(parts ...[]string) []string {
	var all []string
	for _, p := range parts {
		all = append(all, p...)
	}
	return all
}

// errorDoc is the error document as a script reads it. Codes are text: those of
// the command line are not among jobspec's.
type errorDoc struct {
	Schema  string `json:"schema"`
	ErrCode string `json:"code"`
	Exit    int    `json:"exit"`
	Class   string `json:"exit_class"`
	Message string `json:"message"`
	Help    string `json:"hint"`
	Job     string `json:"job"`
	Reasons []struct {
		Code, Remedy string
	} `json:"reasons"`
}

// errorDoc reads the error document of the last command line.
func (b *bench) errorDoc() errorDoc {
	b.t.Helper()
	var doc errorDoc
	lines := strings.Split(strings.TrimSpace(b.err.String()), "\n")
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &doc); err != nil || doc.Schema != "sbxcron.error/v1" {
		b.t.Fatalf("standard error is no error document: %v\n%s", err, b.err.String())
	}
	return doc
}

func TestAddSignsTheBytesThatItShows(t *testing.T) {
	b := newBench(t)
	if code := b.run(line(plainJob, []string{"--yes"}, command)...); code != 0 {
		t.Fatalf("exit %d\n%s", code, b.err.String())
	}
	if len(b.svc.submitted) != 1 || b.key.used != 1 {
		t.Fatalf("%d submitted, key used %d times", len(b.svc.submitted), b.key.used)
	}
	s := b.svc.submitted[0]
	op, err := jobspec.DecodeOp(s.Op)
	if err != nil {
		t.Fatal(err)
	}
	if op.Seq != 7 || op.Prev != b.svc.head.Prev || op.Host != testHost || op.Revision != 1 || op.Principal != "alice" {
		t.Errorf("op %+v does not extend the head", op)
	}
	if _, err := b.site.trust.Verify(s.Op, s.Sig, noon); err != nil {
		t.Errorf("the signature: %v", err)
	}
	for _, want := range append(jobspec.Summary(op), jobspec.DigestOf(s.Op).String(), b.key.KeyID(), string(testHost), "next: 2026-12-01T02:30:00+01:00") {
		if !strings.Contains(b.err.String(), want) {
			t.Errorf("not shown before signing: %q", want)
		}
	}
}

// What a writer may not expect of a schedule is told before the question, and by
// a dry run.
func TestAddTellsWhatAScheduleMayNotSay(t *testing.T) {
	uneven := []string{"add", "nightly", "--schedule", "*/35 * 13 * fri", "--timezone", "Europe/Berlin"}
	want := []string{"at least 25m lie between two starts", "note: */35 starts again each 60 minutes", "note: a day matches when"}
	b := newBench(t)
	if status := b.run(line(uneven, []string{"--yes"}, command)...); status != 0 {
		t.Fatalf("exit %d\n%s", status, b.err.String())
	}
	dry := newBench(t)
	dry.run(line(uneven, []string{"--dry-run"}, command)...)
	for _, text := range want {
		if !strings.Contains(b.err.String(), text) || !strings.Contains(dry.out.String(), text) {
			t.Errorf("%q is missing:\n%s\n%s", text, b.err.String(), dry.out.String())
		}
	}
	doc := newBench(t)
	doc.run(line([]string{"--json"}, uneven, []string{"--dry-run"}, command)...)
	for _, text := range []string{`"min_gap_seconds":1500`, `"code":"step_uneven"`, `"code":"days_either"`} {
		if !strings.Contains(strings.ReplaceAll(doc.out.String(), `": `, `":`), text) {
			t.Errorf("%q is missing: %s", text, doc.out.String())
		}
	}
}

func TestWithoutATerminalNothingIsPromptedOrSigned(t *testing.T) {
	for name, tc := range map[string]struct {
		args []string
		code jobspec.Code
		hint string
	}{
		"no --yes":    {line(plainJob, command), codeUnanswered, "--yes"},
		"open ask":    {line(plainJob, []string{"--yes"}, inlineJob), jobspec.CodeCmdAskUnanswered, "--answer "},
		"both":        {line(plainJob, inlineJob), jobspec.CodeCmdAskUnanswered, "--answer "},
		"no --reason": {[]string{"hold", "nightly"}, codeUnanswered, "--reason"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			status := b.run(line([]string{"--json"}, tc.args)...)
			e := b.errorDoc()
			if status != e.Exit || status == 0 || e.ErrCode != string(tc.code) || !strings.Contains(e.Help, tc.hint) {
				t.Errorf("exit %d, %+v, want %s and a hint with %q", status, e, tc.code, tc.hint)
			}
			if b.key.used != 0 || len(b.svc.submitted) != 0 || len(b.asked) != 0 {
				t.Errorf("key used %d times, %d submitted, asked %q", b.key.used, len(b.svc.submitted), b.asked)
			}
		})
	}
}

// askOf learns the id of the one ask from a dry run, as a script does.
func (b *bench) askOf(args []string) string {
	b.t.Helper()
	b.run(line([]string{"--json"}, args[:2], []string{"--dry-run"}, args[2:])...)
	var doc struct{ Item dryRunJSON }
	if err := json.Unmarshal(b.out.Bytes(), &doc); err != nil || len(doc.Item.Asks) != 1 {
		b.t.Fatalf("dry run: %v\n%s%s", err, b.out.String(), b.err.String())
	}
	return doc.Item.Asks[0].ID
}

type dryRunJSON struct {
	Spec    jobspec.Spec
	Summary []string
	Asks    []dryRunAsk
	Reasons []api.Reason
}

func TestAsksAreAnsweredOneByOneAndBound(t *testing.T) {
	b := newBench(t)
	args := line(plainJob, inlineJob)
	id := b.askOf(args)
	if b.key.used != 0 {
		t.Fatal("the dry run used the key")
	}
	if code := b.run(line(plainJob, []string{"--yes", "--answer", id + "=allow"}, inlineJob)...); code != 0 {
		t.Fatalf("exit %d\n%s", code, b.err.String())
	}
	op, err := jobspec.DecodeOp(b.svc.submitted[0].Op)
	if err != nil || len(op.Spec.Answers) != 1 || op.Spec.Answers[0].AskID != id || op.Spec.Answers[0].Shown.IsZero() {
		t.Errorf("answers %+v, %v", op.Spec.Answers, err)
	}
}

func TestAnAnswerToNoQuestionIsRefused(t *testing.T) {
	for flag, want := range map[string]jobspec.Code{"aaaaaaaaaaaa=allow": jobspec.CodeAskAnswerStale, "x": codeUsage, "x=deny": codeUsage, "=allow": jobspec.CodeAskAnswerStale} {
		b := newBench(t)
		b.run(line([]string{"--json"}, plainJob, []string{"--yes", "--answer", flag}, command)...)
		if e := b.errorDoc(); e.ErrCode != string(want) || b.key.used != 0 {
			t.Errorf("--answer %s: %s, want %s", flag, e.ErrCode, want)
		}
	}
}

func TestOnATerminalEachQuestionIsAskedAndNoIsTheDefault(t *testing.T) {
	args := line(plainJob, inlineJob)
	id := newBench(t).askOf(args)
	for name, tc := range map[string]struct {
		typed  []string
		signed bool
		asked  int
	}{
		"allowed and signed":        {[]string{"y", "y"}, true, 2},
		"in words":                  {[]string{"yes", "Yes"}, true, 2},
		"no":                        {[]string{"n", "y"}, false, 1},
		"the id":                    {[]string{id, "y"}, false, 1},
		"another word":              {[]string{"allow", "y"}, false, 1},
		"enter":                     {[]string{"", ""}, false, 1},
		"allowed and then not sure": {[]string{"y", ""}, false, 2},
		"terminal closed":           {[]string{}, false, 1},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.answers = tc.typed
			code := b.run(args...)
			if (code == 0) != tc.signed || (b.key.used == 1) != tc.signed || len(b.asked) != tc.asked {
				t.Errorf("exit %d, key used %d times, asked %q", code, b.key.used, b.asked)
			}
			for _, want := range []string{id, `May it run "sh" "-c" "echo hi" as alice, tier scratch, net none?`, `rule "floor.inline", floor`, `program: "/usr/bin/sh"`} {
				if !strings.Contains(b.asked[0], want) {
					t.Errorf("the question does not show %s:\n%s", want, b.asked[0])
				}
			}
		})
	}
}

// Two asks are two questions: one yes does not stand for both, and the order of
// the answers does not matter to whom they belong.
func TestOneAnswerIsForOneAsk(t *testing.T) {
	args := line(plainJob, []string{"--env", "PYTHONPATH=/srv/lib"}, inlineJob)
	for name, tc := range map[string]struct {
		typed  []string
		signed bool
		asked  int
	}{
		"both":       {[]string{"y", "y", "y"}, true, 3},
		"first only": {[]string{"y", "n", "y"}, false, 2},
		"none":       {[]string{"n", "y", "y"}, false, 1},
	} {
		b := newBench(t)
		b.answers = tc.typed
		code := b.run(args...)
		if (code == 0) != tc.signed || (b.key.used == 1) != tc.signed || len(b.asked) != tc.asked {
			t.Errorf("%s: exit %d, key used %d times, asked %d questions", name, code, b.key.used, len(b.asked))
		}
	}
}

// Nothing is learned from an answer: the same command in another job, and in the
// next revision of the same job, is asked about again.
func TestTheSameAskInAnotherJobIsAskedAgain(t *testing.T) {
	b := newBench(t)
	id := b.askOf(line(plainJob, inlineJob))
	if code := b.run(line(plainJob, []string{"--yes", "--answer", id + "=allow"}, inlineJob)...); code != 0 {
		t.Fatalf("exit %d\n%s", code, b.err.String())
	}
	b.svc.detail = map[jobspec.Name]api.JobDetail{"nightly": existing("alice", "active")}
	for what, args := range map[string][]string{"another job": line([]string{"add", "weekly"}, plainJob[2:]), "the next revision": line([]string{"replace", "nightly"}, plainJob[2:])} {
		b.run(line([]string{"--json"}, args, []string{"--yes"}, inlineJob)...)
		if e := b.errorDoc(); e.ErrCode != string(jobspec.CodeCmdAskUnanswered) || b.key.used != 1 {
			t.Errorf("%s: %s, key used %d times", what, e.ErrCode, b.key.used)
		}
	}
}

func TestYesDoesNotAnswerAsks(t *testing.T) {
	b := newBench(t)
	b.answers = []string{"n"}
	if code := b.run(line(plainJob, []string{"--yes"}, inlineJob)...); code == 0 || b.key.used != 0 {
		t.Errorf("exit %d, key used %d times", code, b.key.used)
	}
}

func TestEveryRefusalIsToldAtOnceAndTheKeyIsNotTouched(t *testing.T) {
	b := newBench(t)
	b.site.change = func(in *jobspec.Input) {
		in.Sandbox = jobspec.Sandbox{Problem: jobspec.CodeSbxBackendMissing, Detail: "no bwrap"}
		in.Policy.Principals = nil
	}
	status := b.run(line([]string{"--json"}, plainJob, []string{"--yes"}, command)...)
	e := b.errorDoc()
	var codes []string
	for _, r := range e.Reasons {
		codes = append(codes, r.Code)
		if r.Remedy == "" {
			t.Errorf("%s has no remedy", r.Code)
		}
	}
	all := strings.Join(codes, " ")
	if status == 0 || b.key.used != 0 || !strings.Contains(all, "principal_unknown") || !strings.Contains(all, "sbx_backend_missing") {
		t.Errorf("exit %d, key used %d, reasons %s", status, b.key.used, all)
	}
	if b.run(line([]string{"--json"}, plainJob[:2], []string{"--dry-run"}, plainJob[2:], command)...) != status {
		t.Errorf("the dry run does not end like add, with %d", status)
	}
}

func TestAKeyThatDoesNotCountIsRefusedBeforeItIsUsed(t *testing.T) {
	other := signingtest.FixedKey(t, "other", "mallory", jobspec.ManageNamespace)
	late := signingtest.FixedKey(t, "late", "alice", jobspec.JobNamespaces()...)
	late.ValidBefore = noon.Add(-time.Hour)
	for name, tc := range map[string]struct {
		key  *signingtest.Key
		in   []*signingtest.Key
		code jobspec.Code
	}{
		"unknown":         {other, nil, jobspec.CodeKeyUnknown},
		"other namespace": {other, []*signingtest.Key{other}, jobspec.CodeKeyNotForNamespace},
		"expired":         {late, []*signingtest.Key{late}, jobspec.CodeKeyExpired},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.key.key = tc.key
			if tc.in != nil {
				b.site.trust = signingtest.Trust(t, tc.in...)
			}
			status := b.run(line([]string{"--json"}, plainJob, []string{"--yes"}, command)...)
			e := b.errorDoc()
			found := e.ErrCode == string(tc.code)
			for _, r := range e.Reasons {
				found = found || r.Code == string(tc.code)
			}
			if !found || status == 0 || b.key.used != 0 {
				t.Errorf("exit %d, %+v, key used %d times, want %s", status, e, b.key.used, tc.code)
			}
		})
	}
}

func TestAHeadThatIsNotThePinnedOneIsNotExtended(t *testing.T) {
	for name, change := range map[string]func(*fakeService){
		"cut back":   func(s *fakeService) { s.head.Seq = 6 },
		"other head": func(s *fakeService) { s.head.Prev = jobspec.DigestOf([]byte("other")) },
		"other host": func(s *fakeService) { s.head.Host = "00000000000000000000000000000000" },
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			change(b.svc)
			status := b.run(line([]string{"--json"}, plainJob, []string{"--yes"}, command)...)
			if e := b.errorDoc(); status == 0 || b.key.used != 0 || e.ErrCode != "chain_rollback" && e.ErrCode != "host_mismatch" {
				t.Errorf("exit %d, %s, key used %d times", status, e.ErrCode, b.key.used)
			}
		})
	}
}

func TestWhenTheHeadMovesNothingSignedIsReused(t *testing.T) {
	b := newBench(t)
	b.svc.errs["submit"] = api.New(jobspec.CodeHeadMoved, "op 7: seq 7 is taken")
	status := b.run(line([]string{"--json"}, plainJob, []string{"--yes"}, command)...)
	e := b.errorDoc()
	if status != 5 || len(b.svc.submitted) != 1 || b.key.used != 1 || !strings.Contains(e.Help, "once more") {
		t.Errorf("exit %d, %d submitted, key used %d times, hint %q", status, len(b.svc.submitted), b.key.used, e.Help)
	}
}

// existing is a job that is there, of alice or of another.
func existing(of jobspec.Principal, state string) api.JobDetail {
	raw := []byte(`{"type":"sbxcron.op/v1"}`)
	return api.JobDetail{Bytes: raw, Job: api.Job{Job: "nightly", Revision: 3, Op: jobspec.DigestOf(raw), Principal: of,
		Tier: jobspec.Workspace, Net: jobspec.NetNone, State: state}}
}

func TestEnableShowsTheOpThatItNamesOrSignsNothing(t *testing.T) {
	b := newBench(t)
	d := existing("alice", "disabled")
	d.Bytes = []byte(`{"type":"sbxcron.op/v1","job":"other"}`)
	b.svc.detail = map[jobspec.Name]api.JobDetail{"nightly": d}
	status := b.run("--json", "enable", "nightly", "--yes")
	if e := b.errorDoc(); status != 12 || e.ErrCode != string(jobspec.CodeOpTampered) || b.key.used != 0 {
		t.Errorf("exit %d, %s, key used %d times", status, e.ErrCode, b.key.used)
	}
}

func TestOpsWithoutASpecAreSignedForTheRightNamespace(t *testing.T) {
	for _, tc := range []struct {
		action    string
		of        jobspec.Principal
		namespace string
		code      jobspec.Code
	}{
		{"remove", "alice", jobspec.ManageNamespace, ""},
		{"disable", "alice", jobspec.ManageNamespace, ""},
		{"enable", "alice", "workspace.none.v1@sbxcron", ""},
		{"remove", "bob", jobspec.RootNamespace, ""},
		{"disable", "bob", jobspec.RootNamespace, ""},
		{"enable", "bob", "", jobspec.CodeNotJobOwner},
	} {
		t.Run(tc.action+" of "+string(tc.of), func(t *testing.T) {
			b := newBench(t)
			b.svc.detail = map[jobspec.Name]api.JobDetail{"nightly": existing(tc.of, "active")}
			status := b.run("--json", tc.action, "nightly", "--yes")
			if tc.code != "" {
				if e := b.errorDoc(); e.ErrCode != string(tc.code) || b.key.used != 0 {
					t.Errorf("exit %d, %s, key used %d times", status, e.ErrCode, b.key.used)
				}
				return
			}
			if status != 0 {
				t.Fatalf("exit %d\n%s", status, b.err.String())
			}
			sig, err := signing.ParseSignature(b.svc.submitted[0].Sig)
			if err != nil || sig.Namespace != tc.namespace {
				t.Errorf("namespace %v, %v, want %s", sig, err, tc.namespace)
			}
			op, err := jobspec.DecodeOp(b.svc.submitted[0].Op)
			if err != nil || string(op.Action) != tc.action || op.Revision != 4 || op.Seq != 7 {
				t.Errorf("op %+v, %v", op, err)
			}
		})
	}
}

func TestTheStateOfAJobIsCheckedBeforeAnybodyIsAsked(t *testing.T) {
	live, gone := existing("alice", "active"), existing("alice", "removed")
	for _, tc := range []struct {
		name string
		job  *api.JobDetail
		args []string
		code jobspec.Code
	}{
		{"add of an existing job", &live, line(plainJob, []string{"--yes"}, command), jobspec.CodeJobExists},
		{"replace of none", nil, line([]string{"replace"}, plainJob[1:], []string{"--yes"}, command), jobspec.CodeJobUnknown},
		{"replace of a removed one", &gone, line([]string{"replace"}, plainJob[1:], []string{"--yes"}, command), jobspec.CodeJobUnknown},
		{"remove of none", nil, []string{"remove", "nightly", "--yes"}, jobspec.CodeJobUnknown},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := newBench(t)
			if tc.job != nil {
				b.svc.detail = map[jobspec.Name]api.JobDetail{"nightly": *tc.job}
			}
			b.run(line([]string{"--json"}, tc.args)...)
			if e := b.errorDoc(); e.ErrCode != string(tc.code) || b.key.used != 0 {
				t.Errorf("%s, key used %d times, want %s", e.ErrCode, b.key.used, tc.code)
			}
		})
	}
}

func TestARevisionNeverRestarts(t *testing.T) {
	for state, action := range map[string]string{"removed": "add", "active": "replace"} {
		b := newBench(t)
		b.svc.detail = map[jobspec.Name]api.JobDetail{"nightly": existing("alice", state)}
		if code := b.run(line([]string{action}, plainJob[1:], []string{"--yes"}, command)...); code != 0 {
			t.Fatalf("%s: exit %d\n%s", action, code, b.err.String())
		}
		if op, err := jobspec.DecodeOp(b.svc.submitted[0].Op); err != nil || op.Revision != 4 {
			t.Errorf("%s: revision %d, %v, want 4", action, op.Revision, err)
		}
	}
}

// Who may not see others' jobs may still add one of their own.
func TestAddNeedsNoRightToShow(t *testing.T) {
	b := newBench(t)
	b.svc.errs["job"] = api.New(jobspec.CodeRoleInsufficient, "uid 1003 may not show it")
	if status := b.run(line(plainJob, []string{"--yes"}, command)...); status != 0 || len(b.svc.submitted) != 1 {
		t.Errorf("add: exit %d\n%s", status, b.err.String())
	}
	b.svc.jobs = []api.Job{existing("alice", "active").Job}
	if status := b.run("disable", "nightly", "--yes"); status != 0 || len(b.svc.submitted) != 2 {
		t.Errorf("disable: exit %d\n%s", status, b.err.String())
	}
	b.svc.errs["job"] = api.New(jobspec.CodeInternal, "disk on fire")
	b.svc.jobs = nil
	if status := b.run(line(plainJob, []string{"--yes"}, command)...); status != 1 || len(b.svc.submitted) != 2 {
		t.Errorf("add, with another error: exit %d", status)
	}
}
