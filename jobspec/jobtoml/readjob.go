package jobtoml

import (
	"time"

	"github.com/sbxcron/sbxcron/jobspec"
)

func jobCodes() codes {
	return codes{syntax: jobspec.CodeSpecMalformed, unknown: jobspec.CodeSpecUnknownField,
		duplicate: jobspec.CodeSpecDuplicateKey, value: jobspec.CodeSpecMalformed}
}

// ReadJob reads job.toml. It looks at the form of each value only: whether the
// job may exist is Resolve's and Decide's to say. Errors are *Error with line
// and column.
func ReadJob(data []byte) (*jobspec.Draft, error) {
	var j jobFile
	f, err := decode(data, &j, jobCodes())
	if err != nil {
		return nil, err
	}
	r := &fields{file: f}
	d := &jobspec.Draft{
		Name: r.name("name", j.Name), Note: j.Note,
		Cron: j.Schedule, Every: r.span("every", j.Every), At: r.instant("at", j.At),
		Timezone: j.Timezone, Jitter: r.span("jitter", j.Jitter), Missed: j.Missed,
		StartDeadline: r.span("start_deadline", j.StartDeadline), Overlap: j.Overlap, Retries: j.Retries,
		Expires: r.span("expires", j.Expires), Tier: r.tier("tier", j.Tier), Net: r.net("net.mode", j.Net.Mode), Cwd: j.Cwd,
		Command: j.Command, Script: jobspec.Script(j.Script), Stdin: j.Stdin, Files: j.Files, Env: j.Env,
		RunAs: j.RunAs, StateDir: j.StateDir, Result: j.Result,
		Read: j.Fs.Read, Write: j.Fs.Write, Deny: j.Fs.Deny, Git: j.Fs.Git, MayCreate: j.Fs.MayCreate,
		NetAllow: j.Net.Allow, NetDeny: j.Net.Deny, Forward: j.Net.Forward, Sockets: j.Net.Sockets,
		Limits: r.limits("limits", j.Limits), Backend: jobspec.BackendNeed(j.Backend), Weaker: j.Weaker, Notify: j.Notify.On,
	}
	for i, b := range j.Bind {
		if b.Mode == "" {
			r.fail(f.refuse(item("bind", i), jobspec.CodeBindModeMissing, "", "mode is missing"))
		}
		d.Bind = append(d.Bind, jobspec.Bind{Source: b.Source, Target: b.Target, Mode: b.Mode})
	}
	for _, c := range j.Credential {
		d.Credentials = append(d.Credentials, jobspec.Credential(c))
	}
	d.Denials = r.denials(j.Denials)
	if r.err != nil {
		return nil, r.err
	}
	return d, nil
}

// fields turns texts into values and keeps the refusals, of which err is the
// first, so that a file is read in one expression.
type fields struct {
	*file
	err error
	all []error
}

func (r *fields) fail(err error) {
	if r.err == nil {
		r.err = err
	}
	r.all = append(r.all, err)
}

// parse converts a text that was given; an absent key stays zero.
func parse[T any](r *fields, field, text string, read func(string) (T, error)) T {
	var zero T
	if _, given := r.at[field]; !given {
		return zero
	}
	v, err := read(text)
	if err != nil {
		r.fail(r.value(field, err))
		return zero
	}
	return v
}

func (r *fields) name(field, s string) jobspec.Name { return parse(r, field, s, jobspec.ParseName) }

func (r *fields) span(field, s string) time.Duration { return parse(r, field, s, jobspec.ParseSpan) }

func (r *fields) size(field, s string) int64 { return parse(r, field, s, jobspec.ParseSize) }

func (r *fields) seconds(field, s string) int64 { return int64(r.span(field, s) / time.Second) }

func (r *fields) instant(field, s string) time.Time {
	return parse(r, field, s, func(s string) (time.Time, error) { return time.Parse(time.RFC3339, s) })
}

func (r *fields) tier(field, s string) jobspec.Tier {
	return parse(r, field, s, func(s string) (t jobspec.Tier, err error) {
		err = t.UnmarshalText([]byte(s))
		return t, err
	})
}

func (r *fields) net(field, s string) jobspec.Net {
	return parse(r, field, s, func(s string) (n jobspec.Net, err error) {
		err = n.UnmarshalText([]byte(s))
		return n, err
	})
}

// count refuses zero and less where a key was given: no limit is written as 0.
func (r *fields) count(field string, n *int64) int64 {
	if n == nil {
		return 0
	}
	if *n <= 0 {
		r.fail(r.refuse(field, r.codes.value, "leave the key out for the default", "%d is not above 0", *n))
	}
	return *n
}

func (r *fields) limits(at string, l limitsTable) jobspec.Limits {
	return jobspec.Limits{
		TimeoutSeconds: r.seconds(at+".timeout", l.Timeout), GraceSeconds: r.seconds(at+".grace", l.Grace),
		MemoryBytes: r.size(at+".memory", l.Memory), CPUPercent: parse(r, at+".cpus", l.CPUs, jobspec.ParseCPUs),
		PIDs: r.count(at+".pids", l.PIDs), FileSizeBytes: r.size(at+".file_size", l.FileSize),
		OpenFiles: r.count(at+".open_files", l.OpenFiles), OutputBytes: r.size(at+".output", l.Output), TmpBytes: r.size(at+".tmp", l.Tmp),
		WorkspaceGrowthBytes: r.size(at+".workspace_growth", l.WorkspaceGrowth),
		Connections:          r.count(at+".connections", l.Connections), NetBytes: r.size(at+".bytes", l.Bytes),
		StateBytes: r.size(at+".state", l.State),
	}
}

func (r *fields) denials(t denialsTable) jobspec.DenialRules {
	d := jobspec.DenialRules{OnDenial: t.OnDenial, Max: t.Max}
	for i, e := range t.Expected {
		if !jobspec.Code(e.Code).Known() {
			r.fail(r.refuse(item("denials.expected", i)+".code", r.codes.value, "", "%q is no code", e.Code))
		}
		d.Expected = append(d.Expected, jobspec.ExpectedDenial{Code: jobspec.Code(e.Code), Target: e.Target})
	}
	return d
}
