package jobspec

import (
	"slices"
	"strings"
	"testing"
)

func TestFormsOfCredentials(t *testing.T) {
	for as, want := range map[string]struct {
		form  CredentialForm
		place string
	}{
		"file":             {CredentialFile, "/.sbxcron/credentials/db"},
		"path:~/.pgpass":   {CredentialPath, "/home/job/.pgpass"},
		"path:~/.ssh/key":  {CredentialPath, "/home/job/.ssh/key"},
		"env:PGPASSWORD":   {CredentialEnv, "PGPASSWORD"},
		"":                 {},
		"File":             {},
		"env:":             {},
		"env:A=B":          {},
		"env:1A":           {},
		"path:~/":          {},
		"path:~":           {},
		"path:.pgpass":     {},
		"path:/etc/x":      {},
		"path:~/../x":      {},
		"path:~/a/../../x": {},
		"path:~/a//b":      {},
		"path:~/a\x00":     {},
		"path:~/a\nb":      {},
		"path:~/./a":       {},
		"file:x":           {},
	} {
		if form, place := (Credential{Name: "db", As: as}).Form(); form != want.form || place != want.place {
			t.Errorf("%q: %d, %q", as, form, place)
		}
	}
}

// secretJob is a job that gets one credential in each form, and whose owner said
// yes to the variable.
func secretJob(t *testing.T) Input {
	t.Helper()
	d := goodDraft()
	d.Credentials = []Credential{{"db", "file"}, {"db", "path:~/.pgpass"}, {"token", "env:API_TOKEN"}}
	in := goodInput(t, d, goodFacts())
	in.alice(func(c *Ceiling) { c.Credentials = []string{"db", "token"} })
	in.Credentials = []CredentialFact{{Name: "db"}, {Name: "token"}}
	return in
}

func (in *Input) answerAll() {
	in.Op.Spec.Answers = nil
	for _, a := range Decide(PhaseAdd, *in).Asks {
		in.Op.Spec.Answers = append(in.Op.Spec.Answers, a.Answer())
	}
}

func TestCredentialsAreJudgedInEveryPhase(t *testing.T) {
	creds := func(all ...Credential) func(*Input) {
		return func(in *Input) { in.Op.Spec.Credentials = all }
	}
	for name, c := range map[string]struct {
		change func(*Input)
		want   Code
		apply  bool // judged at PhaseApply, too
	}{
		"as it was approved":  {func(*Input) {}, "", true},
		"no such form":        {creds(Credential{"db", "argv"}), CodeSpecMalformed, true},
		"twice":               {creds(Credential{"db", "file"}, Credential{"db", "file"}), CodeSpecMalformed, true},
		"two at one place":    {creds(Credential{"db", "path:~/x"}, Credential{"token", "path:~/x"}), CodeSpecMalformed, true},
		"one below another":   {creds(Credential{"db", "path:~/x"}, Credential{"token", "path:~/x/y"}), CodeBindSensitive, true},
		"two of one variable": {creds(Credential{"db", "env:A"}, Credential{"token", "env:A"}), CodeSpecMalformed, true},
		"variable of env":     {creds(Credential{"db", "env:REPORT_LANG"}), CodeSpecMalformed, true},
		"forbidden variable":  {creds(Credential{"db", "env:LD_PRELOAD"}), CodeEnvForbidden, true},
		"variable of ours":    {creds(Credential{"db", "env:CREDENTIALS_DIRECTORY"}), CodeEnvForbidden, true},
		"start file":          {creds(Credential{"db", "path:~/.bashrc"}), CodeBindSensitive, true},
		"below a start file":  {creds(Credential{"db", "path:~/.config/fish/config.fish"}), CodeBindSensitive, true},
		"over a start file":   {creds(Credential{"db", "path:~/.ssh"}), CodeBindSensitive, true},
		"not in the policy":   {creds(Credential{"other", "file"}), CodeCredentialOverCeiling, true},
		"a place as name":     {creds(Credential{"../db", "file"}), CodeSpecMalformed, true},
		"too many":            {creds(slices.Repeat([]Credential{{"db", "file"}}, 17)...), CodeSpecMalformed, true},
		"no value":            {func(in *Input) { in.Credentials[0].Problem = CodeCredentialMissing }, CodeCredentialMissing, false},
		"unsafe value":        {func(in *Input) { in.Credentials[1].Problem = CodeCredentialUnsafe }, CodeCredentialUnsafe, false},
		"nobody looked":       {func(in *Input) { in.Credentials = nil }, CodeCredentialMissing, false},
		"answered to less":    {func(in *Input) { in.Op.Spec.Answers = nil }, CodeAskAtTrigger, true},
		"where the cwd lies":  {func(in *Input) { in.Op.Spec.Cwd.Path = "/home/job/.pgpass" }, CodeBindSensitive, true},
		"where a bind is shown": {func(in *Input) {
			in.Op.Spec.Bind = []Bind{{Source: "/srv/data/x", Target: "~/.pgpass", Mode: BindRO, Kind: KindDir}}
		}, CodeBindSensitive, true},
		"answer to another form": {func(in *Input) { in.Op.Spec.Credentials[0].As = "path:~/db" }, CodeAskAnswerStale, true},
	} {
		t.Run(name, func(t *testing.T) {
			for _, phase := range []Phase{PhaseAdd, PhaseApply, PhaseExplain, PhaseTrigger} {
				in := secretJob(t)
				in.answerAll()
				c.change(&in)
				d, want := Decide(phase, in), c.want
				if phase == PhaseApply && !c.apply {
					want = ""
				}
				if phase == PhaseAdd && want == CodeAskAtTrigger {
					want = CodeCmdAskUnanswered
				}
				if got := codesOf(d); want == "" && !d.Allowed() || want != "" && (d.Allowed() || !slices.Contains(got, want)) {
					t.Errorf("phase %d: %v, want %q", phase, got, want)
				}
			}
		})
	}
}

func TestAVariableIsAskedAboutAndTheQuestionShowsEveryCredential(t *testing.T) {
	in := secretJob(t)
	asks := Decide(PhaseAdd, in).Asks
	if len(asks) != 1 || asks[0].Rule != ruleCredentialEnv.id {
		t.Fatalf("%+v", asks)
	}
	for _, want := range []string{"token as API_TOKEN", `secret:  "db" as the file "~/.pgpass"`, `secret:  "db" as the file $CREDENTIALS_DIRECTORY/db`, `secret:  "token" as the variable API_TOKEN`} {
		if !strings.Contains(asks[0].Question, want) {
			t.Errorf("%q is not in %s", want, asks[0].Question)
		}
	}
	in.Op.Spec.Credentials[2].As = "env:AWS_SECRET_ACCESS_KEY"
	if q := Decide(PhaseAdd, in).Asks[0].Question; !strings.Contains(q, "can change which code") {
		t.Errorf("%s", q)
	}
}

func TestWhatACredentialOpensIsSaidInWords(t *testing.T) {
	op := secretJob(t).Op
	if got := OpensOf(op).Credentials; !slices.Equal(got, []string{"db", "token"}) {
		t.Errorf("opens %q", got)
	}
	all := strings.Join(slices.Concat(Summary(op), May(op)), "\n")
	for _, want := range []string{`"db" as the file "~/.pgpass"; its value may change without a new signature`, `see the value of "token" in the variable API_TOKEN`,
		"unbound:     configuration, credentials, "} {
		if !strings.Contains(all, want) {
			t.Errorf("%q is not in\n%s", want, all)
		}
	}
	if slices.Contains(MayNot(op), "see a credential") {
		t.Error("it may not see a credential, it says")
	}
}
