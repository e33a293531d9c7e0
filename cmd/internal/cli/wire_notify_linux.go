package cli

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"os"
	"time"

	"github.com/sbxcron/sbxcron/cmd/internal/config"
	"github.com/sbxcron/sbxcron/cmd/internal/notify/send"
	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/runner/throwaway"
	"github.com/sbxcron/sbxcron/store"
)

// noticesPort are the notices of this build.
func (w wiring) noticesPort() func(root string) (Notices, error) {
	return func(root string) (Notices, error) {
		site, err := config.Find(root)
		return ownNotices{site, w.now}, err
	}
}

// ownNotices reads the caller's own installation: nobody else may.
type ownNotices struct {
	site config.Site
	now  func() time.Time
}

func (n ownNotices) File() string { return n.site.NotifyFile() }

func (n ownNotices) Read() (*jobspec.Notices, []error, error) { return n.site.NoticeFaults() }

func (n ownNotices) Usable(name string) error {
	value, err := n.site.Credential(name)
	clear(value)
	return err
}

func (n ownNotices) Test(ctx context.Context, c jobspec.Channel) (send.Result, error) {
	task := send.Task{Channel: c, Secrets: map[string][]byte{}, Sent: n.now(), Notice: send.Notice{Time: n.now(), Event: send.EventTest}}
	for _, name := range c.Credentials() {
		value, err := n.site.Credential(name)
		if err != nil {
			return send.Result{}, err
		}
		defer clear(value)
		task.Secrets[name] = value
	}
	var id [10]byte
	if _, err := rand.Read(id[:]); err != nil {
		return send.Result{}, err
	}
	name, err := os.Hostname()
	if err != nil {
		return send.Result{}, fmt.Errorf("name of this machine: %w", err)
	}
	task.Notice.ID, task.Notice.Host = hex.EncodeToString(id[:]), name
	if host, err := store.ReadHost(n.site.Dirs); err == nil { // an installation may yet be made
		task.Notice.HostID = string(host)
	}
	if c.Kind == jobspec.ChannelPing {
		task.Notice.Job = "sbxcron-test" // stands in the URL
	}
	var pool *throwaway.Pool
	if n.site.System() {
		pool = throwaway.New(throwaway.Sources{}, uint64(os.Getpid()))
	}
	s := send.Sender{Account: send.Accounts(pool)}
	defer s.Close()
	return s.Do(ctx, task), nil
}
