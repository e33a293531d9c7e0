package daemon

import (
	"fmt"
	"os"

	"github.com/sbxcron/sbxcron/cmd/internal/api"
	"github.com/sbxcron/sbxcron/cmd/internal/notify"
	"github.com/sbxcron/sbxcron/cmd/internal/notify/send"
	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/runner/throwaway"
	"github.com/sbxcron/sbxcron/store"
)

// openNotices makes the part that tells people, before anything is due. It lives
// where the chain cannot be proven, too: then there is most to tell.
func (d *daemon) openNotices() error {
	if d.attended {
		return nil // somebody looks on
	}
	host, err := store.ReadHost(d.Site.Dirs)
	if err != nil {
		return err
	}
	name, err := os.Hostname()
	if err != nil {
		return fmt.Errorf("name of this machine: %w", err)
	}
	var pool *throwaway.Pool
	if d.Site.System() {
		pool = d.uids
	}
	d.sender = &send.Sender{Account: send.Accounts(pool)}
	d.svc.notices = notify.New(notify.Options{Dirs: d.Site.Dirs, Disk: d.Parts.Disk, World: watchedWorld{d.svc}, Sender: d.sender,
		Config: d.Site.Notices, Credential: d.Site.Credential, Output: d.outputs.Open, Host: name, HostID: host, Log: d.Log})
	d.svc.Watch(d.svc.notices.Watcher())
	return nil
}

// watchedWorld is the service as the part sees it that tells people.
type watchedWorld struct{ *Service }

// Faults are what keeps all jobs from running.
func (w watchedWorld) Faults() []api.Reason {
	var all []api.Reason
	for _, p := range w.Problems() {
		if p.Layer != jobspec.LayerOwner { // a principal's own file stops that one's jobs alone
			all = append(all, p)
		}
	}
	if sched, err := w.scheduler(); err == nil {
		if err := sched.Broken(); err != nil {
			all = append(all, api.Reason{Code: jobspec.CodeAuditUnavailable, Detail: err.Error()})
		}
	}
	return all
}
