package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/sbxcron/sbxcron/cmd/internal/config"
	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/store"
	"github.com/sbxcron/sbxcron/store/storefill"
)

// startTurns is how often a start is measured on each side.
const startTurns = 3

// startWait bounds one start.
const startWait = 10 * time.Minute

// starts measures how long it takes from exec until the first timer is armed: the
// shipped daemon over an installation whose ops are as add writes them, and
// robfig/cron's runner in a process that parses and adds as many schedules. Also what a
// job takes of the heap.
func starts(of size) ([]Item, error) {
	var items []Item
	for _, n := range tableSizes(of.jobs) {
		rows, err := startRows(n)
		if err != nil {
			return nil, fmt.Errorf("start of %d jobs: %w", n, err)
		}
		items = append(items, rows...)
	}
	return items, nil
}

func startRows(n int) ([]Item, error) {
	s, err := newStock(n)
	if err != nil {
		return nil, err
	}
	defer s.close()
	firstOurs, err := s.started() // writes the lines that tell when the ops were accepted
	if err != nil {
		return nil, err
	}
	firstPeer, err := peerStarted(n)
	if err != nil {
		return nil, err
	}
	var ours, used, peer []float64
	for range startTurns {
		began, err := s.started()
		if err != nil {
			return nil, err
		}
		ours, used = append(ours, began.took.Seconds()), append(used, began.used.Seconds())
		took, err := peerStarted(n)
		if err != nil {
			return nil, err
		}
		peer = append(peer, took.Seconds())
	}
	if err := os.Remove(s.conf.RunsDB()); err != nil {
		return nil, err
	}
	anew, err := s.started()
	if err != nil {
		return nil, err
	}
	bytes, err := heapRow(s.conf.Dirs, n)
	if err != nil {
		return nil, err
	}
	return []Item{
		compare("timetable.start_"+sizeName(n), "s", robfigName, ours, peer),
		single("timetable.start_cpu_"+sizeName(n), "s", "the same start by the clock", quantile(used, 0.5), quantile(ours, 0.5), 1),
		single("timetable.start_first_"+sizeName(n), "s", robfigName, firstOurs.took.Seconds(), firstPeer.Seconds(), 1),
		single("timetable.start_anew_"+sizeName(n), "s", robfigName, anew.took.Seconds(), quantile(peer, 0.5), 1),
		bytes,
	}, nil
}

// stock is an installation of many jobs, none of which is due soon.
type stock struct {
	dir  string // of the root
	near string // of the program and the key: no job may have one in /dev
	conf config.Site
}

func newStock(n int) (*stock, error) {
	dir, err := os.MkdirTemp(stockPlace(), "sbxbench-")
	if err != nil {
		return nil, err
	}
	s := &stock{dir: dir}
	if s.near, err = os.MkdirTemp("/tmp", "sbxbench-"); err != nil {
		s.close()
		return nil, err
	}
	if err := s.fill(n); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// stockPlace is memory where there is some: what is measured has a warm page cache.
func stockPlace() string {
	if place := os.Getenv("SBXBENCH_STOCK"); place != "" {
		return place
	}
	if info, err := os.Stat("/dev/shm"); err == nil && info.IsDir() {
		return "/dev/shm"
	}
	return ""
}

func (s *stock) close() {
	_ = os.RemoveAll(s.dir)
	_ = os.RemoveAll(s.near)
}

func (s *stock) root() string { return filepath.Join(s.dir, "root") }

// fill makes one job by add, and all others from its op.
func (s *stock) fill(n int) error {
	for _, dir := range []string{s.dir, s.near} {
		if err := os.Chmod(dir, 0o755); err != nil {
			return err
		}
	}
	key, program := filepath.Join(s.near, "key"), filepath.Join(s.near, "payload")
	code, err := payload()
	if err != nil {
		return err
	}
	if err := os.WriteFile(program, code, 0o755); err != nil {
		return err
	}
	for _, args := range [][]string{
		{"init", "--principal", "bench", "--new-key", key, "--no-passphrase"},
		{"add", launchJob, "--schedule", texts(1)[0], "--tier", "scratch", "--yes", "--", program},
	} {
		cmd, err := sbxcron(s.root(), args...)
		if err != nil {
			return err
		}
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%q: %w\n%s", args, err, out)
		}
	}
	if s.conf, err = config.Find(s.root()); err != nil {
		return err
	}
	source, err := s.source(n)
	if err != nil {
		return err
	}
	return storefill.Chain(s.conf.Dirs, int64(n)+1, source)
}

// source makes ops like the last one of the chain. Each names the one before it by its
// hash. The signature is that of the first for all: a start proves the hashes, and a
// job's own signature is verified when it is due, which none of these is.
func (s *stock) source(n int) (storefill.Source, error) {
	entries, err := store.ReadEntries(s.conf.Dirs)
	if err != nil {
		return storefill.Source{}, err
	}
	last := entries[len(entries)-1]
	like, err := jobspec.DecodeOp(last.Op)
	if err != nil {
		return storefill.Source{}, err
	}
	schedules := texts(n + 2)
	return storefill.Source{
		Op: func(seq int64, prev jobspec.Digest) ([]byte, error) {
			op, spec := *like, *like.Spec
			op.Seq, op.Prev, op.Job = seq, prev, jobspec.Name(fmt.Sprintf("%s-%07d", launchJob, seq))
			spec.Schedule.Cron = schedules[seq]
			op.Spec = &spec
			return op.Encode()
		},
		Sign: func([]byte) ([]byte, error) { return last.Sigs[0], nil },
	}, nil
}

// beginning is what a start took until the timer was armed: by the clock, and of all
// processors together, which other work on the machine changes less.
type beginning struct{ took, used time.Duration }

// started starts the service, ends it, and says what that took.
func (s *stock) started() (b beginning, err error) {
	cmd, err := sbxcron(s.root(), "daemon")
	if err != nil {
		return b, err
	}
	said := &strings.Builder{}
	cmd.Stderr = said
	begin := time.Now()
	if err := cmd.Start(); err != nil {
		return b, err
	}
	ended := make(chan struct{})
	go func() { _ = cmd.Wait(); close(ended) }()
	if b.took, err = untilArmed(cmd, begin, ended); err == nil {
		b.used, err = processorTime(cmd.Process.Pid)
	}
	_ = cmd.Process.Signal(syscall.SIGTERM) // it may have ended
	<-ended
	if err != nil {
		return b, fmt.Errorf("%w\n%s", err, said.String())
	}
	return b, nil
}

// untilArmed waits until a timer of the process is set.
func untilArmed(cmd *exec.Cmd, begin time.Time, ended <-chan struct{}) (time.Duration, error) {
	for {
		if timerArmed(cmd.Process.Pid) {
			return time.Since(begin), nil
		}
		select {
		case <-ended:
			return 0, fmt.Errorf("the service ended before it armed a timer")
		case <-time.After(2 * time.Millisecond):
		}
		if time.Since(begin) > startWait {
			return 0, fmt.Errorf("no timer was armed in %s", startWait)
		}
	}
}

// timerArmed reports whether a process has a timerfd that is set (proc_pid_fdinfo(5)).
func timerArmed(pid int) bool {
	fds, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	if err != nil {
		return false
	}
	for _, fd := range fds {
		if to, err := os.Readlink(fd); err != nil || to != "anon_inode:[timerfd]" {
			continue
		}
		info, err := os.ReadFile(fmt.Sprintf("/proc/%d/fdinfo/%s", pid, filepath.Base(fd)))
		if err == nil && strings.Contains(string(info), "it_value:") && !strings.Contains(string(info), "it_value: (0, 0)") {
			return true
		}
	}
	return false
}

// peerStarted is the same of the peer: it answers once its loop waits.
func peerStarted(n int) (time.Duration, error) {
	begin := time.Now()
	l, err := startLoop(peerKind, n)
	if err != nil {
		return 0, err
	}
	took := time.Since(begin)
	l.close()
	return took, nil
}
