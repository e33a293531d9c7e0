package runnertest

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/record"
	"github.com/sbxcron/sbxcron/testdata/programs"
)

// SlowPrograms is the variable that has programs tried which take long to
// install or to run.
const SlowPrograms = "SBXCRON_TEST_PROGRAMS"

// offer is what a server of this machine needs of a job that uses it.
type offer struct {
	host        string // that the proxy may reach, "" for none
	env         map[string]string
	forward     []string
	local       []string // paths of sockets
	git         string
	credentials []jobspec.Credential
	values      map[string]string
	reads       []string
	after       func() error // looks at what the job left behind
	stop        func()
}

// offers are the servers by the name that heads of programs have for them.
func offers() map[string]func(l *Lab, cwd string) (*offer, error) {
	return map[string]func(*Lab, string) (*offer, error){
		"git": gitServer, "pip": pipServer, "npm": npmServer, "go": goServer, "psql": psqlServer, "key": keyFile, "ring": ringFile, "model": modelServer, "model-sudo": modelSudo,
	}
}

// ProgramCases say that programs in everyday use end as the table in
// docs/sandbox.md has it, against servers of the machine's own loopback.
func ProgramCases() []Case {
	all, err := programs.All()
	must(err)
	var cases []Case
	for _, p := range all {
		cases = append(cases, Case{p.File + " " + strings.ReplaceAll(p.Ends, " ", "_"), false, func(l *Lab) error { return l.program(p) }})
	}
	return cases
}

// program runs one and wants it to end as its head says.
func (l *Lab) program(p programs.Program) error {
	if p.Slow && os.Getenv(SlowPrograms) == "" {
		return &Left{"it takes long: make programs runs it"}
	}
	if p.Arch != "" && p.Arch != runtime.GOARCH {
		return &Left{"the table has it for " + p.Arch + ": it is not known how it ends here"}
	}
	for _, name := range p.Needs {
		if _, err := tool(name); err != nil {
			return err
		}
	}
	cwd := l.folder("ws")
	o := &offer{}
	if p.Server != "" {
		make, ok := offers()[p.Server]
		if !ok {
			return fmt.Errorf("there is no server %q", p.Server)
		}
		var err error
		if o, err = make(l, cwd); err != nil {
			return err
		}
	}
	if o.stop != nil {
		defer o.stop()
	}
	r, err := l.run(o.job(p, cwd))
	if err != nil {
		return err
	}
	if err := judgeProgram(p, r); err != nil {
		return fmt.Errorf("%w\nended as %s, exit code %d, signal %q, %v, connections %v, denials %q; %.2000s%.4000s", err, r.End.Outcome, r.End.ExitCode, r.End.Signal, r.End.Reasons, r.End.Connections, denialsOf(r), r.Out, r.Err)
	}
	if o.after != nil {
		return o.after()
	}
	return nil
}

func (o *offer) job(p programs.Program, cwd string) Job {
	j := shell(p.Body).in(jobspec.Workspace, cwd)
	j.env, j.git, j.credentials, j.values, j.read = o.env, o.git, o.credentials, o.values, o.reads
	j.limits = func(x *jobspec.Limits) {
		x.TimeoutSeconds, x.TmpBytes, x.PIDs, x.OpenFiles, x.FileSizeBytes = 120, 1<<30, 512, 1024, 1<<30
	}
	for _, s := range p.Signed {
		j.denials.Expected = append(j.denials.Expected, jobspec.ExpectedDenial{Code: jobspec.Code(s[0]), Target: s[1]})
	}
	if p.Proxy {
		j.net = &Network{proxy: true, forward: o.forward, local: o.local}
		if o.host != "" {
			j.net.allow, j.net.private = []string{o.host}, []string{o.host}
		}
	}
	return j
}

// judgeProgram holds the end of a run against the head of its program: no denial
// that the head lacks, none lacking that it has.
func judgeProgram(p programs.Program, r Result) error {
	want := map[string]record.Outcome{programs.Works: record.OutcomeSucceeded, programs.AsSigned: record.OutcomeSucceeded, programs.Denied: record.OutcomeDenied, programs.Failed: record.OutcomeFailed}
	if r.End.Outcome != want[p.Ends] {
		return fmt.Errorf("it does not end as %s", want[p.Ends])
	}
	if !strings.Contains(r.Out+r.Err, p.Prints) {
		return fmt.Errorf("it does not print %q", p.Prints)
	}
	if p.Server != "" && p.Proxy && len(r.End.Connections) == 0 {
		return fmt.Errorf("no connection is recorded")
	}
	for _, d := range r.End.Denials {
		if !d.Expected && !slices.ContainsFunc(p.Denials, func(x programs.Denial) bool { return x.Is(string(d.Code), d.Target) }) {
			return fmt.Errorf("its head does not have the denial %s %s", d.Code, d.Target)
		}
	}
	for _, x := range p.Denials {
		if !x.Sometimes && !slices.ContainsFunc(r.End.Denials, func(d record.Denial) bool { return !d.Expected && x.Is(string(d.Code), d.Target) }) {
			return fmt.Errorf("the denial %s %s is not recorded", x.Code, x.Target)
		}
	}
	for _, s := range p.Signed {
		if !slices.ContainsFunc(r.End.Denials, func(d record.Denial) bool {
			return d.Expected && d.Rule == "" && string(d.Code) == s[0] && d.Target == s[1]
		}) {
			return fmt.Errorf("the denial %s %s, signed as expected, is not recorded", s[0], s[1])
		}
	}
	return nil
}
