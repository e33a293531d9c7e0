package daemon

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/sbxcron/sbxcron/cmd/internal/beat"
	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/record"
	"github.com/sbxcron/sbxcron/signing/auditkey"
	"github.com/sbxcron/sbxcron/store"
	"github.com/sbxcron/sbxcron/store/checkpoint"
)

// checkpointEvery is how often what was appended is signed. What was written since
// is vouched for by nobody, so it is short; one checkpoint a run would double what
// a run costs, and add nothing that a later one does not say.
const checkpointEvery = time.Minute

// auditKeys are the keys that this service signs checkpoints with. A service that
// is only attended signs nothing: its folders go away with it.
func (d *daemon) auditKeys() store.AuditKeys {
	host, err := store.ReadHost(d.Site.Dirs)
	if d.attended || err != nil { // the engine says what is wrong with CONF
		return nil
	}
	return auditkey.Ring{Path: d.Site.AuditKey(), Name: checkpoint.Origin(host)}
}

// checkpoints signs the ledger now and then, beside the road of every run. At the
// start, as soon as the first timer is set, and once a day, it reads again what was
// signed.
func (d *daemon) checkpoints(ctx context.Context) {
	ended := true
	for {
		if ended = d.checkpoint() || ended; ended {
			select {
			case <-d.sched.Opened(): // with a million lines it would take from the start
			case <-ctx.Done():
				return
			}
			d.recheck(ctx)
			ended = false
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(beat.Until(d.Parts.CheckpointEvery, d.Parts.Clock.Now())):
		}
	}
}

// checkpoint signs what is new and sends it out of the reach of this account. A
// checkpoint that cannot be made is told of once, by a line of the ledger too;
// from then on status says so. It reports
// whether an epoch ended.
func (d *daemon) checkpoint() (epochEnded bool) {
	made, err := d.svc.Checkpoint()
	for _, s := range made {
		d.announce(s)
		epochEnded = epochEnded || s.Ends()
	}
	if err == nil || d.unsigned {
		return epochEnded
	}
	d.unsigned = true
	d.Log.Error("the ledger is not signed any more", "cause", err.Error())
	alert := &record.Leaf{Kind: record.Alert, Reasons: []record.Reason{{Code: jobspec.CodeOr(err, jobspec.CodeAuditUnavailable), Detail: err.Error()}}}
	if _, err := d.svc.Append(alert); err != nil {
		d.Log.Error("record that", "cause", err.Error())
	}
	return epochEnded
}

// recheck looks whether the lines on the disk are still those that were signed.
func (d *daemon) recheck(ctx context.Context) {
	if err := d.svc.RecheckLedger(ctx); err != nil && ctx.Err() == nil {
		d.Log.Error("the signed ledger was read again", "cause", err.Error())
	}
}

// announce sends a checkpoint to the system's log. Where there is none, or it does
// not take it, the checkpoint counts all the same, and that is told once.
func (d *daemon) announce(s store.Signed) {
	if d.Parts.Syslog == "" {
		return
	}
	err := tellSyslog(d.Parts.Syslog, announcement(s))
	if err != nil && !d.unheard {
		d.Log.Warn("checkpoints do not reach the system's log", "socket", d.Parts.Syslog, "cause", err.Error())
	}
	d.unheard = err != nil
}

// announcement is a checkpoint in one line, from which the note can be made again.
func announcement(s store.Signed) string {
	lines := strings.Split(strings.TrimSuffix(s.Note, "\n"), "\n")
	signature := lines[len(lines)-1]
	next := "-"
	if s.Ends() {
		next = s.Next
	}
	return fmt.Sprintf("checkpoint %s size=%d root=%s epoch=%d time=%s chain=%d:%s next=%s sig=%s",
		s.Origin, s.Size, s.Root.Base64(), s.Epoch, s.Time, s.Seq, s.Head, next, signature[strings.LastIndexByte(signature, ' ')+1:])
}
