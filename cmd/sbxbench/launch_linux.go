package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/runner"
	"github.com/sbxcron/sbxcron/runner/bwrap"
	"github.com/sbxcron/sbxcron/runner/seccomp"
)

const launchJob = "bench"

// launch compares a run by hand through the service, from the request to the
// payload's first instruction with the start record durable, with bwrap given
// the options that the same plan makes, filter included, but without the stub.
func launch(of size) ([]Item, error) {
	pairs := of.pairs
	site, err := newSite()
	if err != nil {
		return nil, err
	}
	defer site.close()
	plan, done, err := site.plan(launchJob)
	if err != nil {
		return nil, err
	}
	defer done()
	bare := func() (float64, error) { return site.bare(plan) }
	ours, peer, err := pairing(pairs, func() (float64, error) { return site.launch(launchJob) }, bare)
	if err != nil {
		return nil, err
	}
	items := []Item{compare("launch.exec", "ms", "bwrap with the plan's options", ours, peer)}
	if ours, peer, err = pairing(pairs, func() (float64, error) { return site.stubbed(plan) }, bare); err != nil {
		return nil, err
	}
	items = append(items, compare("launch.stub", "ms", "bwrap without the stub", ours, peer))
	plain := func() (float64, error) {
		begun, err := monotonic()
		if err != nil {
			return 0, err
		}
		proc, from, err := plainly(site.payload())
		if err != nil {
			return 0, err
		}
		ran, err := told(proc, from)
		return ms(ran - begun), err
	}
	if ours, peer, err = pairing(pairs, func() (float64, error) { return site.armed(plan) }, plain); err != nil {
		return nil, err
	}
	return append(items, compare("launch.armed", "ms", "plain fork and exec", ours, peer)), nil
}

// stubbed builds the sandbox of the plan with the stub, all that the backend does
// around it included, lets the payload go at once and says when it ran.
func (s *site) stubbed(plan *runner.Plan) (float64, error) {
	begun, err := monotonic()
	if err != nil {
		return 0, err
	}
	armed, err := s.backend.Prepare(context.Background(), plan)
	if err != nil {
		return 0, err
	}
	return s.released(armed, begun)
}

// armed is the time from the write to the barrier of a sandbox that stands.
func (s *site) armed(plan *runner.Plan) (float64, error) {
	armed, err := s.backend.Prepare(context.Background(), plan)
	if err != nil {
		return 0, err
	}
	time.Sleep(20 * time.Millisecond)
	begun, err := monotonic()
	if err != nil {
		armed.Discard()
		return 0, err
	}
	return s.released(armed, begun)
}

func (s *site) released(armed runner.Armed, begun time.Duration) (float64, error) {
	proc, err := armed.Release()
	if err != nil {
		return 0, err
	}
	if end := proc.Wait(); end.Outcome != "succeeded" {
		return 0, fmt.Errorf("the payload ended as %s: %v", end.Outcome, end.Reasons)
	}
	wrote, err := os.ReadFile(s.lastOut)
	if err != nil {
		return 0, err
	}
	return since(begun, wrote)
}

// monotonic is CLOCK_MONOTONIC, which the payload reads too.
func monotonic() (time.Duration, error) {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		return 0, err
	}
	return time.Duration(ts.Nano()), nil
}

// since is the time from begun to what the payload wrote, in milliseconds.
func since(begun time.Duration, wrote []byte) (float64, error) {
	if len(wrote) != 16 {
		return 0, fmt.Errorf("the payload wrote %d bytes", len(wrote))
	}
	at := time.Duration(binary.LittleEndian.Uint64(wrote))*time.Second + time.Duration(binary.LittleEndian.Uint64(wrote[8:]))
	return float64(at-begun) / float64(time.Millisecond), nil
}

// launch asks the service for one run.
func (s *site) launch(job string) (float64, error) {
	ctx := context.Background()
	begun, err := monotonic()
	if err != nil {
		return 0, err
	}
	started, err := s.service.Start(ctx, jobspec.Name(job))
	if err != nil {
		return 0, err
	}
	run, err := s.service.Run(ctx, started.Run, true)
	if err != nil {
		return 0, err
	}
	if run.Outcome != "succeeded" {
		return 0, fmt.Errorf("run %s: %s %v", run.Run, run.Outcome, run.Reasons)
	}
	out, err := s.service.Output(ctx, run.Run, "out", 0)
	if err != nil {
		return 0, err
	}
	defer out.Close()
	wrote, err := io.ReadAll(out)
	if err != nil {
		return 0, err
	}
	return since(begun, wrote)
}

// bare starts bwrap with the plan's own options and the payload in the place of
// the stub.
func (s *site) bare(plan *runner.Plan) (float64, error) {
	begun, err := monotonic()
	if err != nil {
		return 0, err
	}
	wrote, err := s.bareRun(plan)
	if err != nil {
		return 0, err
	}
	return since(begun, wrote)
}

// bareRun is such a start, and what the payload wrote.
func (s *site) bareRun(plan *runner.Plan) ([]byte, error) {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer null.Close()
	read, write, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer read.Close()
	args, files, release, err := s.backend.Line(plan, null, write, null, null)
	if err != nil {
		return nil, errors.Join(err, write.Close())
	}
	defer release()
	filter, options, err := memFiles(args, len(files))
	if err != nil {
		return nil, errors.Join(err, write.Close())
	}
	files = append(files, filter, options)
	argv := []string{"bwrap", "--args", strconv.Itoa(len(files) - 1), "--", plan.Blueprint().Exec.Path}
	proc, err := os.StartProcess(bwrap.Program, argv, &os.ProcAttr{Dir: "/", Env: []string{}, Files: files, Sys: s.credential(plan)})
	err = errors.Join(err, write.Close(), filter.Close(), options.Close())
	if err != nil {
		return nil, err
	}
	wrote, err := io.ReadAll(read)
	state, werr := proc.Wait()
	if err := errors.Join(err, werr); err != nil {
		return nil, err
	}
	if !state.Success() {
		return nil, fmt.Errorf("bwrap: %s", state)
	}
	return wrote, nil
}

// memFiles are the filter and the option list as bwrap reads them, the filter
// taking the given number.
func memFiles(args []string, filterFD int) (filter, options *os.File, err error) {
	prog, err := seccomp.Filter(seccomp.Arch(runtime.GOARCH))
	if err != nil {
		return nil, nil, err
	}
	if filter, err = memFile("filter", prog.Bytes()); err != nil {
		return nil, nil, err
	}
	args = append(args, "--seccomp", strconv.Itoa(filterFD))
	options, err = memFile("options", []byte(strings.Join(args, "\x00")+"\x00"))
	return filter, options, err
}

func memFile(name string, content []byte) (*os.File, error) {
	fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), name)
	if _, err := f.Write(content); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	_, err = f.Seek(0, io.SeekStart)
	return f, err
}

func (s *site) credential(plan *runner.Plan) *syscall.SysProcAttr {
	a := plan.Blueprint().Account
	if !a.Drop {
		return nil
	}
	return &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(a.UID), Gid: uint32(a.GID)}}
}

// sbxcron is the program beside this one.
func sbxcron(root string, args ...string) (*exec.Cmd, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return exec.Command(filepath.Join(filepath.Dir(self), "sbxcron"), append([]string{"--root", root}, args...)...), nil
}
