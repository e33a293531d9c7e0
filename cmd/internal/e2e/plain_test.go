//go:build linux

package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"sync"
)

// Programs that the tests build once for all of them. A command line that asks,
// prints and ends has no two goroutines that could race, and a program built with
// -race needs five times the time to begin; so under -race the commands are this
// same package built without, and the services stay what the tests are.
type built struct {
	mu   sync.Mutex
	dir  string            // removed when all tests are over
	made map[string]string // path by what was built
}

var programs built

// own is this binary, by a name that holds after a change of folder.
func own() string { return "/proc/" + strconv.Itoa(os.Getpid()) + "/exe" }

// commandLine is the program for commands that end by themselves.
func commandLine() string {
	if !underRace() {
		return own()
	}
	tool, err := exec.LookPath("go")
	if err != nil {
		return own()
	}
	here, err := os.Getwd()
	if err != nil {
		return own()
	}
	path, err := programs.build(tool, here, "test", "-c", "-trimpath", "-buildvcs=false")
	if err != nil {
		return own() // without the source tree: slower, and the same
	}
	return path
}

func underRace() bool {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return false
	}
	for _, s := range info.Settings {
		if s.Key == "-race" {
			return s.Value == "true"
		}
	}
	return false
}

// build runs the go command in a folder, once for each command line.
func (b *built) build(tool, folder string, args ...string) (string, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	key := fmt.Sprint(folder, args)
	if path, ok := b.made[key]; ok {
		return path, nil
	}
	if b.dir == "" {
		dir, err := os.MkdirTemp("", "e2e-programs-")
		if err != nil {
			return "", err
		}
		b.dir, b.made = dir, map[string]string{}
	}
	path := filepath.Join(b.dir, strconv.Itoa(len(b.made)))
	cmd := exec.Command(tool, append(args, "-o", path, ".")...)
	cmd.Dir, cmd.Env = folder, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build %s: %w\n%s", folder, err, out)
	}
	b.made[key] = path
	return path, nil
}

// remove takes away what was built.
func (b *built) remove() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.dir != "" {
		_ = os.RemoveAll(b.dir) // a temporary folder
	}
}
