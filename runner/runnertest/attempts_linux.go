package runnertest

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/record"
	"github.com/sbxcron/sbxcron/runner"
	"github.com/sbxcron/sbxcron/runner/escape"
)

// attemptCases run the whole list of escapes, one job a tier.
func attemptCases() []Case {
	var all []Case
	for _, tier := range []jobspec.Tier{jobspec.Scratch, jobspec.ReadOnly, jobspec.Workspace} {
		all = append(all, Case{attemptsOf(tier), false, func(l *Lab) error {
			return judged(l.Attempts(tier))
		}})
	}
	return all
}

// judged is the error of a report.
func judged(report escape.Report, err error) error {
	if faults := report.Faults(); len(faults) > 0 {
		err = errors.Join(err, fmt.Errorf("%d of %d attempts:\n%s", len(faults), len(report.Rows), strings.Join(faults, "\n")))
	}
	return err
}

// attemptsBehind makes the attempts of a job that may reach a host by the proxy.
func attemptsBehind(l *Lab) error {
	return judged(l.attempts(jobspec.Workspace, jobspec.NetProxy, escape.Orders))
}

// attemptsOf names the case of a tier.
func attemptsOf(t jobspec.Tier) string {
	return "no attempt of the list of escapes gets out of tier " + t.String()
}

// NewLab is a place to run jobs on a backend, for tests of the backend's own.
func NewLab(t *testing.T, b runner.Backend) (*Lab, error) {
	shop, err := newShop(t)
	if err != nil {
		return nil, err
	}
	return shop.lab(t, b)
}

// escapeProgram builds the program of attempts, once a shop.
func (s *shop) escapeProgram() (string, error) {
	path := filepath.Join(filepath.Dir(s.attempt), "sbxcron-escape")
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	cmd := exec.Command("go", "build", "-o", path, "github.com/sbxcron/sbxcron/cmd/sbxcron-escape")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the program of attempts: %w: %s", err, out)
	}
	return path, nil
}

// Attempts makes all attempts of a tier and judges them.
func (l *Lab) Attempts(tier jobspec.Tier) (escape.Report, error) {
	return l.attempts(tier, jobspec.NetNone, escape.Orders)
}

// AttemptsAtOnce makes all attempts of a tier but those that go beyond in one
// run, for backends with layers taken away. What the record says of such a run is
// of no interest, and neither is how it ends.
func (l *Lab) AttemptsAtOnce(tier jobspec.Tier) (escape.Report, error) {
	return l.attempts(tier, jobspec.NetNone, func(w escape.Where, all []escape.Attempt, targets map[string]string) []escape.Order {
		o := escape.Order{Where: w, Targets: targets}
		for _, a := range all {
			if !a.Beyond() {
				o.Only = append(o.Only, a.ID)
			}
		}
		return []escape.Order{o}
	})
}

type divide func(escape.Where, []escape.Attempt, map[string]string) []escape.Order

func (l *Lab) attempts(tier jobspec.Tier, net jobspec.Net, by divide) (report escape.Report, err error) {
	program, err := l.escapeProgram()
	if err != nil {
		return report, err
	}
	stage, err := escape.NewStage(escape.StageOptions{Program: program, UID: l.account.UID, GID: l.account.GID})
	if err != nil {
		return report, err
	}
	defer func() { err = errors.Join(err, stage.Close()) }()
	where := escape.Where{Tier: tier, Net: net, Arch: runtime.GOARCH, System: os.Geteuid() == 0}
	found := escape.Evidence{Events: escape.Events{}, Targets: stage.Targets()}
	var tried []escape.Attempt
	var ends error
	for _, o := range by(where, escape.Select(where), stage.Targets()) {
		tried = append(tried, o.Attempts()...)
		r, err := l.makeAttempts(o, stage)
		if err != nil {
			return report, err
		}
		said, err := escape.ParseAnswers([]byte(r.Out))
		if err != nil {
			return report, err
		}
		found.Answers = append(found.Answers, said...)
		for _, d := range r.End.Denials {
			found.Events[jobspec.ExpectedDenial{Code: d.Code, Target: d.Target}] += d.Count
		}
		if r.End.Outcome != record.OutcomeSucceeded {
			ends = errors.Join(ends, fmt.Errorf("a run of attempts ended as %s, %v, %v: %s", r.End.Outcome, r.End.Reasons, surprises(r.End.Denials), r.Err))
		}
	}
	if found.Heard, err = stage.Heard(); err == nil {
		found.Changes, err = stage.Changes()
	}
	return escape.Judge(tried, found), errors.Join(err, ends)
}

// makeAttempts runs one order.
func (l *Lab) makeAttempts(o escape.Order, stage *escape.Stage) (Result, error) {
	order, err := json.Marshal(o)
	if err != nil {
		return Result{}, err
	}
	j := command(stage.Program)
	j.tier, j.stdin, j.read = o.Where.Tier, string(order), []string{stage.Shown}
	j.limits, j.denials.Expected = attemptLimits, o.Expected()
	if o.Where.Net == jobspec.NetProxy {
		j.net = &Network{proxy: true, allow: []string{"example.org:443"}} // which nobody asks for
	}
	if j.tier != jobspec.Scratch {
		j.cwd = stage.Work
	}
	return l.run(j)
}

// attemptLimits are small, so that reaching them takes no time.
func attemptLimits(x *jobspec.Limits) {
	x.FileSizeBytes, x.TmpBytes, x.OutputBytes, x.PIDs = 1<<20, 2<<20, 256<<10, 100
}

func surprises(all []record.Denial) []string {
	var list []string
	for _, d := range all {
		if !d.Expected {
			list = append(list, fmt.Sprintf("%d x %s %q", d.Count, d.Code, d.Target))
		}
	}
	return list
}
