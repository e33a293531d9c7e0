package bwrap

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sbxcron/sbxcron/runner"
)

var update = flag.Bool("update", false, "write the golden files")

// oneLine prints options, one with its operands a line.
func oneLine(args []string) string {
	var b strings.Builder
	for i, a := range args {
		switch {
		case i == 0:
		case strings.HasPrefix(a, "--") && args[i-1] != "--perms":
			b.WriteByte('\n')
		default:
			b.WriteByte(' ')
		}
		b.WriteString(a)
	}
	return b.String() + "\n"
}

// somethingOfEach has one mount of each kind, in the order in which plans put them.
func somethingOfEach(null *os.File) []item {
	return []item{
		{runner.Mount{Kind: runner.Symlink, Dst: "/bin", Src: "usr/bin"}, nil},
		{runner.Mount{Kind: runner.Dev, Dst: "/dev"}, nil},
		{runner.Mount{Kind: runner.Proc, Dst: "/proc"}, nil},
		{runner.Mount{Kind: runner.Tmpfs, Dst: "/tmp", Size: 4096, Perm: 0o1777}, nil},
		{runner.Mount{Kind: runner.HostRO, Dst: "/usr", Src: "/usr"}, nil},
		{runner.Mount{Kind: runner.Data, Dst: "/etc/passwd", Bytes: []byte("x"), Perm: 0o444}, nil},
		{runner.Mount{Kind: runner.PinnedRW, Dst: "/srv/ops"}, null},
		{runner.Mount{Kind: runner.PinnedRO, Dst: "/srv/ops/.git"}, null},
		{runner.Mount{Kind: runner.Copy, Dst: "/srv/ops/job.sh", Perm: 0o555}, null},
		{runner.Mount{Kind: runner.HideDir, Dst: "/srv/ops/private", Size: 4096}, nil},
		{runner.Mount{Kind: runner.HideFile, Dst: "/srv/ops/token"}, nil},
	}
}

func TestOptionsMatchTheirGoldenText(t *testing.T) {
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	fs := files{list: []*os.File{null, null, null, null, null, null}}
	defer fs.close()
	mounts, err := mountArgs(somethingOfEach(null), &fs, procfs{masks: []string{"/proc/keys"}})
	if err != nil {
		t.Fatal(err)
	}
	got := oneLine(append(baseArgs(runner.Account{UID: 1000, GID: 100}, "6"), mounts...))
	golden := filepath.Join("..", "..", "testdata", "golden", "runner", "bwrap_options.txt")
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
		t.Errorf("options differ from %s; look at them and run with -update. Got:\n%s", golden, got)
	}
}

func TestMountsThatCannotBeMadeAreErrors(t *testing.T) {
	for name, m := range map[string]runner.Mount{
		"no kind":           {Dst: "/x"},
		"zero byte in path": {Kind: runner.HostRO, Dst: "/x\x00--bind", Src: "/"},
		"zero byte in link": {Kind: runner.Symlink, Dst: "/x", Src: "a\x00b"},
	} {
		var fs files
		if args, err := mountArgs([]item{{m, nil}}, &fs, procfs{}); err == nil {
			t.Errorf("%s: %q", name, args)
		}
		fs.close()
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
