package bwrap

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/runner"
	"github.com/sbxcron/sbxcron/runner/escape"
	"github.com/sbxcron/sbxcron/runner/runnertest"
	"github.com/sbxcron/sbxcron/runner/stub"
	"golang.org/x/sys/unix"
)

// ablated is the backend with layers taken away from finished plans, between the
// service and bwrap. The shipped program has nothing of this: bwrap is replaced by
// this test's own program, which edits what it was handed (see filter).
type ablated struct {
	*Backend
	without []escape.Layer
}

// Prepare computes which rows of the stub's table make and measure the layers.
func (a *ablated) Prepare(ctx context.Context, p *runner.Plan) (runner.Armed, error) {
	m, err := machine()
	if err != nil {
		return nil, err
	}
	table, err := p.Steps(m)
	if err != nil {
		return nil, err
	}
	f := filter{Layers: a.without}
	for i, r := range table.Rows() {
		if slices.ContainsFunc(a.without, func(l escape.Layer) bool { return belongs(l, r) }) {
			f.Rows = append(f.Rows, i)
		}
	}
	if slices.Contains(a.without, escape.Seccomp) {
		f.Rows = append(f.Rows, listenerRows(table)...)
	}
	prog, err := f.program()
	if err != nil {
		return nil, err
	}
	a.mu.Lock()
	a.opened = prog
	a.mu.Unlock()
	if slices.Contains(a.without, escape.Files) {
		leakAgain()
	}
	return a.Backend.Prepare(ctx, p)
}

// leakAgain lets what the stage leaves open be inherited. As root the service has
// marked all that is open close-on-exec before (runner/pin); a leak that comes
// after that must be held by the stub.
func leakAgain() {
	for fd := escape.LeakedFD; fd < escape.LeakedFD+16; fd++ {
		_, _ = unix.FcntlInt(uintptr(fd), unix.F_SETFD, 0) // most are not open
	}
}

// belongs reports whether a row makes or measures a layer.
func belongs(l escape.Layer, r stub.Row) bool {
	switch l {
	case escape.Landlock:
		return r.Layer == runner.LayerLandlock
	case escape.Seccomp:
		return r.Layer == runner.LayerSeccomp
	case escape.NetNS:
		return r.Layer == runner.LayerNetNS
	case escape.UserNS:
		return r.Layer == runner.LayerUserNS
	case escape.Caps:
		return r.Layer == runner.LayerCaps
	case escape.Rlimits:
		return r.Layer == runner.LayerRlimits || r.Name == "prlimit64"
	case escape.Files:
		return r.Layer == runner.LayerFiles || r.Name == "close_range"
	case escape.ReadOnly:
		return r.Layer == runner.LayerMounts && r.Name == "openat"
	}
	return false
}

// listenerRows are the rows of the second filter.
func listenerRows(t *stub.Table) []int {
	var all []int
	for i, r := range t.Rows() {
		if r.Layer == runner.LayerListener {
			all = append(all, i)
		}
	}
	return all
}

// ablations are what is taken away: each layer by itself, and sets that show that
// the layers which an attempt claims are all that stop it.
func ablations() [][]escape.Layer {
	var all [][]escape.Layer
	for _, l := range escape.Removable() {
		all = append(all, []escape.Layer{l})
	}
	for _, set := range []string{"seccomp capabilities", "seccomp landlock", "seccomp netns", "netns landlock", "seccomp userns", "userns landlock", "read_only landlock",
		"view landlock", "seccomp view", "masks landlock", "fds landlock", "seccomp userns landlock", "seccomp netns landlock"} {
		var layers []escape.Layer
		for _, word := range strings.Fields(set) {
			layers = append(layers, escape.Layer(word))
		}
		all = append(all, layers)
	}
	return all
}

// Every attempt says which layers stop it. With a set of layers taken away it
// must get through if the set holds all of them, and be stopped if it does not.
func TestTheLayersOfAttemptsAreThoseThatStopThem(t *testing.T) {
	lab, err := runnertest.NewLab(t, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, without := range ablations() {
		t.Run(fmt.Sprint(without), func(t *testing.T) {
			lab.Backend = &ablated{Backend: open(t), without: without}
			report, err := lab.AttemptsAtOnce(jobspec.Workspace)
			if len(report.Rows) == 0 {
				t.Fatal(err)
			}
			for _, row := range report.Rows {
				a := row.Attempt
				want := escape.Stopped
				if !slices.ContainsFunc(a.Layers, func(l escape.Layer) bool { return !slices.Contains(without, l) }) {
					want = escape.Open
				}
				got := row.Verdict
				if got == escape.Odd {
					got = escape.Stopped
				}
				if got != want && !(want == escape.Open && a.IfThere()) {
					t.Errorf("%s %s (%s): %s, said %q %s, want %s: its layers are %s", a.ID, a.What, a.Do, row.Verdict, row.Said, row.Detail, want, a.Layers)
				}
			}
		})
	}
}
