package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/sbxcron/sbxcron/cmd/internal/api"
)

// pairing measures ours and the peer in turn, after a few turns that fill caches.
func pairing(pairs int, ours, peer func() (float64, error)) (mine, theirs []float64, err error) {
	warm := min(3, pairs)
	for i := range pairs + warm {
		a, err := ours()
		if err != nil {
			return nil, nil, err
		}
		b, err := peer()
		if err != nil {
			return nil, nil, err
		}
		if i >= warm {
			mine, theirs = append(mine, a), append(theirs, b)
		}
	}
	return mine, theirs, nil
}

// add adds a job by the command line, as a person would.
func (s *site) add(name string, args ...string) error {
	cmd, err := sbxcron(s.root(), append([]string{"add", name, "--yes"}, args...)...)
	if err != nil {
		return err
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("add %s: %w\n%s", name, err, out)
	}
	return nil
}

// offset is the wall clock less the clock that payloads read.
func offset() (time.Duration, error) {
	mono, err := monotonic()
	if err != nil {
		return 0, err
	}
	return time.Duration(time.Now().UnixNano()) - mono, nil
}

// began is when the payload of a run read the clock, on the wall clock.
func (s *site) began(run string, off time.Duration) (time.Time, error) {
	out, err := s.service.Output(context.Background(), run, "out", 0)
	if err != nil {
		return time.Time{}, err
	}
	defer out.Close()
	wrote, err := io.ReadAll(out)
	if err != nil {
		return time.Time{}, err
	}
	ms, err := since(0, wrote)
	if err != nil {
		return time.Time{}, err
	}
	return time.Unix(0, int64(ms*float64(time.Millisecond))+int64(off)), nil
}

// ended waits until so many runs of the schedule have ended, and lists them.
func (s *site) ended(n int, limit time.Duration) ([]api.Run, error) {
	var runs []api.Run
	for end := time.Now().Add(limit); time.Now().Before(end); time.Sleep(250 * time.Millisecond) {
		all, err := s.service.History(context.Background(), api.HistoryQuery{Limit: 1000})
		if err != nil {
			return nil, err
		}
		runs = runs[:0]
		for _, r := range all {
			if r.Trigger == "schedule" && r.Outcome != api.Running {
				runs = append(runs, r)
			}
		}
		if len(runs) >= n {
			return runs, nil
		}
	}
	return nil, fmt.Errorf("%d of %d runs ended within %s", len(runs), n, limit)
}

// succeeded refuses a measurement of runs that did something else.
func succeeded(runs []api.Run) error {
	for _, r := range runs {
		if r.Outcome != "succeeded" {
			return fmt.Errorf("run %s of job %s: %s %v", r.Run, r.Job, r.Outcome, r.Reasons)
		}
	}
	return nil
}

// plainly starts a program without any sandbox and gives its standard output.
func plainly(program string) (*os.Process, *os.File, error) {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil, nil, err
	}
	defer null.Close()
	read, write, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	defer write.Close()
	proc, err := os.StartProcess(program, []string{program}, &os.ProcAttr{Dir: "/", Env: []string{}, Files: []*os.File{null, write, null}})
	if err != nil {
		read.Close()
		return nil, nil, err
	}
	return proc, read, nil
}

// told is what such a program said of the time at which it ran.
func told(proc *os.Process, from *os.File) (time.Duration, error) {
	defer from.Close()
	wrote, err := io.ReadAll(from)
	if err != nil {
		return 0, err
	}
	if state, err := proc.Wait(); err != nil || !state.Success() {
		return 0, fmt.Errorf("the payload ended with %v, %v", state, err)
	}
	ms, err := since(0, wrote)
	return time.Duration(ms * float64(time.Millisecond)), err
}

// numbered are names of jobs.
func numbered(n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf("%s-%04d", strings.ToLower(launchJob), i)
	}
	return all
}
