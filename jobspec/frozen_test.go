package jobspec_test

import (
	"time"

	"github.com/sbxcron/sbxcron/jobspec"
)

// frozen are the ops behind the vectors. A change here is a change of what was
// signed, so nothing here is ever edited; new fields get new vectors.
func frozen() map[string]*jobspec.Op {
	digest := func(s string) jobspec.Digest { return jobspec.DigestOf([]byte(s)) }
	created := jobspec.InstantOf(time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC))
	base := func(action jobspec.Action, seq, revision int64) *jobspec.Op {
		return &jobspec.Op{Type: jobspec.OpType, Host: "9c1f00000000000000000000000000ab", Seq: seq, Prev: digest("op 0"), Action: action, Job: "nightly",
			Revision: revision, Created: created, ApplyBefore: created.Add(24 * time.Hour), Principal: "alice"}
	}
	all := map[string]*jobspec.Op{}

	all["genesis"] = &jobspec.Op{Type: jobspec.OpType, Host: "9c1f00000000000000000000000000ab", Action: jobspec.Genesis, Created: created,
		ApplyBefore: created.Add(time.Hour), Principal: "alice",
		Root: &jobspec.GenesisBody{AuditKey: "sbxcron-9c1f+1234abcd+AVhc", AllowedSigners: digest("allowed_signers"), RevokedKeys: digest("revoked_keys")}}

	least := base(jobspec.Add, 1, 1)
	least.Tier, least.Net = jobspec.Scratch, jobspec.NetNone
	least.Spec = &jobspec.Spec{Argv: []string{"true"}}
	all["add-least"] = least

	odd := base(jobspec.Add, 2, 1)
	odd.Tier, odd.Net = jobspec.ReadOnly, jobspec.NetNone
	odd.Spec = &jobspec.Spec{Argv: []string{"printf", "", "\"\\/\t\n\r\x00\x1f\x7f", "<&>'", "gr\u00fc\u00dfe \U0001f600 \u2028", "\\u0041"},
		Env: map[string]string{"b": "", "B": "2", "A_1": "\u00e9"}, Note: "a note of odd text"}
	all["add-odd-text"] = odd

	all["add-whole"] = whole(base(jobspec.Add, 7, 1), digest)

	openings := base(jobspec.Add, 3, 1)
	openings.Tier, openings.Net = jobspec.Workspace, jobspec.NetNone
	openings.Spec = &jobspec.Spec{Argv: []string{"true"}, Cwd: jobspec.Place{Path: "/srv/ops", UID: 1000}, Git: "commit", MayCreate: []string{".envrc"}, StateDir: true,
		Bound: []jobspec.Bound{{Role: jobspec.RoleBind, Typed: "/etc/app.toml", Real: "/etc/app.toml", Size: 9, SHA256: digest("app.toml"), Mode: "0644"}},
		Bind: []jobspec.Bind{{Source: "/etc/app.toml", Target: "~/.app.toml", Mode: "ro", Kind: jobspec.KindRegular},
			{Source: "/srv/spool", Target: "/spool", Mode: "rw", Kind: jobspec.KindDir, UID: 1000}},
		Limits: jobspec.Limits{TimeoutSeconds: 60, StateBytes: 1 << 20}}
	all["add-openings"] = openings

	weaker := base(jobspec.Add, 4, 1)
	weaker.Tier, weaker.Net = jobspec.Scratch, jobspec.NetNone
	weaker.Spec = &jobspec.Spec{Argv: []string{"true"}, Weaker: []string{"weaker_backend_landlock", "weaker_exec_identity_package"},
		Bound:   []jobspec.Bound{{Role: jobspec.RoleExecutable, Typed: "true", Real: "/usr/bin/true", Size: 35664, SHA256: digest("true"), Mode: "0755", Package: "coreutils"}},
		Backend: jobspec.BackendNeed{AnyOf: []string{"bwrap", "landlock"}}}
	all["add-weaker"] = weaker

	replace := base(jobspec.Replace, 8, 2)
	replace.Tier, replace.Net = jobspec.Workspace, jobspec.NetNone
	replace.Spec = &jobspec.Spec{Argv: []string{"x"}, Script: jobspec.Script{Interpreter: "/bin/sh", Body: "set -eu\necho \"$1\"\n"},
		Cwd: jobspec.Place{Path: "/srv/ops"}, Schedule: jobspec.Schedule{EverySeconds: 3600, Timezone: "UTC", Missed: "skip", Overlap: "skip"}}
	all["replace"] = replace

	enable := base(jobspec.Enable, 9, 3)
	enable.Tier, enable.Net, enable.Target = jobspec.Workspace, jobspec.NetNone, digest("op 8")
	all["enable"] = enable
	all["disable"] = base(jobspec.Disable, 10, 4)
	all["remove"] = base(jobspec.Remove, 11, 5)
	attest := base(jobspec.Attest, 12, 0)
	attest.Job, attest.Checkpoint = "", "sbxcron-9c1f\n42\nAbC=\nepoch 1\ntime 2026-11-30T12:00:00Z\nchain 11 sha256:00\n\n\u2014 sbxcron-9c1f AbC=\n"
	all["attest"] = attest
	return all
}

// whole has every field of a spec at a value of its own.
func whole(op *jobspec.Op, digest func(string) jobspec.Digest) *jobspec.Op {
	op.Tier, op.Net, op.Checkpoint = jobspec.Workspace, jobspec.NetProxy, "sbxcron.ledger/9c1f\n42\nAbC=\n"
	op.Spec = &jobspec.Spec{
		Argv:   []string{"./backup.sh", "--full"},
		Script: jobspec.Script{Interpreter: "/bin/sh", Body: "exit 0\n"},
		Bound: []jobspec.Bound{{Role: jobspec.RoleExecutable, Typed: "./backup.sh", Real: "/srv/ops/backup.sh", Size: 812, SHA256: digest("backup.sh"), UID: 1000, Mode: "0755"},
			{Role: jobspec.RoleInterpreter, Typed: "/bin/sh", Real: "/usr/bin/dash", Size: 125688, SHA256: digest("dash"), Mode: "0755"}},
		Cwd: jobspec.Place{Path: "/srv/ops", UID: 1000}, Read: []string{"/srv/data"}, Write: []string{"/srv/out"}, Deny: []string{"/srv/data/private"},
		Git: "read-only", MayCreate: []string{".envrc"}, Bind: []jobspec.Bind{{Source: "/etc/app.toml", Target: "~/.app.toml", Mode: "ro"}},
		Env: map[string]string{"REPORT_LANG": "de", "LANG": "C.UTF-8"}, Stdin: "yes\n",
		Schedule: jobspec.Schedule{Cron: "30 2 * * *", At: op.Created.Add(time.Hour), Timezone: "Europe/Berlin", JitterSeconds: 300, Missed: "once",
			StartDeadlineSeconds: 7200, Overlap: "queue", Retries: 2, Words: "every day at 02:30"},
		ExpiresAt: op.Created.Add(90 * 24 * time.Hour),
		Limits: jobspec.Limits{TimeoutSeconds: 900, GraceSeconds: 10, MemoryBytes: 1 << 30, CPUPercent: 150, PIDs: 64, FileSizeBytes: 1 << 30, OpenFiles: 1024,
			OutputBytes: 1 << 20, TmpBytes: 64 << 20, WorkspaceGrowthBytes: 1 << 29, Connections: 16, NetBytes: 1 << 28},
		RunAs: jobspec.RunAs{User: "reports", UID: 1001, GID: 1002}, StateDir: true, Result: "claude-json",
		NetAllow: []string{"api.example.org:443"}, NetDeny: []string{"bad.example.org:443"}, Forward: []string{"db.internal:5432"}, Sockets: []string{"/run/x.sock"},
		Credentials: []jobspec.Credential{{Name: "db-password", As: "file"}},
		Denials:     jobspec.DenialRules{Expected: []jobspec.ExpectedDenial{{Code: "net_denied_domain", Target: "t.example.org:443"}}, OnDenial: "kill", Max: 20},
		Backend:     jobspec.BackendNeed{AnyOf: []string{"bwrap", "podman"}, Require: []string{"userns"}, Devices: []string{"/dev/kvm"}, Image: "img", Host: "h", User: "u", Port: 22},
		Weaker:      []string{"weaker_soft_limits"}, Notify: []string{"failed"},
		Answers:  []jobspec.Answer{{AskID: "abcdefghijkl", Rule: "floor.inline", Shown: digest("shown")}},
		Policy:   jobspec.PolicyDigests{Floor: digest("floor"), Managed: digest("managed"), Owner: digest("owner"), Serial: 3},
		Coverage: map[string]string{"executable": "hash", "libraries": "unbound"}, Note: "shown, never used",
	}
	return op
}
