package runnertest

import (
	"fmt"
	"os"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/record"
)

// nameCases say that a bound name means the approved bytes to the job, whatever
// somebody outside does to it, and looks as a file does.
func nameCases() []Case {
	return []Case{
		{"a script that is moved behind the barrier runs as it was", true, movedLate},
		{"the first line of other bytes is not read", true, otherFirstLine},
		{"a bound file that is sourced under renames is the approved one", true, sourced},
		{"a script that opens itself under renames gets its own bytes", true, opensItself},
		{"a bound file behind a link is the approved one", true, behindLink},
		{"a bound name is found through procfs", true, throughProc},
		{"a bound name can be opened when nothing lies there any more", true, nothingThere},
		{"a bound tool whose name was moved is not executed, and told", true, movedTool},
		{"a bound tool is executed", false, boundTool},
		{"a bound name looks like a file that only root changes", false, looksLikeAFile},
		{"two readers of a bound name have two offsets", false, twoOffsets},
	}
}

const good = "#!/bin/sh\necho good\n"

// release prepares a job, lets change happen while the sandbox waits, and runs it.
func (l *Lab) release(j Job, change func()) (Result, error) {
	p, out, done, err := l.plan(j)
	if err != nil {
		return Result{}, err
	}
	defer done()
	armed, err := l.Backend.Prepare(l.ctx, p)
	if err != nil {
		return Result{}, err
	}
	change()
	proc, err := armed.Release()
	if err != nil {
		return Result{}, err
	}
	end := proc.Wait()
	return Result{End: end, Facts: armed.Facts(), Out: out.text("out"), Err: out.text("err")}, nil
}

// wantOut wants a success with just this output.
func (r Result) wantOut(want string, err error) error {
	if err != nil {
		return err
	}
	if r.End.Outcome != record.OutcomeSucceeded || r.Out != want {
		return fmt.Errorf("ended as %s %v with %q, want success with %q; %s", r.End.Outcome, r.End.Reasons, r.Out, want, r.Err)
	}
	return nil
}

func movedLate(l *Lab) error {
	cwd := l.folder("ws")
	script := l.file(cwd+"/job.sh", good, 0o755)
	l.file(cwd+"/evil.sh", evil, 0o755)
	r, err := l.release(command(script).in(jobspec.ReadOnly, cwd), func() {
		must(os.Rename(script, cwd+"/gone"))
		must(os.Rename(cwd+"/evil.sh", script))
	})
	return r.wantOut("good\n", err)
}

// otherFirstLine moves bytes there that carry their code in the line which names
// the interpreter: a kernel that reads it needs to read no more.
func otherFirstLine(l *Lab) error {
	cwd := l.folder("ws")
	script := l.file(cwd+"/job.sh", good, 0o755)
	other := l.file(cwd+"/evil.sh", "#!/bin/sh -cecho${IFS}evil\n", 0o755)
	r, err := l.release(command(script).in(jobspec.Workspace, cwd), func() { must(os.Rename(other, script)) })
	return r.wantOut("good\n", err)
}

// swapping exchanges two names all the time until the returned function is called.
func swapping(one, two string) (stop func()) {
	var wg sync.WaitGroup
	over := make(chan struct{})
	wg.Go(func() {
		for {
			select {
			case <-over:
				return
			default:
				must(unix.Renameat2(unix.AT_FDCWD, one, unix.AT_FDCWD, two, unix.RENAME_EXCHANGE))
			}
		}
	})
	return func() { close(over); wg.Wait() }
}

// whileSwapping runs a job while two names change places.
func (l *Lab) whileSwapping(j Job, one, two string) (Result, error) {
	stop := func() {}
	r, err := l.release(j, func() { stop = swapping(one, two) })
	stop()
	return r, err
}

func sourced(l *Lab) error {
	cwd := l.folder("ws")
	part := l.file(cwd+"/part.sh", "n=$((n+1))\n", 0o644)
	other := l.file(cwd+"/evil.sh", "echo evil\n", 0o644)
	j := command(l.file(cwd+"/job.sh", "#!/bin/sh\nn=0\nwhile [ $n -lt 100 ]; do sleep 0.005; . ./part.sh; done\necho $n\n", 0o755)).in(jobspec.ReadOnly, cwd)
	j.files = []string{"part.sh"}
	r, err := l.whileSwapping(j, part, other)
	return r.wantOut("100\n", err)
}

func opensItself(l *Lab) error {
	if _, err := tool("python3"); err != nil {
		return err
	}
	cwd := l.folder("ws")
	text := "#!/usr/bin/env python3\nimport time\nfor i in range(300):\n    time.sleep(0.002)\n    t = open(__file__).read() + open('job.py').read()\n    if 'ev' + 'il' in t: print('e' 'vil')\nprint(len(t))\n"
	script := l.file(cwd+"/job.py", text, 0o755)
	other := l.file(cwd+"/evil.py", "#!/bin/sh\necho evil\n", 0o755)
	r, err := l.whileSwapping(command(script).in(jobspec.Workspace, cwd), script, other)
	return r.wantOut(fmt.Sprintln(2*len(text)), err)
}

// behindLink has the approved command call the file through a link that leads
// elsewhere when the run begins.
func behindLink(l *Lab) error {
	cwd := l.folder("ws")
	l.file(cwd+"/part-1.sh", "echo good\n", 0o644)
	l.file(cwd+"/part-2.sh", "echo evil\n", 0o644)
	must(os.Symlink("part-1.sh", cwd+"/part.sh"))
	must(os.Symlink("part-1.sh", cwd+"/also.sh"))
	j := command(l.file(cwd+"/job.sh", "#!/bin/sh\n. ./part.sh\n. "+cwd+"/part.sh\n. ./also.sh\n", 0o755)).in(jobspec.ReadOnly, cwd)
	j.files = []string{"part.sh"}
	r, err := l.release(j, func() {
		must(os.Symlink("part-2.sh", cwd+"/next"))
		must(os.Rename(cwd+"/next", cwd+"/part.sh"))
		must(os.Rename(cwd+"/part-2.sh", cwd+"/part-1.sh"))
	})
	return r.wantOut("good\ngood\ngood\n", err)
}

// throughProc opens a moved name by links of procfs, which mean the caller.
func throughProc(l *Lab) error {
	cwd := l.folder("ws")
	part := l.file(cwd+"/part", "good\n", 0o644)
	other := l.file(cwd+"/evil", "evil\n", 0o644)
	must(os.Symlink("/proc/self/cwd/part", cwd+"/link"))
	text := "#!/bin/sh\nfor p in /proc/self/cwd/part /proc/self/root\"$PWD\"/part /proc/thread-self/cwd/part /proc/$$/cwd/part link; do cat $p; done\n" +
		"cat /dev/stdin <part\ncat /dev/fd/3 3<part\ncat /proc/self/fd/4/part 4<.\n"
	j := command(l.file(cwd+"/job.sh", text, 0o755)).in(jobspec.ReadOnly, cwd)
	j.files = []string{"part"}
	r, err := l.release(j, func() { must(os.Rename(other, part)) })
	return r.wantOut(strings.Repeat("good\n", 8), err)
}

func nothingThere(l *Lab) error {
	cwd := l.folder("ws")
	script := l.file(cwd+"/job.sh", good, 0o755)
	r, err := l.release(command(script).in(jobspec.ReadOnly, cwd), func() { must(os.Remove(script)) })
	return r.wantOut("good\n", err)
}

// toolJob is a script that executes a bound program by its name.
func (l *Lab) toolJob(cwd string) (j Job, program string) {
	echo, err := os.ReadFile("/bin/echo")
	must(err)
	program = l.file(cwd+"/say", string(echo), 0o755)
	j = command(l.file(cwd+"/job.sh", "#!/bin/sh\n./say one\necho $?\n\""+cwd+"/say\" two\n", 0o755)).in(jobspec.ReadOnly, cwd)
	j.files = []string{"say"}
	return j, program
}

func boundTool(l *Lab) error {
	j, _ := l.toolJob(l.folder("ws"))
	r, err := l.run(j)
	return r.wantOut("one\n0\ntwo\n", err)
}

func movedTool(l *Lab) error {
	cwd := l.folder("ws")
	j, program := l.toolJob(cwd)
	r, err := l.release(j, func() { must(os.Rename(l.file(cwd+"/other", evil, 0o755), program)) })
	if err != nil {
		return err
	}
	d := r.End.Denials
	if r.End.Outcome != record.OutcomeDenied || strings.Contains(r.Out, "evil") || len(d) != 1 || d[0].Code != jobspec.CodeDriftScript ||
		d[0].Target != program || d[0].Certainty != "observed" || d[0].Count != 2 {
		return fmt.Errorf("%+v, output %q", r.End, r.Out)
	}
	return nil
}

func looksLikeAFile(l *Lab) error {
	cwd := l.folder("ws")
	text := "#!/bin/sh\nstat -L -c '%s %a %F' job.sh /dev/fd/3 3<job.sh\ncp job.sh /tmp/copy && cmp job.sh /tmp/copy && echo same\n" +
		"for way in '<>' '>>' '>'; do (eval \": $way job.sh\") 2>&1 | sed 's/.*: //'; done\n"
	script := l.file(cwd+"/job.sh", text, 0o755)
	r, err := l.run(command(script).in(jobspec.Workspace, cwd))
	line := fmt.Sprintf("%d 555 regular file\n", len(text))
	return r.wantOut(line+line+"same\nPermission denied\nPermission denied\nRead-only file system\n", err)
}

func twoOffsets(l *Lab) error {
	cwd := l.folder("ws")
	text := "#!/bin/sh\nexec 3<job.sh 4<job.sh\nread -r a <&3\nread -r b <&4\nread -r c <&3\necho \"$a $b $c\"\n"
	r, err := l.run(command(l.file(cwd+"/job.sh", text, 0o755)).in(jobspec.ReadOnly, cwd))
	return r.wantOut("#!/bin/sh #!/bin/sh exec 3<job.sh 4<job.sh\n", err)
}
