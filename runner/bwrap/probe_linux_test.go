package bwrap

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/runner"
)

func TestProbeRunsItsCanary(t *testing.T) {
	b, err := New(Options{RunDir: t.TempDir(), Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	said := b.Probe(t.Context())
	if !said.Usable {
		t.Fatalf("%+v", said)
	}
	t.Logf("%+v", said)
}

// The answer is kept for all jobs. The one that asked may be held, removed or
// replaced while the canary runs.
func TestAProbeOutlivesTheJobThatAsked(t *testing.T) {
	b := open(t)
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if said := b.Probe(ctx); !said.Usable || len(said.Needs) != 0 {
		t.Errorf("%+v", said)
	}
}

// A canary can fail because somebody uses up what it needs. That must not bring
// those who accept a weaker sandbox into it, nor refuse those who do not.
func TestAMomentDoesNotMakeAMachineWeaker(t *testing.T) {
	failed, other := &runner.Refusal{Reason: jobspec.CodeSbxSetupFailed}, &runner.Refusal{Reason: jobspec.CodeSbxResource}
	old := &problem{code: jobspec.CodeSbxFeatureMissing, lasting: true}
	for name, c := range map[string]struct {
		whole  []error // one call after the other
		weaker error
		needs  bool
		want   error
	}{
		"it works":                   {[]error{nil}, nil, false, nil},
		"it works a moment later":    {[]error{failed, nil}, nil, false, nil},
		"it fails before and after":  {[]error{failed, failed}, nil, true, nil},
		"it fails in another way":    {[]error{other}, nil, false, other},
		"it then fails another way":  {[]error{failed, other}, nil, false, other},
		"the weaker one fails, too":  {[]error{failed}, errors.New("no"), false, failed},
		"the program is too old":     {[]error{failed}, old, false, old},
		"the weaker one is refused":  {[]error{failed}, other, false, failed},
		"no refusal, but a failure":  {[]error{errors.New("x")}, nil, false, errors.New("x")},
		"a failure after the weaker": {[]error{failed, errors.New("x")}, nil, false, errors.New("x")},
	} {
		n := 0
		needs, err := needsWeaker(func() error { n++; return c.whole[n-1] }, func() error { return c.weaker })
		same := err == nil && c.want == nil || err != nil && c.want != nil && err.Error() == c.want.Error()
		if needs != c.needs || !same || n != len(c.whole) {
			t.Errorf("%s: %v, %v after %d", name, needs, err, n)
		}
	}
}
