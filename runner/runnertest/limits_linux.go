package runnertest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/record"
	"github.com/sbxcron/sbxcron/runner"
)

// limitCases let jobs use up what there is, each beside a neighbour that must not
// notice. Where the machine holds limits for single processes only, the same
// jobs run with the owner's word for that, and the record must say it.
func limitCases() []Case {
	return []Case{
		{"a job over its memory ends with the code of that", false, memoryHog},
		{"many small processes are one job's memory", false, memoryHerd},
		{"a fork bomb ends with the code of that", false, forkBomb},
		{"a flood of output ends, and is not read for ever", false, outputFlood},
		{"a bomb of files in a tmpfs is the job's memory", false, fileBomb},
		{"a full private place ends its job with the code of that", false, tmpFill},
		{"a private place that was full for a moment ends nothing", false, tmpFullOnce},
		{"a job that ends with a private place full is no success", false, tmpFullAtEnd},
		{"the least limits are enough for the least job", false, leastLimits},
		{"files of a workspace are counted", false, workspaceFill},
		{"growth is found in a job that was faster than the watcher", false, quickFill},
		{"a job that computes too much is told of", false, cpuHog},
		{"a file over its size ends with the code of that", false, largeFile},
		{"a limit that cannot be held is refused unless the owner says so", false, softRefused},
		{"limits at their default run anywhere, and the record says how they are held", false, softTold},
	}
}

// held reports whether a run's limits hold for the run as a whole.
func held(f record.Facts) bool { return slices.Contains(f.Layers, "cgroup") }

// beside runs a job next to a neighbour that prints its turns, and sees to it that
// the neighbour and the next job are as always.
func (l *Lab) beside(j Job) (Result, error) {
	end, _, _, err := l.startSaying(shell("echo up; i=0; while [ $i -lt 15 ]; do i=$((i+1)); sleep 0.02; done; echo $i"))
	if err != nil {
		return Result{}, err
	}
	j.weaker = append(j.weaker, jobspec.WeakerSoftLimits)
	r, err := l.run(j)
	if n := end(); n.End.Outcome != record.OutcomeSucceeded || n.Out != "up\n15\n" {
		err = errors.Join(err, fmt.Errorf("the neighbour ended as %+v, %q", n.End, n.Out))
	}
	_, nerr := l.succeed(shell("exit 0"))
	return r, errors.Join(err, nerr)
}

// ends wants a run to be ended with a code, and not as a success.
func ends(r Result, code jobspec.Code) error {
	for _, why := range r.End.Reasons {
		if why.Code == code && why.Target != "" && r.End.Outcome != record.OutcomeSucceeded {
			return nil
		}
	}
	return fmt.Errorf("ended as %+v, want %s; layers %v; %.300s %.300s", r.End, code, r.Facts.Layers, r.Out, r.Err)
}

func memoryHog(l *Lab) error {
	j := shell("head -c 200000000 /dev/zero | tail | wc -c")
	j.limits = func(x *jobspec.Limits) { x.MemoryBytes = 48 << 20 }
	r, err := l.beside(j)
	if err != nil {
		return err
	}
	if held(r.Facts) {
		return ends(r, jobspec.CodeLimitMemory)
	}
	if n := strings.TrimSpace(r.Out); n != "0" { // tail is the process that was held
		return fmt.Errorf("%s bytes fitted into 48 MiB: %+v", n, r.End)
	}
	return nil
}

// memoryHerd stays below what each process may have.
func memoryHerd(l *Lab) error {
	j := shell("for i in 1 2 3 4 5 6 7 8; do (x=$(head -c 10000000 /dev/zero | tr '\\0' x); sleep 5) & done; wait")
	j.limits = func(x *jobspec.Limits) { x.MemoryBytes = 48 << 20 }
	r, err := l.beside(j)
	if err != nil || !held(r.Facts) {
		return err // soft: what docs/operations.md says of it
	}
	return ends(r, jobspec.CodeLimitMemory)
}

func forkBomb(l *Lab) error {
	j := shell("b() { b & b & wait; }; b; sleep 1")
	j.limits = func(x *jobspec.Limits) { x.PIDs, x.TimeoutSeconds = 64, 3 }
	r, err := l.beside(j)
	if err != nil {
		return err
	}
	if held(r.Facts) {
		return ends(r, jobspec.CodeLimitPIDs)
	}
	if !strings.Contains(r.Err, "ork") {
		return fmt.Errorf("no fork was refused: %+v, %.300s", r.End, r.Err)
	}
	return nil
}

func outputFlood(l *Lab) error {
	j := shell("yes | tr y x & yes >&2; wait")
	j.limits = func(x *jobspec.Limits) { x.OutputBytes = 16 << 10 }
	before := cpuTime()
	r, err := l.beside(j)
	if err != nil {
		return err
	}
	if used := cpuTime() - before; used > 5*time.Second {
		return fmt.Errorf("the flood took %s of the service", used)
	}
	for _, o := range r.End.Outputs {
		if o.Bytes > 64<<20 || o.Kept > 20<<10 {
			return fmt.Errorf("read %+v", o)
		}
	}
	return ends(r, jobspec.CodeLimitOutput)
}

// cpuTime is what this process used.
func cpuTime() time.Duration {
	var u syscall.Rusage
	must(syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func fileBomb(l *Lab) error {
	j := shell("mkdir /tmp/d; cd /tmp/d; seq 1 400000 | xargs touch; echo done")
	j.limits = func(x *jobspec.Limits) { x.MemoryBytes, x.TimeoutSeconds = 32<<20, 10 }
	if f, err := l.facts(); err != nil || !held(f) {
		return errors.Join(err, &Missing{"a cgroup for memory"}) // else the machine's memory is what bounds it
	}
	r, err := l.beside(j)
	if err != nil {
		return err
	}
	return ends(r, jobspec.CodeLimitMemory)
}

// facts are those of any job.
func (l *Lab) facts() (record.Facts, error) {
	r, err := l.run(shell("exit 0"))
	return r.Facts, err
}

func tmpFill(l *Lab) error {
	r, err := l.beside(shell("head -c 100M /dev/zero > /tmp/x && exit 9; df -k /tmp | tail -1; sleep 20; echo late"))
	if err != nil {
		return err
	}
	if r.End.Outcome != record.OutcomeKilled || !strings.Contains(r.Out, "100%") || strings.Contains(r.Out, "late") {
		return fmt.Errorf("ended as %+v: %s%s", r.End, r.Out, r.Err)
	}
	return wantText("full places", strings.Join(fullPlaces(r), " "), "/tmp")
}

// fullPlaces lists the places that a record calls full.
func fullPlaces(r Result) []string {
	var all []string
	for _, why := range r.End.Reasons {
		if why.Code == jobspec.CodeLimitTmp && strings.Contains(why.Detail, "16777216 bytes") {
			all = append(all, why.Target)
		}
	}
	slices.Sort(all)
	return all
}

// tmpFullOnce makes room again, as a program does that has a cache.
func tmpFullOnce(l *Lab) error {
	j := shell("head -c 100M /dev/zero > /tmp/x 2>/dev/null; : > /tmp/x; sleep 1; echo done")
	out, err := l.succeed(j)
	return errors.Join(err, wantText("output", out, "done\n"))
}

func tmpFullAtEnd(l *Lab) error {
	r, err := l.run(shell("for d in /tmp /dev/shm $HOME .; do head -c 100M /dev/zero > $d/x 2>/dev/null & done; wait; exit 0"))
	if err != nil {
		return err
	}
	if r.End.Outcome == record.OutcomeSucceeded {
		return fmt.Errorf("ended as %+v", r.End)
	}
	return wantText("full places", strings.Join(fullPlaces(r), " "), "/dev/shm "+runner.HomePath+" "+runner.ScratchDir+" /tmp")
}

func leastLimits(l *Lab) error {
	for range 5 {
		j := command("/bin/true")
		j.weaker = []string{jobspec.WeakerSoftLimits}
		j.limits = func(x *jobspec.Limits) { x.PIDs, x.MemoryBytes, x.CPUPercent = 1, 4<<20, 2 }
		if _, err := l.succeed(j); err != nil {
			return err
		}
	}
	return nil
}

func workspaceFill(l *Lab) error {
	cwd := l.folder("ws")
	l.file(cwd+"/old", strings.Repeat("x", 3<<20), 0o644) // does not count
	j := shell("i=0; while [ $i -lt 4000 ]; do i=$((i+1)); head -c 100000 /dev/zero > f$i; done").in(jobspec.Workspace, cwd)
	j.limits = func(x *jobspec.Limits) { x.WorkspaceGrowthBytes = 2 << 20 }
	r, err := l.beside(j)
	if err != nil {
		return err
	}
	list, err := os.ReadDir(cwd)
	if err != nil || len(list) > 3000 {
		return fmt.Errorf("%d files were made before it ended: %w", len(list), err)
	}
	return ends(r, jobspec.CodeLimitWorkspace)
}

func quickFill(l *Lab) error {
	cwd := l.folder("ws")
	j := shell("head -c 4M /dev/zero > f").in(jobspec.Workspace, cwd)
	j.limits = func(x *jobspec.Limits) { x.WorkspaceGrowthBytes = 1 << 20 }
	r, err := l.run(j)
	if err != nil {
		return err
	}
	within := shell("rm f; head -c 900k /dev/zero > g").in(jobspec.Workspace, cwd)
	within.limits = j.limits
	_, err = l.succeed(within)
	return errors.Join(ends(r, jobspec.CodeLimitWorkspace), err)
}

func cpuHog(l *Lab) error {
	j := shell("while :; do :; done")
	j.limits = func(x *jobspec.Limits) { x.CPUPercent, x.TimeoutSeconds, x.GraceSeconds = 10, 2, 0 }
	r, err := l.beside(j)
	if err != nil {
		return err
	}
	if held(r.Facts) && r.End.Resources.CPUMillis > 800 {
		return fmt.Errorf("a tenth of a core for two seconds was %d ms", r.End.Resources.CPUMillis)
	}
	if held(r.Facts) && r.End.Outcome == record.OutcomeTimedOut && len(r.End.Reasons) == 1 {
		return nil // a machine so busy that nobody had to be held back
	}
	if !held(r.Facts) && r.End.Outcome == record.OutcomeTimedOut && r.End.Resources.CPUMillis < 1000 {
		return nil // a machine so busy that the process did not get its one second
	}
	return ends(r, jobspec.CodeLimitCPU)
}

func largeFile(l *Lab) error {
	j := shell("exec head -c 3M /dev/zero > $TMPDIR/f")
	j.limits = func(x *jobspec.Limits) { x.FileSizeBytes = 1 << 20 }
	r, err := l.beside(j)
	if err != nil {
		return err
	}
	return ends(r, jobspec.CodeLimitFsize)
}

func softRefused(l *Lab) error {
	f, err := l.facts()
	if err != nil {
		return err
	}
	for name, set := range map[string]func(*jobspec.Limits){
		"limits.memory": func(x *jobspec.Limits) { x.MemoryBytes = 512 << 20 }, "limits.cpus": func(x *jobspec.Limits) { x.CPUPercent = 50 },
	} {
		j := shell("exit 0")
		j.limits = set
		_, err := l.run(j)
		var no *runner.Refusal
		switch refused := errors.As(err, &no); {
		case held(f) && err != nil:
			return fmt.Errorf("%s is held and refused: %w", name, err)
		case held(f):
			continue
		case !refused || no.Reason != jobspec.CodeSbxFeatureMissing || no.Target != name || !strings.Contains(no.Detail, "Delegate"):
			return fmt.Errorf("%s: %v", name, err)
		}
		j.weaker = []string{jobspec.WeakerSoftLimits}
		if _, err := l.succeed(j); err != nil {
			return fmt.Errorf("%s with the owner's word: %w", name, err)
		}
	}
	return nil
}

func softTold(l *Lab) error {
	j := shell("exit 0")
	j.limits = func(x *jobspec.Limits) {
		d := jobspec.DefaultLimits()
		x.MemoryBytes, x.CPUPercent, x.PIDs = d.MemoryBytes, d.CPUPercent, d.PIDs
	}
	r, err := l.run(j)
	if err != nil {
		return err
	}
	want := []string{runner.SoftMemory, runner.SoftCPUs, runner.SoftTmpFiles}
	if held(r.Facts) {
		want = nil
	}
	if !slices.Equal(r.Facts.Soft, want) {
		return fmt.Errorf("layers %v, soft limits %q", r.Facts.Layers, r.Facts.Soft)
	}
	return nil
}

// leftCases are about files that a run leaves and others would trust.
func leftCases() []Case {
	return []Case{
		{"a set-id file that appears loses its bits and holds the job", false, setIDLeft},
		{"a new hook in a repository below the folder is told of", false, nestedHook},
		{"nothing is hidden behind a closed folder, a link or many files", true, hiddenHooks},
		{"a folder that cannot be read is no way around a limit of growth", true, growthHidden},
	}
}

// setIDLeft lets somebody else set the bits while the job runs: the filter keeps
// the job itself from doing it.
func setIDLeft(l *Lab) error {
	cwd := l.folder("ws")
	old := l.file(cwd+"/old", "x", 0o755)
	must(os.Chmod(old, 0o755|os.ModeSetuid))
	time.Sleep(50 * time.Millisecond)
	end, _, _, err := l.startSaying(shell("cp /bin/true s; mkdir d; cp s d/g; ln -s /etc/passwd link; chmod 4755 s && exit 9; echo up; while ! test -e go; do sleep 0.02; done").in(jobspec.Workspace, cwd))
	if err != nil {
		return err
	}
	must(os.Chmod(cwd+"/s", 0o755|os.ModeSetuid))
	must(os.Chmod(cwd+"/d/g", 0o755|os.ModeSetgid))
	l.file(cwd+"/go", "", 0o644)
	r := end()
	var named []string
	for _, d := range r.End.Denials {
		if d.Code == jobspec.CodeFsProtectedCreated {
			rel, err := filepath.Rel(cwd, d.Target)
			must(err)
			named = append(named, rel)
		}
	}
	slices.Sort(named)
	if r.End.Outcome != record.OutcomeDenied || !slices.Equal(named, []string{"d/g", "s"}) {
		return fmt.Errorf("ended as %s, %+v", r.End.Outcome, r.End.Denials)
	}
	for name, want := range map[string]os.FileMode{"s": 0o755, "d/g": 0o755, "old": 0o755 | os.ModeSetuid} {
		info, err := os.Lstat(filepath.Join(cwd, name))
		if err != nil || info.Mode() != want {
			return fmt.Errorf("%s has mode %v, %w", name, info.Mode(), err)
		}
	}
	return nil
}

func nestedHook(l *Lab) error {
	cwd := l.folder("ws")
	r, err := l.run(shell("mkdir -p v/x/.git/hooks v/x/.git/objects; cd v/x/.git/hooks; cp /bin/true pre-push.sample; cp /bin/true ../../plain; cp /bin/true post-checkout").in(jobspec.Workspace, cwd))
	if err != nil {
		return err
	}
	if r.End.Outcome != record.OutcomeDenied || len(r.End.Denials) != 1 || !strings.HasSuffix(r.End.Denials[0].Target, "/v/x/.git/hooks/post-checkout") {
		return fmt.Errorf("ended as %s, %+v", r.End.Outcome, r.End.Denials)
	}
	return nil
}
