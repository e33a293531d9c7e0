package bwrap

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/runner"
	"github.com/sbxcron/sbxcron/runner/internal/permit"
)

var update = flag.Bool("update", false, "write the golden files")

// paper is a set of pins of which nothing is open: a command line needs none.
type paper struct {
	seen   []jobspec.Observation
	sealed map[int]bool
	file   *os.File // stands for each
}

func (p paper) Len() int                              { return len(p.seen) }
func (p paper) Observation(i int) jobspec.Observation { return p.seen[i] }
func (p paper) File(int) *os.File                     { return p.file }
func (p paper) Sealed(i int) bool                     { return p.sealed[i] }

type noOutputs struct{}

func (noOutputs) Create(string) (*os.File, error) { return nil, os.ErrInvalid }

// saw is a pinned path of the host.
func saw(use jobspec.Use, path string, kind jobspec.FileKind, ino uint64) jobspec.Observation {
	return jobspec.Observation{Use: use, Typed: path, Real: path, Kind: kind, UID: 1000, Places: jobspec.Location{Self: jobspec.FileID{Dev: 0xfe00, Ino: ino}}}
}

// drawing is an order of /usr/bin/true in a tier, to which a case adds.
type drawing struct {
	runner.Order
	pins  paper
	outer bool // the weaker choice of a /proc that is not fresh
}

func newDrawing(t testing.TB, tier jobspec.Tier) *drawing {
	t.Helper()
	program, err := os.Open("/proc/self/exe") // no script, so it has no first line
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { program.Close() })
	digest := jobspec.DigestOf([]byte("true"))
	exe := saw(jobspec.UseBound, "/usr/bin/true", jobspec.KindRegular, 30)
	exe.Role, exe.SHA256, exe.Size, exe.UID = jobspec.RoleExecutable, digest, 4, 0
	d := &drawing{pins: paper{file: program, sealed: map[int]bool{}, seen: []jobspec.Observation{exe}}}
	d.Order = runner.Order{Job: "golden", Run: "r1", Tier: tier, Net: jobspec.NetNone, Outputs: noOutputs{}, Account: runner.Account{User: "alice", UID: 1000, GID: 100},
		Spec: &jobspec.Spec{Argv: []string{"true"}, Bound: []jobspec.Bound{{Role: jobspec.RoleExecutable, Typed: "true", Real: "/usr/bin/true", Size: 4, SHA256: digest}},
			Limits: jobspec.Limits{TimeoutSeconds: 60, TmpBytes: 1 << 20}}}
	if tier != jobspec.Scratch {
		d.Spec.Cwd = jobspec.Place{Path: "/srv/ops", UID: 1000}
		d.pin(saw(jobspec.UseCwd, "/srv/ops", jobspec.KindDir, 31))
	}
	return d
}

func (d *drawing) pin(o jobspec.Observation) { d.pins.seen = append(d.pins.seen, o) }

// line draws the order and makes its command line.
func (d *drawing) line(guards ...guarded) (*runner.Blueprint, []word, error) {
	d.Pins = d.pins
	p, err := runner.PlanUnsigned(permit.New(), d.Order)
	if err != nil {
		return nil, nil, err
	}
	guards = append(guards, guarded{path: runner.ChannelPath})
	words, err := commandLine(p.Blueprint(), surroundings{proc: procfs{masks: []string{"/proc/keys"}, outer: d.outer}, guards: guards})
	return p.Blueprint(), words, err
}

func text(words []word) string {
	var b strings.Builder
	for i, w := range words {
		switch {
		case i == 0:
		case strings.HasPrefix(w.text, "--") && words[i-1].text != "--perms":
			b.WriteByte('\n')
		default:
			b.WriteByte(' ')
		}
		b.WriteString(w.String())
	}
	return b.String() + "\n"
}

// sealedScript makes the command a script in the cwd, of which the sandbox has a
// copy.
func sealedScript(d *drawing) {
	digest := jobspec.DigestOf([]byte("select 1"))
	o := saw(jobspec.UseBound, "/srv/ops/job.sql", jobspec.KindRegular, 40)
	o.Role, o.SHA256, o.Size = jobspec.RoleFile, digest, 8
	d.Spec.Bound = append(d.Spec.Bound, jobspec.Bound{Role: jobspec.RoleFile, Typed: "job.sql", Real: "/srv/ops/job.sql", Size: 8, SHA256: digest})
	d.pins.sealed[len(d.pins.seen)] = true
	d.pin(o)
}

// lines are the cases with a golden file.
var lines = []struct {
	name   string
	tier   jobspec.Tier
	more   func(*drawing)
	guards []guarded
}{
	{name: "scratch", tier: jobspec.Scratch},
	{name: "read_only", tier: jobspec.ReadOnly, more: sealedScript},
	{name: "workspace", tier: jobspec.Workspace, more: func(d *drawing) {
		sealedScript(d)
		d.Spec.Write = []string{"/srv/out"}
		d.pin(saw(jobspec.UseWrite, "/srv/out", jobspec.KindDir, 41))
	}, guards: []guarded{{path: "/srv/ops/.git"}, {path: "/srv/out/.envrc"}}},
	{name: "binds", tier: jobspec.Workspace, more: func(d *drawing) {
		d.Spec.Bind = []jobspec.Bind{
			{Source: "/srv/cache", Target: "/cache", Mode: jobspec.BindRW, Kind: jobspec.KindDir, UID: 1000},
			{Source: "/srv/shared", Target: "~/shared", Mode: jobspec.BindRO, Kind: jobspec.KindDir, UID: 1000},
		}
		for i, b := range d.Spec.Bind {
			d.pin(saw(b.Use(), b.Source, jobspec.KindDir, uint64(50+i)))
		}
	}, guards: []guarded{{path: "/cache/.vscode"}}},
	{name: "deny", tier: jobspec.ReadOnly, more: func(d *drawing) {
		d.Spec.Deny = []string{"/srv/ops/private", "/srv/ops/token", "/srv/none"}
		d.Spec.Read = []string{"/srv/ops/private/open"}
		d.pin(saw(jobspec.UseDeny, "/srv/ops/private", jobspec.KindDir, 60))
		d.pin(saw(jobspec.UseDeny, "/srv/ops/token", jobspec.KindRegular, 61))
		d.pin(jobspec.Observation{Use: jobspec.UseDeny, Typed: "/srv/none", Problem: jobspec.CodePathUnreachable})
		d.pin(saw(jobspec.UseRead, "/srv/ops/private/open", jobspec.KindDir, 62))
	}},
	{name: "state", tier: jobspec.Scratch, more: func(d *drawing) {
		d.Spec.StateDir = true
		o := saw(jobspec.UseState, "/var/lib/private/sbxcron/golden", jobspec.KindDir, 70)
		o.Typed = jobspec.StatePlace
		d.pin(o)
	}},
	{name: "credential", tier: jobspec.Scratch, more: func(d *drawing) {
		d.Spec.Credentials = []jobspec.Credential{{Name: "db", As: "file"}, {Name: "pgpass", As: "path:~/.pgpass"}, {Name: "token", As: "env:TOKEN"}}
		for _, c := range d.Spec.Credentials {
			d.Secrets = append(d.Secrets, runner.NewSecret(c.Name, []byte("hunter2-"+c.Name)))
		}
	}},
	{name: "proxy", tier: jobspec.Workspace, more: func(d *drawing) {
		d.Net, d.Spec.NetAllow, d.Spec.Forward = jobspec.NetProxy, []string{"api.example.org:443"}, []string{"localhost:6379"}
		d.Spec.Sockets = []string{"/run/db.sock"}
		d.pin(saw(jobspec.UseSocket, "/run/db.sock", jobspec.KindSocket, 80))
	}, guards: []guarded{{path: "/srv/ops/.git"}}},
	{name: "outer_proc", tier: jobspec.Scratch, more: func(d *drawing) { d.outer = true }},
	{name: "git_commit", tier: jobspec.Workspace, more: func(d *drawing) { d.Spec.Git = jobspec.GitCommit },
		guards: []guarded{{path: "/srv/ops/.git", write: true}, {path: "/srv/ops/.git/config"}, {path: "/srv/ops/.git/hooks"}}},
}

func TestCommandLinesMatchTheirGoldenText(t *testing.T) {
	for _, c := range lines {
		t.Run(c.name, func(t *testing.T) {
			d := newDrawing(t, c.tier)
			if c.more != nil {
				c.more(d)
			}
			_, words, err := d.line(c.guards...)
			if err != nil {
				t.Fatal(err)
			}
			got := text(words)
			if strings.Contains(got, "hunter2") {
				t.Errorf("the line holds the value of a credential:\n%s", got)
			}
			golden := filepath.Join("..", "..", "testdata", "golden", "runner", "line_"+c.name+".txt")
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("the line differs from %s; look at it and run with -update. Got:\n%s", golden, got)
			}
		})
	}
}

func TestMountsThatCannotBeMadeAreErrors(t *testing.T) {
	for name, m := range map[string]runner.Mount{
		"no kind":           {Dst: "/x"},
		"zero byte in path": {Kind: runner.HostRO, Dst: "/x\x00--bind", Src: "/usr"},
		"zero byte in link": {Kind: runner.Symlink, Dst: "/x", Src: "a\x00b"},
		"zero byte in what": {Kind: runner.HostRO, Dst: "/x", Src: "/usr\x00--bind"},
		"an option as path": {Kind: runner.Tmpfs, Dst: "--bind"},
		"an option as link": {Kind: runner.Symlink, Dst: "/x", Src: "--bind"},
		"the root":          {Kind: runner.HostRO, Dst: "/", Src: "/usr"},
		"the host's root":   {Kind: runner.HostRO, Dst: "/x", Src: "/"},
	} {
		p := &runner.Blueprint{Cwd: runner.Cwd{Path: "/x"}, Mounts: []runner.Mount{m}}
		if words, err := commandLine(p, surroundings{}); err == nil {
			t.Errorf("%s: %s", name, text(words))
		}
	}
	if words, err := commandLine(&runner.Blueprint{Cwd: runner.Cwd{Path: "--x"}}, surroundings{}); err == nil {
		t.Errorf("an option as cwd: %s", text(words))
	}
}

func TestGuardsComeBeforeWhatLiesBelowThem(t *testing.T) {
	b := &runner.Blueprint{Mounts: []runner.Mount{{Kind: runner.Tmpfs, Dst: "/ws"}, {Kind: runner.Data, Dst: "/ws/.claude/hooks/run.sh"}}}
	var order []string
	for _, it := range items(b, []guarded{{path: "/ws/.claude"}, {path: "/ws/.git"}}) {
		order = append(order, it.Dst)
	}
	if want := []string{"/ws", "/ws/.claude", "/ws/.git", "/ws/.claude/hooks/run.sh"}; !slices.Equal(order, want) {
		t.Errorf("mounted in the order %q, want %q", order, want)
	}
}

// A number stands for a file only where the line has one, and a file that is not
// open starts nothing.
func TestFilesThatAreNotOpenStartNothing(t *testing.T) {
	d := newDrawing(t, jobspec.ReadOnly)
	p, words, err := d.line(guarded{path: "/srv/ops/.git"})
	if err != nil {
		t.Fatal(err)
	}
	var fs files
	defer fs.close()
	stub := func() (*os.File, error) { return os.Open(os.DevNull) }
	guards := []guarded{{path: "/srv/ops/.git"}, {path: runner.ChannelPath}}
	if args, err := fs.number(words, supply{pins: p.Pins, guards: guards, stub: stub, status: "6"}); err == nil {
		t.Errorf("a guard without a file: %q", args)
	}
	for i := range guards {
		guards[i].file = d.pins.file
	}
	args, err := fs.number(words, supply{pins: p.Pins, guards: guards, stub: stub, status: "6"})
	if err != nil || len(args) != len(words) {
		t.Fatalf("%d of %d words: %v", len(args), len(words), err)
	}
	for i, w := range words {
		if w.file.kind != noSource && strings.Trim(args[i], "0123456789") != "" || args[i] == "" {
			t.Errorf("word %d, %s, became %q", i, w, args[i])
		}
	}
}
