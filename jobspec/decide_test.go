package jobspec

import (
	"errors"
	"slices"
	"testing"
	"time"
)

var phases = []Phase{PhaseAdd, PhaseApply, PhaseExplain, PhaseTrigger}

func TestAGoodJobIsAllowedInEveryPhase(t *testing.T) {
	for _, phase := range phases {
		in := goodInput(t, goodDraft(), goodFacts())
		if phase == PhaseAdd {
			in.Signed = Signed{}
		}
		d := Decide(phase, in)
		if !d.Allowed() {
			t.Errorf("phase %d: %+v", phase, d.Refusals())
		}
		want := Verdicts{Yes, Yes, Yes, Yes}
		switch phase {
		case PhaseAdd:
			want.Identity = NotChecked
		case PhaseApply:
			want.Resources = NotChecked
		}
		if d.Verdicts != want {
			t.Errorf("phase %d: verdicts %+v, want %+v", phase, d.Verdicts, want)
		}
	}
}

func TestZeroValuesDeny(t *testing.T) {
	if (Decision{}).Allowed() {
		t.Error("the zero decision allows")
	}
	for phase := NoPhase; phase <= PhaseTrigger+1; phase++ {
		if d := Decide(phase, Input{}); d.Allowed() || len(d.Refusals()) == 0 {
			t.Errorf("phase %d allows an empty input", phase)
		}
		if d := Decide(phase, Input{Op: &Op{}, Signed: Signed{op: &Op{}}}); d.Allowed() {
			t.Errorf("phase %d allows an empty op", phase)
		}
		if d := Decide(phase, Input{Op: &Op{Spec: &Spec{}}, Signed: Signed{op: &Op{Spec: &Spec{}}}}); d.Allowed() {
			t.Errorf("phase %d allows an empty spec", phase)
		}
	}
	if d := Decide(NoPhase, goodInput(t, goodDraft(), goodFacts())); d.Allowed() || codesOf(d)[0] != CodeInternal {
		t.Errorf("no phase: %v", codesOf(d))
	}
}

// Each change makes one thing wrong; the trigger must refuse it with the code.
func TestTheTriggerNamesWhatIsWrong(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(in *Input)
		want   Code
	}{
		{"nobody signed", func(in *Input) { in.Signed = Signed{} }, CodeIdentityUnproven},
		{"key revoked", func(in *Input) { in.Identity = CodeKeyRevoked }, CodeKeyRevoked},
		{"unknown identity code", func(in *Input) { in.Identity = "nonsense" }, CodeInternal},
		{"no policy", func(in *Input) { in.Policy = nil }, CodePolicyMissing},
		{"policy error beside a policy", func(in *Input) { in.PolicyErr = CodePolicyPerms }, CodePolicyPerms},
		{"no serial", func(in *Input) { in.Policy.Serial = 0 }, CodePolicySchema},
		{"older policy", func(in *Input) { in.Policy.Serial = 2 }, CodePolicyRollback},
		{"no platforms", func(in *Input) { in.Policy.EnabledPlatforms = nil }, CodeSbxPlatformDisabled},
		{"other platform", func(in *Input) { in.Host.Platform = "darwin" }, CodeSbxPlatformDisabled},
		{"unknown principal", func(in *Input) { in.Op.Principal = "bob" }, CodePrincipalUnknown},
		{"disabled principal", func(in *Input) { in.alice(func(c *Ceiling) { c.Disabled = true }) }, CodePrincipalDisabled},
		{"no ceiling for tier", func(in *Input) { in.alice(func(c *Ceiling) { c.MaxTier = NoTier }) }, CodeTierOverCeiling},
		{"tier over ceiling", func(in *Input) { in.alice(func(c *Ceiling) { c.MaxTier = ReadOnly }) }, CodeTierOverCeiling},
		{"no tier", func(in *Input) { in.Op.Tier = NoTier }, CodeTierOverCeiling},
		{"tier that is none", func(in *Input) { in.Op.Tier = Workspace + 1 }, CodeTierOverCeiling},
		{"no net", func(in *Input) { in.Op.Net = NoNet }, CodeNetOverCeiling},
		{"net over ceiling", func(in *Input) { in.Op.Net = NetProxy }, CodeNetOverCeiling},
		{"other host", func(in *Input) { in.Host.ID = "00000000000000000000000000000000" }, CodeHostMismatch},
		{"no host id at all", func(in *Input) { in.Host.ID, in.Op.Host = "", "" }, CodeHostMismatch},
		{"expired", func(in *Input) { in.Host.Now = in.Op.Spec.ExpiresAt.Time() }, CodeExpired},
		{"no expiry", func(in *Input) { in.Op.Spec.ExpiresAt = Instant{} }, CodeSpecMalformed},
		{"clock hold", func(in *Input) { in.Host.Hold = true }, CodeClockHold},
		{"no clock", func(in *Input) { in.Host.Now = time.Time{} }, CodeClockUntrusted},
		{"no timeout", func(in *Input) { in.Op.Spec.Limits.TimeoutSeconds = 0 }, CodeLimitOverCeiling},
		{"negative limit", func(in *Input) { in.Op.Spec.Limits.PIDs = -1 }, CodeLimitOverCeiling},
		{"limit over ceiling", func(in *Input) { in.alice(func(c *Ceiling) { c.Limits.TimeoutSeconds = 60 }) }, CodeLimitOverCeiling},
		{"memory that a ceiling bounds is left out", func(in *Input) {
			in.alice(func(c *Ceiling) { c.Limits.MemoryBytes = 1 << 20 })
			in.Op.Spec.Limits.MemoryBytes = 0
		}, CodeLimitOverCeiling},
		{"cpu that a ceiling bounds is left out", func(in *Input) {
			in.alice(func(c *Ceiling) { c.Limits.CPUPercent = 50 })
			in.Op.Spec.Limits.CPUPercent = 0
		}, CodeLimitOverCeiling},
		{"growth that a ceiling bounds is left out", func(in *Input) {
			in.alice(func(c *Ceiling) { c.Limits.WorkspaceGrowthBytes = 1 << 20 })
		}, CodeLimitOverCeiling},
		{"limit over floor", func(in *Input) { in.Op.Spec.Limits.TimeoutSeconds = 86401 }, CodeLimitOverCeiling},
		{"a ceiling never lifts the floor", func(in *Input) {
			in.alice(func(c *Ceiling) { c.Limits.TimeoutSeconds = 1e9 })
			in.Op.Spec.Limits.TimeoutSeconds = 86401
		}, CodeLimitOverCeiling},
		{"ttl over ceiling", func(in *Input) { in.alice(func(c *Ceiling) { c.MaxTTL = time.Hour }) }, CodeTTLOverCeiling},
		{"too often", func(in *Input) { in.alice(func(c *Ceiling) { c.MinInterval = 48 * time.Hour }) }, CodeIntervalTooShort},
		{"every too often", func(in *Input) {
			in.Op.Spec.Schedule.Cron, in.Op.Spec.Schedule.EverySeconds = "", 60
			in.alice(func(c *Ceiling) { c.MinInterval = 5 * time.Minute })
		}, CodeIntervalTooShort},
		{"read beyond", func(in *Input) { in.Op.Spec.Read = []string{"/srv/data-evil"} }, CodePathOverCeiling},
		{"write without ceiling", func(in *Input) { in.Op.Spec.Write = []string{"/srv/data"} }, CodePathOverCeiling},
		{"write in read-only", func(in *Input) { in.Op.Tier, in.Op.Spec.Write = ReadOnly, []string{"/srv/ops/out"} }, CodePathOverCeiling},
		{"path with dots", func(in *Input) { in.Op.Spec.Read = []string{"/srv/data/../secret"} }, CodePathOverCeiling},
		{"run_as in user mode", func(in *Input) { in.Op.Spec.RunAs = RunAs{"reports", 1001, 1001} }, CodeRunAsForbidden},
		{"workspace without run_as in system mode", func(in *Input) { in.Host.System = true }, CodeRunAsForbidden},
		{"root", func(in *Input) { in.system(RunAs{"root", 0, 0}) }, CodeRunAsForbidden},
		{"negative uid", func(in *Input) { in.system(RunAs{"reports", -1, 1001}) }, CodeRunAsForbidden},
		{"service's uid", func(in *Input) { in.system(RunAs{"reports", 999, 999}) }, CodeRunAsForbidden},
		{"account beyond the ceiling", func(in *Input) { in.system(RunAs{"other", 1001, 1001}) }, CodeRunAsForbidden},
		{"account moved", func(in *Input) { in.system(RunAs{"reports", 1002, 1001}) }, CodeDriftUser},
		{"no lookup", func(in *Input) { in.system(RunAs{"reports", 1001, 1001}); in.Host.LookupUser = nil }, CodeInternal},
		{"empty argv", func(in *Input) { in.Op.Spec.Argv = nil }, CodeSpecMalformed},
		{"empty argv[0]", func(in *Input) { in.Op.Spec.Argv = []string{"", "x"} }, CodeSpecMalformed},
		{"bidi in argv", func(in *Input) { in.Op.Spec.Argv[1] = "a\u202eb" }, CodeSpecTextUnusual},
		{"zero width in argv", func(in *Input) { in.Op.Spec.Argv[1] = "r\u200bm" }, CodeSpecTextUnusual},
		{"NUL in argv", func(in *Input) { in.Op.Spec.Argv[1] = "a\x00b" }, CodeSpecTextUnusual},
		{"newline in argv[0]", func(in *Input) { in.Op.Spec.Argv[0] = "./x\n" }, CodeSpecTextUnusual},
		{"control in note", func(in *Input) { in.Op.Spec.Note = "\x1b[2J" }, CodeSpecTextUnusual},
		{"control in env", func(in *Input) { in.Op.Spec.Env["A"] = "\x07" }, CodeSpecTextUnusual},
		{"argument too large", func(in *Input) { in.Op.Spec.Argv[1] = string(make([]byte, MaxArgBytes+1)) }, CodeSpecTooLarge},
		{"two schedules", func(in *Input) { in.Op.Spec.Schedule.EverySeconds = 3600 }, CodeScheduleInvalid},
		{"no schedule", func(in *Input) { in.Op.Spec.Schedule.Cron = "" }, CodeScheduleInvalid},
		{"no zone", func(in *Input) { in.Op.Spec.Schedule.Timezone = "" }, CodeScheduleInvalid},
		{"calendar says no", func(in *Input) { in.Schedule = errors.New("never") }, CodeScheduleInvalid},
		{"missed unknown", func(in *Input) { in.Op.Spec.Schedule.Missed = "all" }, CodeSpecMalformed},
		{"overlap unwritten", func(in *Input) { in.Op.Spec.Schedule.Overlap = "" }, CodeSpecMalformed},
		{"no backend", func(in *Input) { in.Op.Spec.Backend.AnyOf = nil }, CodeSpecMalformed},
		{"backend local", func(in *Input) { in.Op.Spec.Backend.AnyOf = []string{"local"} }, CodeSbxBackendMissing},
		{"variable forbidden", func(in *Input) { in.Op.Spec.Env["Ld_Preload"] = "x" }, CodeEnvForbidden},
		{"variable asked", func(in *Input) { in.Op.Spec.Env["PYTHONPATH"] = "x" }, CodeAskAtTrigger},
		{"executable not opened", func(in *Input) { in.Paths = in.Paths[1:] }, CodeDriftExecMissing},
		{"executable gone", func(in *Input) { in.Paths[0].Problem = CodeDriftExecMissing }, CodeDriftExecMissing},
		{"executable changed", func(in *Input) { in.Paths[0].SHA256 = DigestOf(nil) }, CodeDriftExecHash},
		{"executable grew", func(in *Input) { in.Paths[0].Size++ }, CodeDriftExecHash},
		{"no digest on either side", func(in *Input) { in.Paths[0].SHA256, in.Op.Spec.Bound[0].SHA256 = Digest{}, Digest{} }, CodeDriftExecHash},
		{"executable's owner", func(in *Input) { in.Paths[0].UID = 0 }, CodeDriftExecOwner},
		{"executable's mode", func(in *Input) { in.Paths[0].Mode = 0o4755 }, CodeDriftExecOwner},
		{"executable moved", func(in *Input) { in.Paths[0].Real = "/tmp/x" }, CodeDriftExecPath},
		{"executable by link", func(in *Input) { in.Paths[0].Symlink = true }, CodeDriftExecPath},
		{"executable is a socket", func(in *Input) { in.Paths[0].Kind = KindSocket }, CodeDriftExecPath},
		{"not bound", func(in *Input) { in.Op.Spec.Bound = nil }, CodeBindAmbiguous},
		{"two programs", func(in *Input) {
			in.Op.Spec.Bound = append(in.Op.Spec.Bound, boundAt(RoleExecutable, "./b", "/srv/ops/b"))
		}, CodeSpecMalformed},
		{"cwd by link", func(in *Input) { in.Paths[1].Symlink = true }, CodeDriftCwdSymlink},
		{"cwd of another", func(in *Input) { in.Paths[1].UID = 0 }, CodeDriftCwd},
		{"cwd is a file", func(in *Input) { in.Paths[1].Kind = KindRegular }, CodeDriftCwd},
		{"cwd unreachable", func(in *Input) { in.Paths[1].Problem = CodePathUnreachable }, CodePathUnreachable},
		{"read is a socket", func(in *Input) { in.Paths[2].Kind = KindSocket }, CodePathSensitive},
		{"read is a device", func(in *Input) { in.Paths[2].Kind = KindDevice }, CodePathSensitive},
		{"read not opened", func(in *Input) { in.Paths = in.Paths[:2] }, CodePathUnreachable},
		{"cwd is sensitive", func(in *Input) { in.Paths[1].Places = at(8, 62, "8:1:/x", 60, 2) }, CodePathSensitive},
		{"no place known", func(in *Input) { in.Paths[1].Places = Location{} }, CodePathSensitive},
		{"no sensitive places", func(in *Input) { in.Sensitive = nil }, CodeInternal},
		{"no sandbox", func(in *Input) { in.Sandbox = Sandbox{} }, CodeSbxSelftestFailed},
		{"sandbox missing", func(in *Input) { in.Sandbox = Sandbox{Backend: "bwrap", Problem: CodeSbxBackendMissing} }, CodeSbxBackendMissing},
		{"another sandbox", func(in *Input) { in.Sandbox.Backend = "landlock" }, CodeSbxBackendMissing},
		{"no record", func(in *Input) { in.Audit = errors.New("disk full") }, CodeAuditUnavailable},
		{"held", func(in *Input) { in.Held = true }, CodeJobHeld},
		{"managed rules only", func(in *Input) { in.Policy.ManagedOnly.Commands = true }, CodeCmdNotAllowed},
		{"denied by rule", func(in *Input) {
			in.Policy.Rules = []Rule{{ID: "no-full", Effect: "deny", Why: "too long", Name: "backup.sh", Has: []string{"--full"}}}
		}, CodeCmdDeniedRule},
		{"asked by rule", func(in *Input) {
			in.Policy.Rules = []Rule{{ID: "ask-full", Effect: "ask", Why: "long", Path: "/srv/*/backup.sh"}}
		}, CodeAskAtTrigger},
		{"rule that cannot be judged", func(in *Input) {
			in.Policy.Rules = []Rule{{ID: "odd", Effect: "maybe", Why: "x", Name: "y"}}
		}, CodePolicyEvalError},
		{"answer to nothing", func(in *Input) { in.Op.Spec.Answers = []Answer{{AskID: "abc", Rule: "r", Shown: DigestOf(nil)}} }, CodeAskAnswerStale},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := goodInput(t, goodDraft(), goodFacts())
			c.change(&in)
			d := Decide(PhaseTrigger, in)
			if d.Allowed() {
				t.Fatal("allowed")
			}
			if !slices.Contains(codesOf(d), c.want) {
				t.Fatalf("refused with %v, want %s", codesOf(d), c.want)
			}
			if d.Verdicts == (Verdicts{Yes, Yes, Yes, Yes}) && c.want != CodeJobHeld && c.want != CodeAuditUnavailable && c.want != CodeScheduleInvalid {
				t.Errorf("all four verdicts are yes")
			}
			for _, r := range d.Refusals() {
				if r.Remedy == "" || r.Step == "" {
					t.Errorf("check without remedy or step: %+v", r)
				}
			}
		})
	}
}

func (in *Input) alice(change func(*Ceiling)) {
	c := in.Policy.Principals["alice"]
	change(&c)
	in.Policy.Principals["alice"] = c
}

func (in *Input) system(r RunAs) { in.Host.System, in.Op.Spec.RunAs = true, r }

func TestSystemModeRunsAsTheBoundAccount(t *testing.T) {
	in := goodInput(t, goodDraft(), goodFacts())
	in.system(RunAs{"reports", 1001, 1001})
	if d := Decide(PhaseTrigger, in); !d.Allowed() {
		t.Errorf("%+v", d.Refusals())
	}
}

func TestAPanicDenies(t *testing.T) {
	in := goodInput(t, goodDraft(), goodFacts())
	in.system(RunAs{"reports", 1001, 1001})
	in.Host.LookupUser = func(string) (RunAs, bool) { panic("no accounts") }
	d := Decide(PhaseTrigger, in)
	if d.Allowed() || !slices.Contains(codesOf(d), CodeInternal) || d.Verdicts != (Verdicts{No, No, No, No}) {
		t.Errorf("allowed %v, codes %v, verdicts %+v", d.Allowed(), codesOf(d), d.Verdicts)
	}
}

func TestHoldStopsTheTriggerAndIsExplained(t *testing.T) {
	for _, phase := range phases {
		in := goodInput(t, goodDraft(), goodFacts())
		in.Held = true
		if got, want := Decide(phase, in).Allowed(), phase != PhaseTrigger && phase != PhaseExplain; got != want {
			t.Errorf("phase %d: allowed %v", phase, got)
		}
	}
}

func TestApplyDoesNotLookAtFilesSandboxOrRecord(t *testing.T) {
	in := goodInput(t, goodDraft(), goodFacts())
	in.Paths, in.Sensitive, in.Sandbox, in.Audit = nil, nil, Sandbox{}, errors.New("full")
	if d := Decide(PhaseApply, in); !d.Allowed() {
		t.Errorf("%+v", d.Refusals())
	}
}

func TestAuthorityCanBeTakenAwayUnderABrokenPolicy(t *testing.T) {
	for _, action := range []Action{Disable, Remove} {
		op := &Op{Type: OpType, Host: testHost, Seq: 8, Action: action, Job: "nightly", Revision: 2, Principal: "alice"}
		in := Input{Op: op, Signed: Signed{op: op}, PolicyErr: CodePolicyParse, Host: Host{ID: testHost, Platform: "linux", Now: testNow()}}
		if d := Decide(PhaseApply, in); !d.Allowed() {
			t.Errorf("%s: %+v", action, d.Refusals())
		}
		in.Identity = CodeKeyRevoked
		if d := Decide(PhaseApply, in); d.Allowed() {
			t.Errorf("%s: a revoked key is accepted", action)
		}
		if d := Decide(PhaseTrigger, in); d.Allowed() {
			t.Errorf("%s: runs", action)
		}
	}
}

func TestEnableIsHeldAgainstTheCeilings(t *testing.T) {
	op := &Op{Type: OpType, Host: testHost, Seq: 8, Action: Enable, Job: "nightly", Revision: 2, Principal: "alice", Tier: Workspace, Net: NetNone}
	in := Input{Op: op, Signed: Signed{op: op}, Policy: goodPolicy(), Host: Host{ID: testHost, Platform: "linux", Now: testNow()}}
	if d := Decide(PhaseApply, in); !d.Allowed() {
		t.Errorf("%+v", d.Refusals())
	}
	in.alice(func(c *Ceiling) { c.MaxTier = Scratch })
	if d := Decide(PhaseApply, in); d.Allowed() {
		t.Error("over the ceiling, and allowed")
	}
}

func TestQuotaCountsAtAddAndApplyOnly(t *testing.T) {
	for _, phase := range phases {
		in := goodInput(t, goodDraft(), goodFacts())
		in.Jobs = DefaultMaxJobs
		if got, want := Decide(phase, in).Allowed(), phase >= PhaseExplain; got != want {
			t.Errorf("phase %d: allowed %v", phase, got)
		}
	}
}

func TestEveryStepReportsInOrder(t *testing.T) {
	in := goodInput(t, goodDraft(), goodFacts())
	d := Decide(PhaseTrigger, in)
	var steps []string
	for _, c := range d.Checks {
		steps = append(steps, c.Step)
	}
	want := []string{"policy", "identity", "structure", "ceilings", "command", "asks", "binding", "sandbox", "audit", "schedule"}
	if !slices.Equal(steps, want) {
		t.Errorf("steps %v", steps)
	}
	in.Identity, in.Policy.Serial, in.Audit, in.Paths[0].Size = CodeKeyExpired, 0, errors.New("full"), 1
	got := codesOf(Decide(PhaseTrigger, in))
	if want := []Code{CodePolicySchema, CodePolicyRollback, CodeKeyExpired, CodeDriftExecHash, CodeAuditUnavailable}; !slices.Equal(got, want) {
		t.Errorf("findings %v, want %v", got, want)
	}
}

func TestAnAnswerCountsForItsQuestionOnly(t *testing.T) {
	in := goodInput(t, goodDraft(), goodFacts())
	in.Op.Spec.Env["PYTHONPATH"] = "/srv/lib"
	in.Signed = Signed{}
	asked := Decide(PhaseAdd, in)
	if len(asked.Asks) != 1 || !slices.Contains(codesOf(asked), CodeCmdAskUnanswered) {
		t.Fatalf("asks %+v, codes %v", asked.Asks, codesOf(asked))
	}
	in.Op.Spec.Answers = []Answer{asked.Asks[0].Answer()}
	if d := Decide(PhaseAdd, in); !d.Allowed() || !d.Asks[0].Answered {
		t.Fatalf("answered, and %+v", d.Refusals())
	}
	in.Signed = Signed{op: in.Op}
	if d := Decide(PhaseTrigger, in); !d.Allowed() {
		t.Fatalf("%+v", d.Refusals())
	}
	for name, change := range map[string]func(){
		"value":  func() { in.Op.Spec.Env["PYTHONPATH"] = "/tmp" },
		"tier":   func() { in.Op.Tier = ReadOnly },
		"text":   func() { in.Op.Spec.Answers[0].Shown = DigestOf([]byte("another text")) },
		"rule":   func() { in.Op.Spec.Answers[0].Rule = "another" },
		"binary": func() { in.Op.Spec.Bound[0].Real = "/srv/ops/other.sh" },
	} {
		in.Op.Spec.Env["PYTHONPATH"], in.Op.Tier = "/srv/lib", Workspace
		in.Op.Spec.Bound[0].Real = "/srv/ops/backup.sh"
		in.Op.Spec.Answers = []Answer{asked.Asks[0].Answer()}
		change()
		if codes := codesOf(Decide(PhaseTrigger, in)); !slices.Contains(codes, CodeAskAnswerStale) {
			t.Errorf("%s changed, codes %v", name, codes)
		}
	}
}

func TestFieldsOfLaterWorkAreRefusedByName(t *testing.T) {
	changes := map[string]func(op *Op){
		"net.mode proxy": func(op *Op) { op.Net = NetProxy }, "net.allow": func(op *Op) { op.Spec.NetAllow = []string{"a:443"} },
		"net.deny": func(op *Op) { op.Spec.NetDeny = []string{"a:443"} }, "net.forward": func(op *Op) { op.Spec.Forward = []string{"a:1"} },
		"net.sockets": func(op *Op) { op.Spec.Sockets = []string{"/s"} },
		"at":          func(op *Op) { op.Spec.Schedule.At = InstantOf(testNow()) },
		"jitter":      func(op *Op) { op.Spec.Schedule.JitterSeconds = 1 }, "missed once": func(op *Op) { op.Spec.Schedule.Missed = "once" },
		"start_deadline": func(op *Op) { op.Spec.Schedule.StartDeadlineSeconds = 1 }, "overlap queue": func(op *Op) { op.Spec.Schedule.Overlap = "queue" },
		"overlap replace": func(op *Op) { op.Spec.Schedule.Overlap = "replace" }, "retries": func(op *Op) { op.Spec.Schedule.Retries = 1 },
		"limits.memory": func(op *Op) { op.Spec.Limits.MemoryBytes = 1 }, "limits.cpus": func(op *Op) { op.Spec.Limits.CPUPercent = 1 },
		"limits.workspace_growth": func(op *Op) { op.Spec.Limits.WorkspaceGrowthBytes = 1 }, "limits.connections": func(op *Op) { op.Spec.Limits.Connections = 1 },
		"limits.bytes": func(op *Op) { op.Spec.Limits.NetBytes = 1 },
		"backend.any_of other than bwrap and landlock": func(op *Op) { op.Spec.Backend.AnyOf = []string{"bwrap", "podman"} },
		"backend.devices": func(op *Op) { op.Spec.Backend.Devices = []string{"/dev/kvm"} }, "backend.image": func(op *Op) { op.Spec.Backend.Image = "x" },
		"backend.host": func(op *Op) { op.Spec.Backend.Host = "x" }, "backend.user": func(op *Op) { op.Spec.Backend.User = "x" }, "backend.port": func(op *Op) { op.Spec.Backend.Port = 1 },
	}
	for _, f := range LaterFields() {
		change, ok := changes[f]
		if !ok {
			t.Errorf("field %q of the table is not tried", f)
			continue
		}
		in := goodInput(t, goodDraft(), goodFacts())
		change(in.Op)
		found := slices.ContainsFunc(Decide(PhaseAdd, in).Refusals(), func(c Check) bool { return c.Code == CodeSpecFieldLater && c.Target == f })
		if !found {
			t.Errorf("field %q is not refused by name", f)
		}
	}
}
