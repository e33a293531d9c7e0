package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/sbxcron/sbxcron/cmd/internal/client"
	"github.com/sbxcron/sbxcron/cmd/internal/config"
	"github.com/sbxcron/sbxcron/cmd/internal/examine"
	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/runner"
	"github.com/sbxcron/sbxcron/runner/bwrap"
	"github.com/sbxcron/sbxcron/runner/pin"
	"github.com/sbxcron/sbxcron/runner/throwaway"
)

// site is a throw-away installation with a running service.
type site struct {
	dir     string
	flags   []string
	lastOut string // what a payload wrote
	conf    config.Site
	daemon  *exec.Cmd
	service *client.Client
	backend *bwrap.Backend
}

// newSite makes one, with flags for its service.
func newSite(flags ...string) (*site, error) {
	dir, err := os.MkdirTemp("/tmp", "sbxbench-")
	if err != nil {
		return nil, err
	}
	s := &site{dir: dir, flags: flags}
	if err := s.fill(); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

func (s *site) root() string { return filepath.Join(s.dir, "root") }

func (s *site) payload() string { return filepath.Join(s.dir, "payload") }

func (s *site) fill() error {
	if err := os.Chmod(s.dir, 0o755); err != nil {
		return err
	}
	root, program := s.root(), s.payload()
	code, err := payload()
	if err != nil {
		return err
	}
	if err := os.WriteFile(program, code, 0o755); err != nil {
		return err
	}
	key := filepath.Join(s.dir, "key")
	for _, args := range [][]string{
		{"init", "--principal", "bench", "--new-key", key, "--no-passphrase"},
		{"add", launchJob, "--schedule", "0 0 1 1 *", "--tier", "scratch", "--yes", "--", program},
	} {
		cmd, err := sbxcron(root, args...)
		if err != nil {
			return err
		}
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%q: %w\n%s", args, err, out)
		}
	}
	if s.conf, err = config.Find(root); err != nil {
		return err
	}
	if err := s.manyJobs(); err != nil {
		return err
	}
	if s.backend, err = bwrap.New(bwrap.Options{RunDir: s.dir, Now: time.Now}); err != nil {
		return err
	}
	return s.start(root)
}

// manyJobs raises how many jobs the owner may have.
func (s *site) manyJobs() error {
	b, err := os.ReadFile(s.conf.Dirs.Policy())
	if err != nil {
		return err
	}
	lines := strings.Split(string(b), "\n")
	found := false
	for i, l := range lines {
		if strings.HasPrefix(l, "max_jobs") {
			lines[i], found = "max_jobs = 5000", true
		}
	}
	if !found {
		return fmt.Errorf("%s does not say max_jobs", s.conf.Dirs.Policy())
	}
	return os.WriteFile(s.conf.Dirs.Policy(), []byte(strings.Join(lines, "\n")), 0o600)
}

func (s *site) start(root string) error {
	var err error
	if s.daemon, err = sbxcron(root, append([]string{"daemon"}, s.flags...)...); err != nil {
		return err
	}
	if err := s.daemon.Start(); err != nil {
		return err
	}
	for range 200 {
		if s.service, err = client.Dial(context.Background(), s.conf.Socket(), s.conf.UID); err == nil {
			return nil
		}
		time.Sleep(50 * time.Millisecond)
	}
	return fmt.Errorf("the service does not answer: %w", err)
}

// plan makes the plan of the job as the service would.
func (s *site) plan(job string) (*runner.Plan, func(), error) {
	detail, err := s.service.Job(context.Background(), jobspec.Name(job))
	if err != nil {
		return nil, nil, err
	}
	trust, err := s.conf.Trust()
	if err != nil {
		return nil, nil, err
	}
	st, err := trust.Verify(detail.Bytes, detail.Sig, time.Now())
	if err != nil {
		return nil, nil, err
	}
	signed, err := jobspec.ReadSigned(st)
	if err != nil {
		return nil, nil, err
	}
	x := &examine.Examiner{Site: s.conf, Sandbox: s.backend, Cache: pin.NewCache(time.Now), Bwrap: bwrap.Program, Now: time.Now}
	e, err := x.Examine(context.Background(), jobspec.PhaseExplain, examine.Subject{Op: signed.Op(), Signed: signed}, throwaway.First)
	if err != nil {
		return nil, nil, err
	}
	a := runner.Account{UID: e.Account.UID, GID: e.Account.GID, Drop: e.Account.Drop}
	if !a.Drop {
		a.GID = os.Getgid()
	}
	plan, err := runner.NewPlan(runner.PlanInput{Signed: signed, Decision: e.Decision, Pins: e.Pins, Run: "bench",
		Account: a, Outputs: outputs{s}, Host: s.backend.Host()})
	if err != nil {
		e.Close()
		return nil, nil, err
	}
	return plan, e.Close, nil
}

// outputs keeps what a payload writes where released reads it.
type outputs struct{ s *site }

func (o outputs) Create(stream string) (*os.File, error) {
	path := filepath.Join(o.s.dir, "kept-"+stream)
	if stream == "out" {
		o.s.lastOut = path
	}
	return os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
}

// stop ends the service; the files stay.
func (s *site) stop() {
	if s.daemon != nil && s.daemon.Process != nil {
		_ = s.daemon.Process.Signal(syscall.SIGTERM) // it may have ended
		_ = s.daemon.Wait()
	}
	s.daemon = nil
}

func (s *site) close() {
	s.stop()
	if s.backend != nil {
		_ = s.backend.Close()
	}
	_ = os.RemoveAll(s.dir)
}
