package cli

import (
	"context"
	"os/exec"
	"strings"
	"time"
)

// Bounds of one question to a package manager, which is never needed, and of its
// answer.
const (
	packageTime   = 2 * time.Second
	packageAnswer = 64 << 10 // bytes
)

// packageOf is the package that a file belongs to, with its version, "" where no
// package manager of the machine can say. It is shown and decides nothing.
func packageOf(ctx context.Context, path string) string {
	paths := []string{path}
	if short, ok := strings.CutPrefix(path, "/usr"); ok {
		paths = append(paths, short) // dpkg knows files by the name they were packed under
	}
	for _, p := range paths {
		// dpkg takes the name for a pattern: only the whole name in the answer counts.
		line := firstLine(ask(ctx, "/usr/bin/dpkg-query", "-S", "--", p))
		if owner, ok := strings.CutSuffix(line, ": "+p); ok && !strings.ContainsAny(owner, " ,") {
			return firstLine(ask(ctx, "/usr/bin/dpkg-query", "-W", "-f", "${Package} ${Version}", "--", owner))
		}
	}
	return firstLine(ask(ctx, "/usr/bin/rpm", "-qf", "--", path))
}

// ask runs a program of the system with nothing of our environment and returns
// what it prints, "" where it is missing or fails.
func ask(ctx context.Context, program string, args ...string) string {
	ctx, cancel := context.WithTimeout(ctx, packageTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env, cmd.Dir = []string{"LC_ALL=C", "PATH=/usr/bin:/bin"}, "/"
	out, err := cmd.Output()
	if err != nil || len(out) > packageAnswer {
		return ""
	}
	return string(out)
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return line
}
