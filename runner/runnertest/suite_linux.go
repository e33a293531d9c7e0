package runnertest

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/sbxcron/sbxcron/runner"
)

// Case is one promise. Weak names cases that a backend without any sandbox
// breaks: a suite in which those pass does not measure.
type Case struct {
	Name  string
	Weak  bool // an unsandboxed backend fails this case
	Check func(*Lab) error
}

// Missing is the error of a case that needs a tool that is not there.
type Missing struct{ Tool string }

func (m *Missing) Error() string { return m.Tool + " is not installed" }

// Left is the error of a case that is left to a longer run.
type Left struct{ Why string }

func (l *Left) Error() string { return l.Why }

// Run runs every case against backends that open makes. A case that needs a
// capability which the backend does not report is skipped, and says so. TestMain must call
// pin.ChildMain and supervise.ChildMain first.
func Run(t *testing.T, open func() runner.Backend) { RunCases(t, open, Cases()) }

// RunCases runs some of the cases, for a backend under a condition that others
// have nothing to do with.
func RunCases(t *testing.T, open func() runner.Backend, cases []Case) {
	b := open()
	shop, err := newShop(t)
	if err != nil {
		t.Fatal(err)
	}
	said := b.Probe(t.Context())
	shop.weaker = said.Needs
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			if need := needs()[c.Name]; need != "" && said.Usable && !slices.Contains(said.Capabilities, need) {
				t.Skipf("backend %s has no %q", b.Name(), need)
			}
			lab, err := shop.lab(t, b)
			if err != nil {
				t.Fatal(err)
			}
			err = c.Check(lab)
			var missing *Missing
			var left *Left
			if errors.As(err, &missing) || errors.As(err, &left) {
				t.Skip(err)
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
}

// Cases are all cases.
func Cases() []Case {
	var all []Case
	for _, part := range [][]Case{viewCases(), confinementCases(), fileCases(), openingCases(), lifeCases(), byteCases(), nameCases(), detourCases(), scriptCases(), programCases(), escapeCases(), denialCases(), credentialCases(),
		ordinaryCases(), toldCases(), limitCases(), leftCases(), attemptCases()} {
		all = append(all, part...)
	}
	return all
}

// Confinement are the cases about what a job cannot reach or change, with those
// of known ways out.
func Confinement() []Case {
	return slices.Concat(viewCases(), confinementCases(), fileCases(), escapeCases())
}

// Widest are all attempts of the list of escapes in the widest tier.
func Widest() []Case { return attemptCases()[2:] }

// firstError runs checks until one fails.
func firstError(checks ...func() error) error {
	for _, f := range checks {
		if err := f(); err != nil {
			return err
		}
	}
	return nil
}

func wantText(what, got, want string) error {
	if got != want {
		return fmt.Errorf("%s is %q, want %q", what, got, want)
	}
	return nil
}
