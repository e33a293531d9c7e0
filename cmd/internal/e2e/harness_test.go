//go:build linux

package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/sbxcron/sbxcron/cmd/internal/api"
	"github.com/sbxcron/sbxcron/cmd/internal/client"
)

// jobUser is the account that jobs run as when the tests run as root.
const jobUser = "nobody"

const jobUID = 65534

// house is one installation with its owner and a folder for the job's files.
type house struct {
	t    *testing.T
	dir  string // parent of everything
	root string // --root
	key  string // the owner's key
	work string // workspaces; belongs to the job's account
	env  []string
	wrap []string // a program that starts every command, in a place of its own
	args []string // flags of the service
	exe  string   // the program; "": commandLine for commands, this binary for the service
}

// newHouse makes an installation with an owner "alice".
func newHouse(t *testing.T) *house {
	t.Helper()
	h := emptyHouse(t)
	h.init()
	return h
}

// init makes the installation.
func (h *house) init() {
	h.t.Helper()
	args := []string{"init", "--principal", "alice", "--new-key", h.key, "--no-passphrase"}
	if os.Getuid() == 0 {
		args = append(args, "--run-as", jobUser)
	}
	h.must(args...)
}

// emptyHouse has folders and no installation.
func emptyHouse(t *testing.T) *house {
	t.Helper()
	if _, err := exec.LookPath("bwrap"); err != nil {
		t.Skip("needs bwrap")
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	h := &house{t: t, dir: dir, root: filepath.Join(dir, "root"), key: filepath.Join(dir, "key"), work: filepath.Join(dir, "work")}
	for p := dir; p != "/" && p != "/tmp"; p = filepath.Dir(p) {
		if info, err := os.Stat(p); err == nil && info.Mode().Perm()&0o005 == 0 {
			_ = os.Chmod(p, 0o755) // so that the job's account reaches its files; not ours: it is open already
		}
	}
	h.mkdir("")
	return h
}

// mkdir makes a folder below work that belongs to the job's account.
func (h *house) mkdir(name string) string {
	h.t.Helper()
	path := filepath.Join(h.work, name)
	if err := os.MkdirAll(path, 0o755); err != nil {
		h.t.Fatal(err)
	}
	h.own(path)
	return path
}

func (h *house) own(path string) {
	h.t.Helper()
	if os.Getuid() == 0 {
		if err := os.Lchown(path, jobUID, jobUID); err != nil {
			h.t.Fatal(err)
		}
	}
}

// put writes a file of the job.
func (h *house) put(path, text string, mode os.FileMode) string {
	h.t.Helper()
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		h.t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		h.t.Fatal(err)
	}
	h.own(path)
	return path
}

// script makes a workspace with an executable job.sh and returns the folder.
func (h *house) script(name, body string) string {
	h.t.Helper()
	dir := h.mkdir(name)
	h.put(filepath.Join(dir, "job.sh"), "#!/bin/sh\n"+body+"\n", 0o755)
	return dir
}

// result is how a command ended.
type result struct {
	code     int
	out, err string
}

// noRaceWait: a program built with -race sleeps a second before it ends, else.
const noRaceWait = "GORACE=atexit_sleep_ms=0"

// command is one call of the program, not started.
func (h *house) command(env []string, args ...string) *exec.Cmd {
	exe := h.exe
	switch {
	case exe != "":
	case len(args) > 0 && args[0] == "daemon":
		exe = own()
	default:
		exe = commandLine()
	}
	call := append(append(slices.Clone(h.wrap), exe, "--root", h.root), args...)
	cmd := exec.Command(call[0], call[1:]...)
	cmd.Env = append(append([]string{envMain + "=1", "PATH=/usr/local/bin:/usr/bin:/bin", noRaceWait}, h.env...), env...)
	cmd.Dir = h.dir
	return cmd
}

// run calls the program and waits at most a minute.
func (h *house) run(args ...string) result { return h.runEnv(nil, args...) }

func (h *house) runEnv(env []string, args ...string) result {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	cmd := h.command(env, args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Start(); err != nil {
		h.t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	select {
	case err := <-done:
		return result{exitCode(err), out.String(), errs.String()}
	case <-ctx.Done():
		cmd.Process.Kill()
		<-done
		h.t.Fatalf("%q hangs\n%s%s", args, out.String(), errs.String())
		return result{}
	}
}

func exitCode(err error) int {
	if err == nil {
		return 0
	}
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		if ws, ok := exit.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
			return 128 + int(ws.Signal())
		}
		return exit.ExitCode()
	}
	return -1
}

// must calls the program and wants exit 0.
func (h *house) must(args ...string) string {
	h.t.Helper()
	r := h.run(args...)
	if r.code != 0 {
		h.t.Fatalf("%q: exit %d\n%s%s", args, r.code, r.out, r.err)
	}
	return r.out
}

// add adds a job that is never due by itself soon.
func (h *house) add(name, cwd, tier string, argv ...string) {
	h.t.Helper()
	args := []string{"add", name, "--schedule", "0 0 1 1 *", "--yes", "--tier", tier}
	if cwd != "" {
		args = append(args, "--cwd", cwd)
	}
	h.must(append(append(args, "--"), argv...)...)
}

// item reads {"schema":..., "item":...} and items reads {"items":[...]}.
func item[T any](h *house, args ...string) T {
	h.t.Helper()
	var doc struct {
		Item T `json:"item"`
	}
	h.decode(h.must(append(args, "--json")...), &doc)
	return doc.Item
}

func items[T any](h *house, args ...string) []T {
	h.t.Helper()
	var doc struct {
		Items []T `json:"items"`
	}
	h.decode(h.must(append(args, "--json")...), &doc)
	return doc.Items
}

func (h *house) decode(text string, v any) {
	h.t.Helper()
	if err := json.Unmarshal([]byte(text), v); err != nil {
		h.t.Fatalf("decode %q: %v", text, err)
	}
}

// failure is the error document of a command that must fail.
func (h *house) failure(args ...string) api.Error {
	h.t.Helper()
	r := h.run(append(args, "--json")...)
	var e api.Error
	if r.code == 0 {
		h.t.Fatalf("%q: exit 0, want a refusal\n%s", args, r.out)
	}
	lines := strings.Split(strings.TrimSpace(r.err), "\n")
	h.decode(lines[len(lines)-1], &e)
	if e.Exit != r.code && args[0] != "run" {
		h.t.Errorf("%q: the document says exit %d, the process %d", args, e.Exit, r.code)
	}
	return e
}

// service is a running service.
type service struct {
	h    *house
	cmd  *exec.Cmd
	done chan error
	log  *journal
}

// journal is what the service says, to be read while it goes on.
type journal struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(p)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.String()
}

// start starts the service and waits until it answers.
func (h *house) start(env ...string) *service {
	h.t.Helper()
	s := h.launch(env...)
	s.ready()
	return s
}

// launch starts the service and does not wait.
func (h *house) launch(env ...string) *service {
	h.t.Helper()
	s := &service{h: h, done: make(chan error, 1), log: &journal{}}
	s.cmd = h.command(env, append([]string{"daemon"}, h.args...)...)
	s.cmd.Stderr = s.log
	if err := s.cmd.Start(); err != nil {
		h.t.Fatal(err)
	}
	go func() { s.done <- s.cmd.Wait() }()
	h.t.Cleanup(s.kill)
	return s
}

func (s *service) ready() {
	s.h.t.Helper()
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if s.ended() {
			s.h.t.Fatalf("the service ended: %s", s.log)
		}
		if s.reachable() {
			return
		}
	}
	s.h.t.Fatalf("the service does not answer: %s", s.log)
}

// reachable asks whether the service answers, without a process for it where the
// tests see the socket as its commands do.
func (s *service) reachable() bool {
	if len(s.h.wrap) > 0 {
		return strings.Contains(s.h.run("status", "--json").out, `"service":true`)
	}
	c, err := client.Dial(s.h.t.Context(), s.h.dirs().Socket(), os.Getuid())
	if err != nil {
		return false
	}
	defer c.Close()
	status, err := c.Status(s.h.t.Context())
	return err == nil && status.Service
}

func (s *service) ended() bool {
	select {
	case err := <-s.done:
		s.done <- err
		return true
	default:
		return false
	}
}

// stop ends the service with TERM and returns its exit status.
func (s *service) stop() int {
	s.h.t.Helper()
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		s.h.t.Fatal(err)
	}
	return s.wait(90 * time.Second)
}

func (s *service) wait(limit time.Duration) int {
	s.h.t.Helper()
	select {
	case err := <-s.done:
		s.done <- err
		return exitCode(err)
	case <-time.After(limit):
		s.h.t.Fatalf("the service does not end: %s", s.log)
		return -1
	}
}

// kill is kill -9.
func (s *service) kill() {
	_ = s.cmd.Process.Kill() // it may have ended
	err := <-s.done
	s.done <- err
}
