package runnertest

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/record"
)

// lifeCases say how runs end.
func lifeCases() []Case {
	return []Case{
		{"death by a signal is told", false, diesBySignal},
		{"a daemonised grandchild is gone when Wait returns", true, grandchild},
		{"TERM reaches the payload and it may finish", false, termThenFinish},
		{"KILL follows TERM after the grace", false, termThenKill},
		{"kill ends the whole tree at once", true, killTree},
		{"the timeout ends a run", false, timeout},
		{"a stopped payload is killed too", false, stopped},
		{"ten megabytes in one line are counted, hashed and cut", false, longLine},
		{"discard runs nothing", false, discard},
		{"resources are counted", false, resources},
		{"a program that cannot be executed is refused", false, notExecutable},
	}
}

func diesBySignal(l *Lab) error {
	r, err := l.run(shell("kill -9 $$"))
	if err != nil {
		return err
	}
	byCode := r.End.Exited && r.End.ExitCode == 137 // kernels that do not tell more
	if r.End.Outcome != record.OutcomeFailed || r.End.Signal != "SIGKILL" && !byCode {
		return fmt.Errorf("ended as %+v", r.End)
	}
	return nil
}

// alive reports whether a process of the host has word among its arguments.
func alive(word string) (bool, error) {
	list, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		return false, err
	}
	for _, name := range list {
		if b, err := os.ReadFile(name); err == nil && bytes.Contains(b, []byte(word)) {
			return true, nil
		}
	}
	return false, nil
}

// mark is an argument that no other process has.
func (l *Lab) mark(n int) string { return fmt.Sprintf("300.%06d%d", os.Getpid(), n) }

func gone(word string) error {
	found, err := alive(word)
	if err == nil && found {
		return fmt.Errorf("a process of the run is left")
	}
	return err
}

func grandchild(l *Lab) error {
	word := l.mark(1)
	if _, err := l.succeed(shell("(trap '' TERM HUP INT; setsid sleep " + word + " >/dev/null 2>&1 </dev/null &) ; exit 0")); err != nil {
		return err
	}
	return gone(word)
}

// startSaying starts a script and waits until it has said "up" on its output.
func (l *Lab) startSaying(j Job) (end func() Result, cancel, kill func(jobspec.Code), err error) {
	proc, out, facts, err := l.start(j)
	if err != nil {
		return nil, nil, nil, err
	}
	for limit := time.Now().Add(10 * time.Second); !strings.HasPrefix(out.text("out"), "up"); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(limit) {
			proc.Kill(jobspec.CodeInternal)
			proc.Wait()
			return nil, nil, nil, fmt.Errorf("the job never said that it is up")
		}
	}
	end = func() Result { return Result{proc.Wait(), facts, out.text("out"), out.text("err")} }
	return end, proc.Cancel, proc.Kill, nil
}

func termThenFinish(l *Lab) error {
	end, cancel, _, err := l.startSaying(shell("trap 'echo bye; exit 3' TERM; echo up; while :; do sleep 0.05; done"))
	if err != nil {
		return err
	}
	cancel(jobspec.CodeCanceled)
	cancel(jobspec.CodeShutdown) // only the first reason counts
	r := end()
	if r.End.Outcome != record.OutcomeKilled || r.Out != "up\nbye\n" || len(r.End.Reasons) != 1 || r.End.Reasons[0].Code != jobspec.CodeCanceled {
		return fmt.Errorf("ended as %+v with output %q", r.End, r.Out)
	}
	return nil
}

func termThenKill(l *Lab) error {
	end, cancel, _, err := l.startSaying(shell("trap '' TERM; echo up; while :; do sleep 0.05; done"))
	if err != nil {
		return err
	}
	begin := time.Now()
	cancel(jobspec.CodeShutdown)
	r, took := end(), time.Since(begin)
	if r.End.Outcome != record.OutcomeKilled || took < time.Second || took > 8*time.Second {
		return fmt.Errorf("ended as %s after %s", r.End.Outcome, took)
	}
	return nil
}

func killTree(l *Lab) error {
	word := l.mark(2)
	end, _, kill, err := l.startSaying(shell("trap '' TERM; setsid sleep " + word + " & echo up; wait"))
	if err != nil {
		return err
	}
	begin := time.Now()
	kill(jobspec.CodeShutdown)
	r := end()
	if r.End.Outcome != record.OutcomeKilled || time.Since(begin) > 5*time.Second {
		return fmt.Errorf("ended as %s after %s", r.End.Outcome, time.Since(begin))
	}
	return gone(word)
}

func timeout(l *Lab) error {
	j := command("/bin/sleep", l.mark(3))
	j.limits = func(x *jobspec.Limits) { x.TimeoutSeconds = 1 }
	r, err := l.run(j)
	if err != nil {
		return err
	}
	took := r.End.EndedAt.Sub(r.End.StartedAt)
	if r.End.Outcome != record.OutcomeTimedOut || took < 900*time.Millisecond || took > 8*time.Second {
		return fmt.Errorf("ended as %s after %s", r.End.Outcome, took)
	}
	return nil
}

func stopped(l *Lab) error {
	end, cancel, _, err := l.startSaying(shell("echo up; kill -STOP $$"))
	if err != nil {
		return err
	}
	cancel(jobspec.CodeCanceled)
	return wantText("outcome", string(end().End.Outcome), string(record.OutcomeKilled))
}

func longLine(l *Lab) error {
	const size = 10 << 20
	r, err := l.run(shell(fmt.Sprintf("head -c %d /dev/zero | tr '\\0' x; echo done >&2", size)))
	if err != nil {
		return err
	}
	all := sha256.Sum256(bytes.Repeat([]byte("x"), size))
	for _, o := range r.End.Outputs {
		if o.Stream != "out" {
			continue
		}
		if o.Bytes != size || o.SHA256 != jobspec.Digest(all) || !o.Truncated || o.Kept > 65<<10 || o.Kept != int64(len(r.Out)) {
			return fmt.Errorf("kept %+v", o)
		}
	}
	if len(r.End.Outputs) != 2 {
		return fmt.Errorf("%d streams", len(r.End.Outputs))
	}
	return wantText("the other stream", r.Err, "done\n")
}

func discard(l *Lab) error {
	cwd := l.folder("ws")
	p, _, done, err := l.plan(shell("echo ran > canary").in(jobspec.Workspace, cwd))
	if err != nil {
		return err
	}
	defer done()
	armed, err := l.Backend.Prepare(l.ctx, p)
	if err != nil {
		return err
	}
	time.Sleep(50 * time.Millisecond) // a payload that does not wait would have run by now
	armed.Discard()
	return empty(cwd)
}

func resources(l *Lab) error {
	service := make([]byte, 64<<20) // what the service holds is not the job's
	for i := 0; i < len(service); i += 4096 {
		service[i] = 1
	}
	r, err := l.run(shell("i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done"))
	if err != nil {
		return err
	}
	if u := r.End.Resources; u.CPUMillis < 50 || u.MaxRSSBytes < 256<<10 || u.MaxRSSBytes >= int64(len(service)) {
		return fmt.Errorf("resources are %+v", u)
	}
	return nil
}

func notExecutable(l *Lab) error {
	bad := l.file(l.folder("bin")+"/bad", "\x7fELF but nothing else", 0o755)
	r, err := l.run(command(bad))
	if refused(err) {
		return nil
	}
	if err != nil {
		return err
	}
	return wantText("outcome", string(r.End.Outcome), string(record.OutcomeRefused))
}
