package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"

	"github.com/sbxcron/sbxcron/jobspec"
)

// attemptsName is the program that makes the attempts of doctor --escape.
const attemptsName = "sbxcron-escape"

func ownProgram() (string, error) {
	self, err := os.Executable()
	if err == nil {
		self, err = filepath.EvalSymlinks(self)
	}
	if err != nil {
		return "", fmt.Errorf("find this program: %w", err)
	}
	return self, nil
}

// attemptsProgram finds it beside this program, and nowhere else: nothing that a
// variable or a folder of the caller names is run.
func attemptsProgram() (string, error) {
	self, err := ownProgram()
	if err != nil {
		return "", err
	}
	path := filepath.Join(filepath.Dir(self), attemptsName)
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() || info.Mode()&0o111 == 0 {
		return "", ownError(codeUsage, jobspec.ClassUsage, "build it with \"make build\" and install it beside sbxcron", "%s is not a program", jobspec.Quote(path))
	}
	return path, nil
}

// accountOf is the caller's own account, but for a name that root gives.
func accountOf(name string) (uid, gid int, system bool, err error) {
	uid, gid = os.Getuid(), os.Getgid()
	if uid != 0 || name == "" {
		return uid, gid, uid == 0, nil
	}
	u, err := user.Lookup(name)
	if err != nil {
		return 0, 0, true, ownError(codeUsage, jobspec.ClassUsage, "name another one with --run-as", "no account %s on this machine", jobspec.Quote(name))
	}
	if uid, err = strconv.Atoi(u.Uid); err == nil {
		gid, err = strconv.Atoi(u.Gid)
	}
	return uid, gid, true, err
}

// tryElsewhere runs "sbxcron try" for a job.toml. Its status says how the job
// ended, which its document does too.
func tryElsewhere(ctx context.Context, path string, job []byte) ([]byte, error) {
	self, err := ownProgram()
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(path, job, 0o600); err != nil {
		return nil, err
	}
	defer os.Remove(path)
	cmd := exec.CommandContext(ctx, self, "try", "--json", "-f", path)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	err = cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && out.Len() == 0 {
		return nil, fmt.Errorf("try: exit status %d: %s", exit.ExitCode(), bytes.TrimSpace(said.Bytes()))
	} else if !ok && err != nil {
		return nil, fmt.Errorf("try: %w", err)
	}
	return out.Bytes(), nil
}
