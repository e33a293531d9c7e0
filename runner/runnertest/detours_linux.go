package runnertest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/record"
)

// detourCases say that other bytes are not reached by ways around a bound name:
// around the last look, around its folder, around the descriptor.
func detourCases() []Case {
	return []Case{
		{"a bound script is not executed when its interpreter was moved", true, movedInterpreter},
		{"a bound script is not executed when the link to its interpreter was moved", true, movedInterpreterLink},
		{"a bound script that executes itself goes on", false, executesItself},
		{"other bytes are not executed through a descriptor of the place", true, placeDescriptor},
		{"a bound file is the approved one behind a folder that became a link", true, folderBecameLink},
		{"a bound file is the approved one from a folder that was moved", true, folderMoved},
	}
}

// wantDrift wants a denied run whose denials are executions of one name.
func (r Result) wantDrift(name string, err error) error {
	if err != nil {
		return err
	}
	d := r.End.Denials
	if r.End.Outcome != record.OutcomeDenied || strings.Contains(r.Out, "evil") || len(d) != 1 || d[0].Code != jobspec.CodeDriftScript || d[0].Target != name {
		return fmt.Errorf("%+v, output %q, %s", r.End, r.Out, r.Err)
	}
	return nil
}

// ownShell is a shell in the workspace, and a script that it interprets.
func (l *Lab) ownShell(cwd string) (shell string, j Job) {
	text, err := os.ReadFile("/bin/sh")
	must(err)
	shell = l.file(cwd+"/mysh", string(text), 0o755)
	return shell, command(l.file(cwd+"/job.sh", "#!"+shell+"\n[ \"$1\" ] && echo $1 && exit\n: > started\nuntil [ -e moved ]; do sleep 0.02; done\nexec ./job.sh again\n", 0o755)).in(jobspec.Workspace, cwd)
}

func movedInterpreter(l *Lab) error {
	cwd := l.folder("ws")
	shell, j := l.ownShell(cwd)
	echo, err := os.ReadFile("/bin/echo")
	must(err)
	l.file(cwd+"/evil", string(echo), 0o755)
	r, err := l.onceStarted(j, func() { must(os.Rename(cwd+"/evil", shell)) })
	return r.wantDrift(shell, err)
}

// movedInterpreterLink has an interpreter of the system behind a link of the
// workspace, as in a venv.
func movedInterpreterLink(l *Lab) error {
	cwd := l.folder("ws")
	real, err := filepath.EvalSymlinks("/bin/sh")
	must(err)
	shell, j := l.ownShell(cwd)
	must(os.Remove(shell))
	must(os.Symlink(real, shell))
	r, err := l.onceStarted(j, func() {})
	if err := r.wantOut("again\n", err); err != nil {
		return err
	}
	must(errors.Join(os.Remove(cwd+"/started"), os.Remove(cwd+"/moved")))
	r, err = l.onceStarted(j, func() {
		must(os.Symlink("/bin/echo", cwd+"/evil"))
		must(os.Rename(cwd+"/evil", shell))
	})
	return r.wantDrift(real, err)
}

// onceStarted runs a job and lets change happen when it has made the file
// "started"; then "moved" tells it to go on.
func (l *Lab) onceStarted(j Job, change func()) (Result, error) {
	var side sync.WaitGroup
	defer side.Wait()
	return l.release(j, func() {
		side.Go(func() {
			for range 1000 {
				time.Sleep(10 * time.Millisecond)
				if _, err := os.Stat(j.cwd + "/started"); err == nil {
					change()
					l.file(j.cwd+"/moved", "", 0o644)
					return
				}
			}
		})
	})
}

func executesItself(l *Lab) error {
	_, j := l.ownShell(l.folder("ws"))
	r, err := l.onceStarted(j, func() {})
	return r.wantOut("again\n", err)
}

// placeDescriptor executes by a descriptor that an open with O_PATH gave, which
// needs no answer.
func placeDescriptor(l *Lab) error {
	if _, err := tool("python3"); err != nil {
		return err
	}
	cwd := l.folder("ws")
	text := "#!/usr/bin/env python3\nimport os\nfd = os.open('say', os.O_PATH)\nos.execve(fd, ['say', 'evil'], {})\n"
	echo, err := os.ReadFile("/bin/echo")
	must(err)
	say := l.file(cwd+"/say", "#!/bin/sh\necho good\n", 0o755)
	j := command(l.file(cwd+"/job.py", text, 0o755)).in(jobspec.ReadOnly, cwd)
	j.files = []string{"say"}
	r, err := l.release(j, func() { must(os.Rename(l.file(cwd+"/other", string(echo), 0o755), say)) })
	return r.wantDrift(say, err)
}

// detour is a script that takes in a bound file by way of its own folder.
func (l *Lab) detour(cwd, body string) Job {
	for _, dir := range []string{"bin", "lib", "evil"} {
		l.folder("ws/" + dir)
	}
	l.file(cwd+"/lib/part.sh", "echo good\n", 0o644)
	l.file(cwd+"/evil/part.sh", "echo evil\n", 0o644)
	j := command(l.file(cwd+"/bin/job.sh", "#!/bin/sh\n"+body, 0o755)).in(jobspec.ReadOnly, cwd)
	j.files = []string{"lib/part.sh"}
	return j
}

func folderBecameLink(l *Lab) error {
	cwd := l.folder("ws")
	j := l.detour(cwd, ". \"$(dirname \"$0\")/../lib/part.sh\"\n. ./bin/../lib/part.sh\n. lib/../lib/part.sh\ncd bin\n. ../lib/part.sh\n. ../bin/../lib/part.sh\n. "+cwd+"/bin/../lib//part.sh\n")
	r, err := l.release(j, func() {
		must(os.Rename(cwd+"/lib", cwd+"/gone"))
		must(os.Symlink("evil", cwd+"/lib"))
	})
	return r.wantOut(strings.Repeat("good\n", 6), err)
}

// folderMoved moves the folder that the script stands in to where its neighbour
// is another.
func folderMoved(l *Lab) error {
	cwd := l.folder("ws")
	j := l.detour(cwd, "cd bin\n: > ../started\nuntil [ -e \"$OLDPWD/moved\" ]; do sleep 0.02; done\n. ../lib/part.sh\n. ./../lib/part.sh\n")
	j.tier = jobspec.Workspace
	r, err := l.onceStarted(j, func() {
		must(os.Mkdir(cwd+"/other", 0o755))
		must(os.Rename(cwd+"/evil", cwd+"/other/lib"))
		must(os.Rename(cwd+"/bin", cwd+"/other/bin"))
	})
	return r.wantOut("good\ngood\n", err)
}
