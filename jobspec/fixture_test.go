package jobspec

import (
	"testing"
	"time"
)

const testHost = HostID("9c1f00000000000000000000000000ab")

func testNow() time.Time { return time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC) }

func boundAt(role Role, typed, real string) Bound {
	return Bound{Role: role, Typed: typed, Real: real, Size: 812, SHA256: DigestOf([]byte(real)), UID: 1000, Mode: "0755"}
}

// goodDraft is a job that the good input allows.
func goodDraft() *Draft {
	return &Draft{Name: "nightly", Cron: "30 2 * * *", Timezone: "Europe/Berlin", Tier: Workspace, Cwd: "/srv/ops",
		Command: []string{"./backup.sh", "--full"}, Env: map[string]string{"REPORT_LANG": "de"}, Read: []string{"/srv/data"}}
}

func goodFacts() Facts {
	return Facts{Host: testHost, Seq: 7, Prev: DigestOf([]byte("head")), Action: Add, Revision: 1, Principal: "alice", Now: testNow(),
		Words: "every day at 02:30", Cwd: Place{Path: "/srv/ops", UID: 1000}, Read: []string{"/srv/data"},
		Bound:  []Bound{boundAt(RoleExecutable, "./backup.sh", "/srv/ops/backup.sh")},
		Policy: PolicyDigests{Floor: FloorDigest(), Managed: DigestOf([]byte("policy")), Serial: 3}}
}

func goodPolicy() *Policy {
	return &Policy{Serial: 3, EnabledPlatforms: []string{"linux"}, Principals: map[Principal]Ceiling{
		"alice": {MaxTier: Workspace, MaxNet: NetNone, Read: []string{"/srv/data"}, RunAs: []string{"reports"}}}}
}

func at(dev, ino uint64, device string, up ...uint64) Location {
	l := Location{Self: FileID{dev, ino}, Device: device}
	for _, i := range up {
		l.Ancestors = append(l.Ancestors, FileID{dev, i})
	}
	return l
}

// observations sees everything that a spec names exactly as it was bound.
func observations(s *Spec) []Observation {
	var all []Observation
	next := uint64(1000)
	see := func(o Observation) {
		next++
		o.Places = at(8, next, "8:1:"+o.Real, 2)
		all = append(all, o)
	}
	for _, b := range s.Bound {
		see(Observation{Use: UseBound, Role: b.Role, Typed: b.Typed, Real: b.Real, Kind: KindRegular, UID: b.UID, Mode: 0o755, Size: b.Size, SHA256: b.SHA256})
	}
	if s.Cwd.Path != "" {
		see(Observation{Use: UseCwd, Typed: s.Cwd.Path, Real: s.Cwd.Path, Kind: KindDir, UID: s.Cwd.UID})
	}
	for use, paths := range map[Use][]string{UseRead: s.Read, UseWrite: s.Write, UseDeny: s.Deny} {
		for _, p := range paths {
			see(Observation{Use: use, Typed: p, Real: p, Kind: KindDir})
		}
	}
	return all
}

func testSensitive() []Sensitive {
	all := Itself | Contains | Below
	return []Sensitive{
		{What: "the file system's root", Path: "/", Reach: Itself, Where: at(8, 2, "8:1:/")},
		{What: "CONF", Path: "/etc/sbxcron", Reach: all, Where: at(8, 50, "8:1:/etc/sbxcron", 40, 2)},
		{What: "/etc", Path: "/etc", Reach: all | ReadOK, Where: at(8, 40, "8:1:/etc", 2)},
		{What: "home of alice", Path: "/home/alice", Reach: Itself | Contains, Where: at(8, 60, "8:1:/home/alice", 61, 2)},
		{What: ".ssh of alice", Path: "/home/alice/.ssh", Reach: all, Where: at(8, 62, "8:1:/home/alice/.ssh", 60, 61, 2)},
	}
}

// goodInput is an input that every phase allows; op is signed.
func goodInput(t *testing.T, d *Draft, f Facts) Input {
	t.Helper()
	op, err := Resolve(d, f)
	if err != nil {
		t.Fatal(err)
	}
	return inputFor(op)
}

func inputFor(op *Op) Input {
	return Input{Op: op, Signed: Signed{op: op}, Policy: goodPolicy(),
		Host: Host{ID: testHost, Platform: "linux", Now: testNow().Add(time.Hour), UID: 999,
			LookupUser: func(name string) (RunAs, bool) {
				return RunAs{User: "reports", UID: 1001, GID: 1001}, name == "reports"
			}},
		Paths: observations(op.Spec), Sensitive: testSensitive(),
		Sandbox: Sandbox{Backend: "bwrap", Usable: true, Capabilities: []string{"userns", "netns", "seccomp"}}, Gap: 86400}
}

// codes are the codes of a decision's refusals, each once, in order.
func codesOf(d Decision) []Code {
	var all []Code
	for _, c := range d.Refusals() {
		if len(all) == 0 || all[len(all)-1] != c.Code {
			all = append(all, c.Code)
		}
	}
	return all
}
