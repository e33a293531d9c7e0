package bwrap

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"

	"github.com/sbxcron/sbxcron/runner"
	"github.com/sbxcron/sbxcron/runner/cgroup"
	"github.com/sbxcron/sbxcron/runner/internal/ends"
	"github.com/sbxcron/sbxcron/runner/stub"
)

// pipes are the service's ends.
type pipes struct {
	out, err, status, json *os.File // read
	barrier                *os.File // write
}

func (p *pipes) close() { closeAll(p.out, p.err, p.status, p.json, p.barrier) }

// launch starts bwrap for a blueprint with the compiled table.
func (b *Backend) launch(prog *program, p *runner.Blueprint, view procfs, table *stub.Table, guards []guarded, leaf *cgroup.Leaf) (*os.Process, *pipes, error) {
	var fs files
	defer fs.close()
	ours, err := b.inherit(&fs, p, table)
	if err != nil {
		ours.close()
		return nil, nil, err
	}
	argv, err := b.arguments(&fs, p, view, guards, ours)
	if err != nil {
		ours.close()
		return nil, nil, err
	}
	proc, err := b.spawn.startIn(leaf, prog, argv, fs.list, credential(p.Account))
	runtime.KeepAlive(guards)
	if err != nil {
		ours.close()
		return nil, nil, fmt.Errorf("start bwrap: %w", err)
	}
	return proc, ours, nil
}

// inherit puts the files with fixed numbers first: 0, 1, 2, then the stub's.
func (b *Backend) inherit(fs *files, p *runner.Blueprint, table *stub.Table) (*pipes, error) {
	ours := &pipes{}
	image, err := table.Encode()
	if err != nil {
		return ours, err
	}
	defer clear(image) // it may hold credentials
	stdin, err := ends.Stdin(p.Stdin)
	if err != nil {
		return ours, err
	}
	fs.take(stdin)
	for _, end := range []struct {
		name   string
		ours   **os.File
		weRead bool
	}{{"out", &ours.out, true}, {"err", &ours.err, true}, {"table", nil, false}, {"status", &ours.status, true}, {"barrier", &ours.barrier, false}} {
		if end.ours == nil {
			if _, err := fs.data(end.name, image); err != nil {
				return ours, err
			}
			continue
		}
		mine, theirs, err := ends.Pipe(end.name, end.weRead)
		if err != nil {
			return ours, err
		}
		*end.ours = mine
		fs.take(theirs)
	}
	return ours, nil
}

// arguments adds the remaining files and hands all options over in one of them:
// what stands on a command line is readable for every process of the machine.
func (b *Backend) arguments(fs *files, p *runner.Blueprint, view procfs, guards []guarded, ours *pipes) ([]string, error) {
	mine, theirs, err := ends.Pipe("json", true)
	if err != nil {
		return nil, err
	}
	ours.json = mine
	words, err := commandLine(p, surroundings{proc: view, guards: guards})
	if err != nil {
		return nil, err
	}
	args, err := fs.number(words, supply{pins: p.Pins, guards: guards, stub: b.stub.Open, status: fs.take(theirs)})
	if err != nil {
		return nil, err
	}
	fd, err := fs.data("args", []byte(strings.Join(args, "\x00")+"\x00"))
	if err != nil {
		return nil, err
	}
	return []string{"bwrap", "--args", fd, "--", runner.StubPath}, nil
}

// Line is bwrap's option list for a plan without the stub, and the files that
// the options name by their position: what a benchmark holds a run against. The
// inherited files come first, and the last of them takes bwrap's status
// documents. It starts nothing. The caller calls release after the start.
func (b *Backend) Line(plan *runner.Plan, inherited ...*os.File) (args []string, list []*os.File, release func(), err error) {
	p := plan.Blueprint()
	words, err := commandLine(p, surroundings{proc: procfs{masks: b.masks}, bare: true})
	if err != nil {
		return nil, nil, nil, err
	}
	fs := &files{list: inherited}
	args, err = fs.number(words, supply{pins: p.Pins, status: strconv.Itoa(len(inherited) - 1)})
	if err != nil {
		fs.close()
		return nil, nil, nil, err
	}
	return args, fs.list, fs.close, nil
}
