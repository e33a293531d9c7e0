package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/sbxcron/sbxcron/cmd/internal/api"
	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/jobtoml"
	"github.com/sbxcron/sbxcron/runner/escape"
)

// escaped is one attempt in one tier, as doctor --escape --json prints it.
type escaped struct {
	Tier    string         `json:"tier"`
	Net     string         `json:"net"`
	ID      string         `json:"id"`
	Attempt string         `json:"attempt"`
	Layers  []escape.Layer `json:"layers"`
	Verdict escape.Verdict `json:"verdict"` // stopped, odd, open, missing
	Said    string         `json:"said"`    // by the kernel
	Event   string         `json:"event"`   // recorded, missing, or none wanted
}

// escapes tries to get out of a sandbox of each tier, by the same road as try.
func (a *App) escapes(ctx context.Context, runAs string) error {
	if !a.Platform.Runs() || a.Ports.Try == nil {
		return a.platformRefusal("doctor --escape")
	}
	program, err := a.Ports.Attempts()
	if err != nil {
		return err
	}
	var rows []escaped
	bad := 0
	for _, e := range []expedition{
		{tier: jobspec.Scratch, net: jobspec.NetNone},
		{tier: jobspec.ReadOnly, net: jobspec.NetNone},
		{tier: jobspec.Workspace, net: jobspec.NetNone},
		{tier: jobspec.Workspace, net: jobspec.NetProxy},
	} {
		e.app, e.program = a, program
		if e.tier == jobspec.Workspace { // the others run as an account that nobody has
			e.runAs = runAs
		}
		r, err := e.all(ctx)
		if err != nil {
			return fmt.Errorf("tier %s, net %s: %w", e.tier, e.net, err)
		}
		bad += len(r.Changes)
		for _, change := range r.Changes {
			a.note("tier %s, net %s: a change outside of the sandbox: %s", e.tier, e.net, change)
		}
		for _, row := range r.Rows {
			if row.Verdict != escape.Stopped && row.Verdict != escape.Odd || row.Event == "missing" {
				bad++
			}
			rows = append(rows, escaped{Tier: e.tier.String(), Net: e.net.String(), ID: row.Attempt.ID, Attempt: row.What, Layers: row.Layers, Verdict: row.Verdict, Said: row.Said, Event: row.Event})
		}
	}
	if err := a.printEscapes(rows, bad); err != nil {
		return err
	}
	if bad > 0 {
		return exitStatus(jobspec.ClassProblems.Exit())
	}
	return nil
}

func (a *App) printEscapes(rows []escaped, bad int) error {
	if a.flags.json {
		return a.items("escape", rows)
	}
	t := a.UI.Table("TIER", "NET", "ID", "ATTEMPT", "LAYERS", "RESULT", "SAID", "EVENT")
	for _, r := range rows {
		var layers []string
		for _, l := range r.Layers {
			layers = append(layers, string(l))
		}
		t.Row(r.Tier, r.Net, r.ID, r.Attempt, strings.Join(layers, " "), string(r.Verdict), r.Said, r.Event)
	}
	if _, err := t.WriteTo(a.UI.Out); err != nil {
		return err
	}
	a.line("%d attempts, %d got out or left no trace", len(rows), bad)
	return nil
}

// expedition makes all attempts of one tier and net.
type expedition struct {
	app     *App
	program string
	tier    jobspec.Tier
	net     jobspec.Net
	runAs   string
	stage   *escape.Stage
}

// all sets the stage and has the attempts made by "sbxcron try", which is another
// process: as root it gives up the rights that a stage needs.
func (e *expedition) all(ctx context.Context) (report escape.Report, err error) {
	o := escape.StageOptions{Program: e.program}
	where := escape.Where{Tier: e.tier, Net: e.net, Arch: runtime.GOARCH}
	if o.UID, o.GID, where.System, err = e.app.Ports.Account(e.runAs); err != nil {
		return report, err
	}
	if e.stage, err = escape.NewStage(o); err != nil {
		return report, err
	}
	defer func() { err = errors.Join(err, e.stage.Close()) }()
	found := escape.Evidence{Events: escape.Events{}, Targets: e.stage.Targets()}
	for i, o := range escape.Orders(where, escape.Select(where), found.Targets) {
		text, err := e.job(o, where.System)
		if err != nil {
			return report, err
		}
		path := filepath.Join(e.stage.Jobs, fmt.Sprintf("job%d.toml", i))
		doc, err := e.app.Ports.Try(ctx, path, text)
		if err == nil {
			err = note(&found, doc)
		}
		if err != nil {
			return report, err
		}
	}
	if found.Heard, err = e.stage.Heard(); err == nil {
		found.Changes, err = e.stage.Changes()
	}
	return escape.Judge(escape.Select(where), found), err
}

// note takes the evidence from the document of a try.
func note(found *escape.Evidence, text []byte) error {
	var doc struct {
		Item struct {
			Run struct {
				Outcome string       `json:"outcome"`
				Reasons []api.Reason `json:"reasons"`
				Denials []api.Denial `json:"denials"`
			} `json:"run"`
			Out string `json:"out"`
			Err string `json:"err"`
		} `json:"item"`
	}
	if err := json.Unmarshal(text, &doc); err != nil {
		return fmt.Errorf("read what try says: %w: %.500q", err, text)
	}
	r := doc.Item.Run
	if r.Outcome != "succeeded" && r.Outcome != "denied" {
		return fmt.Errorf("the attempts ended as %s, %+v: %q", r.Outcome, r.Reasons, doc.Item.Err)
	}
	said, err := escape.ParseAnswers([]byte(doc.Item.Out))
	found.Answers = append(found.Answers, said...)
	for _, d := range r.Denials {
		found.Events[jobspec.ExpectedDenial{Code: d.Code, Target: d.Target}] += d.Count
	}
	return err
}

// job is the job.toml of an order.
func (e *expedition) job(o escape.Order, system bool) ([]byte, error) {
	order, err := json.Marshal(o)
	if err != nil {
		return nil, err
	}
	d := &jobspec.Draft{Name: "escape", Cron: trySchedule, Tier: e.tier, Command: []string{e.stage.Program}, Stdin: string(order), Read: []string{e.stage.Shown}}
	if e.tier != jobspec.Scratch {
		d.Cwd = e.stage.Work
	}
	if system && e.runAs != "" {
		d.RunAs = e.runAs
	}
	if d.Net = e.net; d.Net == jobspec.NetProxy {
		d.NetAllow = []string{"example.org:443"} // which nobody asks for
	}
	// Small, so that reaching them takes no time.
	d.Limits = jobspec.Limits{FileSizeBytes: 1 << 20, TmpBytes: 2 << 20, OutputBytes: 256 << 10, PIDs: 100, TimeoutSeconds: 60}
	d.Denials.Expected = o.Expected()
	return jobtoml.WriteJob(d), nil
}
