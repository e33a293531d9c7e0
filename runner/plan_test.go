package runner

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/runner/internal/permit"
	"github.com/sbxcron/sbxcron/runner/seccomp"
)

var update = flag.Bool("update", false, "write the golden files")

// fakePins are observations with the null device as their open file, or another
// where there is one.
type fakePins struct {
	seen   []jobspec.Observation
	sealed map[int]bool
	null   *os.File
	files  map[int]*os.File
}

func (f fakePins) Len() int                              { return len(f.seen) }
func (f fakePins) Observation(i int) jobspec.Observation { return f.seen[i] }

func (f fakePins) File(i int) *os.File {
	if file, ok := f.files[i]; ok {
		return file
	}
	return f.null
}

func (f fakePins) Sealed(i int) bool { return f.sealed[i] }

type noFiles struct{}

func (noFiles) Create(string) (*os.File, error) { return nil, errors.New("not in this test") }

func at(use jobspec.Use, path string, kind jobspec.FileKind, ino uint64) jobspec.Observation {
	return jobspec.Observation{Use: use, Typed: path, Real: path, Kind: kind, Places: jobspec.Location{Self: jobspec.FileID{Dev: 0xfe00, Ino: ino}}}
}

// textFile is an open file with this text.
func textFile(t testing.TB, text string) *os.File {
	t.Helper()
	path := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// order is a workspace job with everything that a plan can draw.
func order(t testing.TB) Order {
	t.Helper()
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { null.Close() })
	script := textFile(t, "#! /bin/sh -e \ntrue\n")
	digest := jobspec.DigestOf([]byte("script"))
	exe := at(jobspec.UseBound, "/srv/ops/backup.sh", jobspec.KindRegular, 30)
	exe.Role, exe.SHA256, exe.Size = jobspec.RoleExecutable, digest, 6
	sh := at(jobspec.UseBound, "/usr/bin/dash", jobspec.KindRegular, 31)
	sh.Role, sh.SHA256, sh.Size = jobspec.RoleInterpreter, digest, 6
	pins := fakePins{null: null, files: map[int]*os.File{0: script}, sealed: map[int]bool{0: true}, seen: []jobspec.Observation{exe, sh,
		at(jobspec.UseCwd, "/srv/ops", jobspec.KindDir, 32), at(jobspec.UseRead, "/srv/data", jobspec.KindDir, 33),
		at(jobspec.UseRead, "/srv/ops/private/open", jobspec.KindDir, 34), at(jobspec.UseWrite, "/srv/out", jobspec.KindDir, 35),
		at(jobspec.UseDeny, "/srv/ops/private", jobspec.KindDir, 36), at(jobspec.UseDeny, "/srv/data/token", jobspec.KindRegular, 37),
		{Use: jobspec.UseDeny, Typed: "/srv/none", Problem: jobspec.CodePathUnreachable},
	}}
	spec := &jobspec.Spec{
		Argv: []string{"./backup.sh", "--full"},
		Bound: []jobspec.Bound{{Role: jobspec.RoleExecutable, Typed: "./backup.sh", Real: "/srv/ops/backup.sh", Size: 6, SHA256: digest},
			{Role: jobspec.RoleInterpreter, Typed: "/bin/sh", Real: "/usr/bin/dash", Size: 6, SHA256: digest}},
		Cwd: jobspec.Place{Path: "/srv/ops", UID: 1000}, Read: []string{"/srv/data", "/srv/ops/private/open"}, Write: []string{"/srv/out"},
		Deny: []string{"/srv/ops/private", "/srv/data/token", "/srv/none"}, Git: "read-only", Env: map[string]string{"MODE": "full"},
		Schedule: jobspec.Schedule{Timezone: "Europe/Berlin"},
		Limits:   jobspec.Limits{TimeoutSeconds: 900, GraceSeconds: 10, FileSizeBytes: 1 << 30, OpenFiles: 1024, PIDs: 128, OutputBytes: 1 << 20, TmpBytes: 64 << 20},
	}
	host := Host{zones: true, etc: []string{"/etc/alternatives", "/etc/ssl/certs"},
		links: []Mount{{Kind: Symlink, Dst: "/bin", Src: "usr/bin"}, {Kind: HostRO, Dst: "/lib", Src: "/lib"}}}
	return Order{Job: "nightly", Tier: jobspec.Workspace, Net: jobspec.NetNone, Spec: spec, Pins: pins, Run: "r1",
		Account: Account{User: "alice", UID: 1000, GID: 1000, Drop: true}, Outputs: noFiles{}, Host: host}
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("..", "testdata", "golden", "runner", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs; look at it and run with -update. Got:\n%s", path, got)
	}
}

// netOrder is an order with all that a network can have.
func netOrder(t *testing.T) Order {
	o := order(t)
	pins := o.Pins.(fakePins)
	pins.seen = append(pins.seen, at(jobspec.UseSocket, "/run/db.sock", jobspec.KindSocket, 36))
	pins.files[len(pins.seen)-1] = pins.files[0]
	o.Pins, o.Net = pins, jobspec.NetProxy
	o.Spec.NetAllow, o.Spec.NetDeny, o.Spec.Forward, o.Spec.Sockets = []string{"api.example.org:443", "db.internal:5432"}, []string{"bad.example.org:443"}, []string{"localhost:6379"}, []string{"/run/db.sock"}
	o.Grant = jobspec.NetGrant{Private: []string{"db.internal:5432"}, Upstream: "http://proxy.corp:3128"}
	return o
}

func TestAPlanWithANetworkMatchesItsGoldenText(t *testing.T) {
	p, err := PlanUnsigned(permit.New(), netOrder(t))
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "plan_net.txt", p.Blueprint().Dump())
	for name, m := range map[string]Machine{"steps_net_amd64.txt": {Arch: seccomp.AMD64, LandlockABI: 7}, "steps_net_arm64_abi3.txt": {Arch: seccomp.ARM64, LandlockABI: 3}} {
		m.HardNoFile, m.HardNProc, m.HardFSize, m.HardMemlock = 4096, 4096, 1<<40, 8<<20
		table, err := p.Steps(m)
		if err != nil {
			t.Fatal(err)
		}
		golden(t, name, table.Dump())
	}
}

func TestNoVariableLeadsAroundTheProxy(t *testing.T) {
	p, err := PlanUnsigned(permit.New(), netOrder(t))
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, v := range p.Blueprint().Env {
		name, value, _ := strings.Cut(v, "=")
		switch name = strings.ToUpper(name); {
		case strings.Contains(name, "NO_PROXY") || strings.Contains(name, "NOPROXY"):
			t.Error(v)
		case strings.HasSuffix(name, "_PROXY") && name != "NODE_USE_ENV_PROXY":
			found++
			if strings.TrimPrefix(value, "http://") != "127.0.0.1:3128" {
				t.Error(v)
			}
		}
	}
	if found < 10 {
		t.Errorf("%d variables name the proxy", found)
	}
}

func TestPlanAndItsStepsMatchTheirGoldenText(t *testing.T) {
	p, err := PlanUnsigned(permit.New(), order(t))
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "plan_workspace.txt", p.Blueprint().Dump())
	for _, arch := range []seccomp.Arch{seccomp.AMD64, seccomp.ARM64} {
		m := Machine{Arch: arch, LandlockABI: 7, HardNoFile: 4096, HardNProc: 4096, HardFSize: 1 << 40, HardMemlock: 8 << 20}
		table, err := p.Steps(m)
		if err != nil {
			t.Fatal(err)
		}
		golden(t, "steps_workspace_"+string(arch)+".txt", table.Dump())
		if _, err := table.Encode(); err != nil {
			t.Error(err)
		}
	}
}

func TestPlanDigestNamesTheContent(t *testing.T) {
	one, err := PlanUnsigned(permit.New(), order(t))
	if err != nil {
		t.Fatal(err)
	}
	for range 20 {
		again, err := PlanUnsigned(permit.New(), order(t))
		if err != nil || again.Digest() != one.Digest() {
			t.Fatalf("the same order gives another plan: %v", err)
		}
	}
	o := order(t)
	o.Spec.Env["MODE"] = "half"
	other, err := PlanUnsigned(permit.New(), o)
	if err != nil || other.Digest() == one.Digest() {
		t.Errorf("another environment gives the same digest: %v", err)
	}
}

func TestNoPlanWithoutConsent(t *testing.T) {
	if _, err := NewPlan(PlanInput{}); codeOf(err) != jobspec.CodeIdentityUnproven {
		t.Errorf("an op that nobody signed: %v", err)
	}
	if _, err := PlanUnsigned(permit.Permit{}, order(t)); codeOf(err) != jobspec.CodeIdentityUnproven {
		t.Errorf("a permit that is not genuine: %v", err)
	}
	if (&Plan{}).Valid() || (*Plan)(nil).Valid() {
		t.Error("an empty plan is valid")
	}
	if _, err := (&Plan{}).Steps(Machine{Arch: seccomp.AMD64, LandlockABI: 7}); err == nil {
		t.Error("an empty plan compiles")
	}
}

func codeOf(err error) jobspec.Code {
	var r *Refusal
	if errors.As(err, &r) {
		return r.Reason
	}
	return ""
}

func TestOrdersThatCannotBePlannedAreRefused(t *testing.T) {
	digest := jobspec.DigestOf([]byte("other"))
	for name, tc := range map[string]struct {
		change func(*Order, fakePins)
		want   jobspec.Code
	}{
		"no spec":                  {func(o *Order, _ fakePins) { o.Spec = nil }, jobspec.CodeSpecMalformed},
		"no tier":                  {func(o *Order, _ fakePins) { o.Tier = jobspec.NoTier }, jobspec.CodeTierUnknown},
		"no net":                   {func(o *Order, _ fakePins) { o.Net = jobspec.NoNet }, jobspec.CodeNetOverCeiling},
		"hosts without a network":  {func(o *Order, _ fakePins) { o.Spec.NetAllow = []string{"a.org:443"} }, jobspec.CodeNetOverCeiling},
		"uid 0":                    {func(o *Order, _ fakePins) { o.Account.UID = 0 }, jobspec.CodeRunAsForbidden},
		"gid 0":                    {func(o *Order, _ fakePins) { o.Account.GID = 0 }, jobspec.CodeRunAsForbidden},
		"no timeout":               {func(o *Order, _ fakePins) { o.Spec.Limits.TimeoutSeconds = 0 }, jobspec.CodeSpecMalformed},
		"unbounded tmp":            {func(o *Order, _ fakePins) { o.Spec.Limits.TmpBytes = 0 }, jobspec.CodeSpecMalformed},
		"bind":                     {func(o *Order, _ fakePins) { o.Spec.Bind = []jobspec.Bind{{}} }, jobspec.CodeBindSensitive},
		"state not opened":         {func(o *Order, _ fakePins) { o.Spec.StateDir = true }, jobspec.CodePathUnreachable},
		"credential without value": {func(o *Order, _ fakePins) { o.Spec.Credentials = []jobspec.Credential{{Name: "db", As: "file"}} }, jobspec.CodeCredentialMissing},
		"credential in no form":    {func(o *Order, _ fakePins) { credentials(o, "s3cr3tvalue", "argv") }, jobspec.CodeSpecMalformed},
		"credential out of HOME":   {func(o *Order, _ fakePins) { credentials(o, "s3cr3tvalue", "path:~/../x") }, jobspec.CodeSpecMalformed},
		"credential too short":     {func(o *Order, _ fakePins) { credentials(o, "12345\n\n", "file") }, jobspec.CodeCredentialUnusable},
		"credential too long":      {func(o *Order, _ fakePins) { credentials(o, strings.Repeat("x", 64<<10+1), "file") }, jobspec.CodeCredentialUnusable},
		"credentials too long":     {func(o *Order, _ fakePins) { manyCredentials(o, 5, 60<<10) }, jobspec.CodeCredentialUnusable},
		"credential with zero":     {func(o *Order, _ fakePins) { credentials(o, "s3cr3t\x00value", "env:TOKEN") }, jobspec.CodeCredentialUnusable},
		"credential over PATH":     {func(o *Order, _ fakePins) { credentials(o, "/tmp/evil", "env:PATH") }, jobspec.CodeEnvForbidden},
		"credential over env":      {func(o *Order, _ fakePins) { credentials(o, "s3cr3tvalue", "env:MODE") }, jobspec.CodeEnvForbidden},
		"env of credentials":       {func(o *Order, _ fakePins) { o.Spec.Env["CREDENTIALS_DIRECTORY"] = "/tmp" }, jobspec.CodeEnvForbidden},
		"sockets":                  {func(o *Order, _ fakePins) { o.Spec.Sockets = []string{"/run/x"} }, jobspec.CodePathUnreachable},
		"another git word":         {func(o *Order, _ fakePins) { o.Spec.Git = "push" }, jobspec.CodeSpecFieldLater},
		"write in read-only":       {func(o *Order, _ fakePins) { o.Tier = jobspec.ReadOnly }, jobspec.CodePathOverCeiling},
		"cwd in scratch":           {func(o *Order, _ fakePins) { o.Tier = jobspec.Scratch }, jobspec.CodeSpecMalformed},
		"cwd not opened":           {func(o *Order, _ fakePins) { o.Spec.Cwd.Path = "/srv/other" }, jobspec.CodePathUnreachable},
		"cwd is a file":            {func(_ *Order, p fakePins) { p.seen[2].Kind = jobspec.KindRegular }, jobspec.CodeDriftCwd},
		"read is a socket":         {func(_ *Order, p fakePins) { p.seen[3].Kind = jobspec.KindSocket }, jobspec.CodePathSensitive},
		"read unreachable":         {func(_ *Order, p fakePins) { p.seen[3].Problem = jobspec.CodePathUnreachable }, jobspec.CodePathUnreachable},
		"read not opened":          {func(o *Order, _ fakePins) { o.Spec.Read = []string{"/srv/x"} }, jobspec.CodePathUnreachable},
		"deny not looked at":       {func(o *Order, _ fakePins) { o.Spec.Deny = []string{"/srv/x"} }, jobspec.CodePathUnreachable},
		"other bytes":              {func(_ *Order, p fakePins) { p.seen[0].SHA256 = digest }, jobspec.CodeDriftExecHash},
		"other interpreter":        {func(_ *Order, p fakePins) { p.seen[1].Size = 7 }, jobspec.CodeDriftInterpreter},
		"no digest signed": {func(o *Order, p fakePins) {
			o.Spec.Bound[0].SHA256 = jobspec.Digest{}
			p.seen[0].SHA256 = jobspec.Digest{}
		}, jobspec.CodeDriftExecHash},
		"bound missing":         {func(_ *Order, p fakePins) { p.seen[0].Real = "/srv/ops/other" }, jobspec.CodeDriftExecMissing},
		"command not bound":     {func(o *Order, _ fakePins) { o.Spec.Argv[0] = "make" }, jobspec.CodeBindAmbiguous},
		"interpreter not bound": {func(o *Order, _ fakePins) { o.Spec.Bound = o.Spec.Bound[:1] }, jobspec.CodeBindAmbiguous},
		"script without end": {func(o *Order, p fakePins) {
			o.Spec.Bound[1].Typed, p.files[1] = "/bin/sh", p.files[0]
		}, jobspec.CodeBindAmbiguous},
		"no command":   {func(o *Order, _ fakePins) { o.Spec.Argv = nil }, jobspec.CodeSpecMalformed},
		"env of ours":  {func(o *Order, _ fakePins) { o.Spec.Env["PATH"] = "/tmp" }, jobspec.CodeEnvForbidden},
		"env with =":   {func(o *Order, _ fakePins) { o.Spec.Env["A=B"] = "" }, jobspec.CodeEnvForbidden},
		"path climbs":  {func(_ *Order, p fakePins) { p.seen[3].Real = "/srv/../etc" }, jobspec.CodePathUnreachable},
		"path of ours": {func(_ *Order, p fakePins) { p.seen[3].Real = StubPath }, jobspec.CodePathUnreachable},
		"root itself":  {func(_ *Order, p fakePins) { p.seen[3].Real = "/" }, jobspec.CodePathUnreachable},
	} {
		t.Run(name, func(t *testing.T) {
			o := order(t)
			tc.change(&o, o.Pins.(fakePins))
			p, err := PlanUnsigned(permit.New(), o)
			if p != nil || codeOf(err) != tc.want {
				t.Errorf("got %v, want %s", err, tc.want)
			}
		})
	}
}

func TestMountsAreMadeFromTheRootDownwardsAndTheStricterWins(t *testing.T) {
	o := order(t)
	pins := o.Pins.(fakePins)
	pins.seen = append(pins.seen, at(jobspec.UseDeny, "/srv/out", jobspec.KindDir, 35)) // tie: write and deny
	o.Pins, o.Spec.Deny = pins, append(o.Spec.Deny, "/srv/out")
	p, err := PlanUnsigned(permit.New(), o)
	if err != nil {
		t.Fatal(err)
	}
	last := map[string]MountKind{}
	for i, m := range p.Blueprint().Mounts {
		last[m.Dst] = m.Kind
		for _, later := range p.Blueprint().Mounts[i+1:] {
			if strings.HasPrefix(m.Dst, later.Dst+"/") {
				t.Errorf("%s is made before %s, which covers it", m.Dst, later.Dst)
			}
		}
	}
	if last["/srv/out"] != HideDir {
		t.Errorf("of write and deny at one place %s wins", last["/srv/out"])
	}
}

func TestStepsRefuseAMachineBelowTheFloor(t *testing.T) {
	p, err := PlanUnsigned(permit.New(), order(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, abi := range []int{0, 1} {
		if _, err := p.Steps(Machine{Arch: seccomp.AMD64, LandlockABI: abi}); codeOf(err) != jobspec.CodeSbxFeatureMissing {
			t.Errorf("ABI %d: %v", abi, err)
		}
	}
	if _, err := p.Steps(Machine{Arch: "riscv64", LandlockABI: 7}); err == nil {
		t.Error("an unknown architecture compiles")
	}
}

func TestLandlockRightsNeverExceedWhatTheABIHandles(t *testing.T) {
	for abi := LandlockFloor; abi <= landlockNewest; abi++ {
		for r := NoRight; r <= Tell; r++ {
			bits := r.bits(abi)
			if bits&^handled(abi) != 0 || bits&(llMakeChar|llMakeBlock) != 0 || r == NoRight && bits != 0 {
				t.Errorf("ABI %d, %s: %#x", abi, r, bits)
			}
		}
	}
}

func TestTheRootListHoldsNothingPrivate(t *testing.T) {
	for _, e := range etcList() {
		for _, bad := range []string{"shadow", "sudoers", "ssh", "private", "machine-id", "hostname", "passwd", "group"} {
			if strings.Contains(e.pattern, bad) || e.why == "" {
				t.Errorf("%s: %q", e.pattern, e.why)
			}
		}
	}
}
