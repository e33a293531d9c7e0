package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sbxcron/sbxcron/cmd/internal/api"
	"github.com/sbxcron/sbxcron/cmd/internal/notify/send"
	"github.com/sbxcron/sbxcron/jobspec"
)

// Notices are the ways to people of one installation, with the caller's rights.
type Notices interface {
	// File is the path of notify.toml.
	File() string
	// Read gives what notify.toml says and every fault of it. A missing file is an
	// error that errors.Is fs.ErrNotExist.
	Read() (*jobspec.Notices, []error, error)
	// Usable is nil where the service would find a value for a credential.
	Usable(credential string) error
	// Test sends a notice over a channel, by the same process that the service uses.
	Test(ctx context.Context, c jobspec.Channel) (send.Result, error)
}

func newNotify(a *App) *cobra.Command {
	test := &cobra.Command{
		Use:   "test CHANNEL",
		Short: "Send a test notice over a channel of notify.toml and print what its server says",
		Long: `Send a test notice over a channel of notify.toml, once, by the same process and with
the same rights as the service does, and print what the server or program says. No
service is needed. A ping gets it at /log, which starts and ends nothing.

Exit status: 0 delivered; 69 refused; 75 it may work later; 78 something is missing
in notify.toml or among the credentials; 4 no such channel.`,
		Args: cobra.ExactArgs(1),
		RunE: work(func(ctx context.Context, args []string) error { return a.notifyTest(ctx, args[0]) }),
	}
	check := &cobra.Command{
		Use:   "check",
		Short: "Look for faults in notify.toml, and list its channels; 3 when there are faults",
		Args:  cobra.NoArgs,
		RunE:  work(func(context.Context, []string) error { return a.notifyCheck() }),
	}
	return group("notify", "Who is told when a job stops", check, test)
}

// testItem is the end of a test, as scripts read it.
type testItem struct {
	Channel string `json:"channel"`
	Kind    string `json:"kind"`
	Result  string `json:"result"` // delivered, refused, delayed, misconfigured
	Said    string `json:"said"`
}

func (a *App) notifyTest(ctx context.Context, name string) error {
	all, notices, err := a.readNotices()
	if err != nil {
		return err
	}
	i := slices.IndexFunc(all.Channels, func(c jobspec.Channel) bool { return c.Name == name })
	if i < 0 {
		return ownError(jobspec.CodeNoticeConfig, jobspec.ClassNotFound, "sbxcron notify check lists the channels", "%s has no channel %s", notices.File(), jobspec.Quote(name))
	}
	c := all.Channels[i]
	res, err := notices.Test(ctx, c)
	if err != nil {
		return err
	}
	if res.Class != send.Delivered {
		class := map[send.Class]jobspec.Class{send.Refused: jobspec.ClassUnavailable, send.Delayed: jobspec.ClassBusy}[res.Class]
		if class == "" {
			class = jobspec.ClassConfig
		}
		return ownError(jobspec.CodeNoticeUndelivered, class, "sbxcron notify check looks at notify.toml and the credentials", "channel %s, %s: %s", jobspec.Quote(name), res.Class, res.Text)
	}
	if a.flags.json {
		return a.item("notify_test", testItem{c.Name, c.Kind, res.Class.String(), res.Text})
	}
	a.line("%s: %s", res.Class, res.Text)
	return nil
}

// readNotices refuses a file with faults by its first one.
func (a *App) readNotices() (*jobspec.Notices, Notices, error) {
	if a.Ports.Notices == nil {
		return nil, nil, a.platformRefusal("notify")
	}
	notices, err := a.Ports.Notices(a.flags.root)
	if err != nil {
		return nil, nil, err
	}
	all, faults, err := notices.Read()
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, ownError(jobspec.CodeNoticeConfig, jobspec.ClassConfig, "write it as docs/notices.md shows", "there is no %s: nobody is told of anything", notices.File())
	}
	if err == nil && len(faults) > 0 {
		err = ownError(jobspec.CodeNoticeConfig, jobspec.ClassConfig, "sbxcron notify check tells every fault", "%s: %s", notices.File(), faults[0])
	}
	return all, notices, err
}

// channelItem is one channel or one fault, as scripts read it.
type channelItem struct {
	Channel    string   `json:"channel"`
	Kind       string   `json:"kind"`
	Events     []string `json:"events"` // none: all
	Principals []string `json:"principals"`
	Jobs       []string `json:"jobs"`
	Host       bool     `json:"host"`
	Problem    string   `json:"problem"` // "" for none
}

func (a *App) notifyCheck() error {
	if a.Ports.Notices == nil {
		return a.platformRefusal("notify")
	}
	notices, err := a.Ports.Notices(a.flags.root)
	if err != nil {
		return err
	}
	all, faults, err := notices.Read()
	items := []channelItem{}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		items = append(items, channelItem{Problem: "there is no " + notices.File() + ": nobody is told of anything"})
	case err != nil:
		return err
	default:
		items = channelItems(all, faults, notices)
	}
	if a.flags.json {
		err = a.items("notify_check", items)
	} else {
		err = a.printChannels(items)
	}
	if err == nil && slices.ContainsFunc(items, func(i channelItem) bool { return i.Problem != "" }) {
		return exitStatus(jobspec.ClassProblems.Exit())
	}
	return err
}

func channelItems(all *jobspec.Notices, faults []error, notices Notices) []channelItem {
	items := []channelItem{}
	for _, err := range faults {
		items = append(items, channelItem{Problem: fmt.Sprintf("%s: %s", notices.File(), err)})
	}
	if all == nil {
		return items
	}
	for _, c := range all.Channels {
		item := channelItem{Channel: c.Name, Kind: c.Kind, Events: jobspec.EventWords(c.Events), Host: c.Host}
		for _, p := range c.Principals {
			item.Principals = append(item.Principals, string(p))
		}
		for _, j := range c.Jobs {
			item.Jobs = append(item.Jobs, string(j))
		}
		for _, name := range c.Credentials() {
			if err := notices.Usable(name); err != nil {
				item.Problem = fmt.Sprintf("credential %s: %s", name, api.Wrap(err).Message)
			}
		}
		items = append(items, item)
	}
	if len(all.Channels) == 0 && len(faults) == 0 {
		items = append(items, channelItem{Problem: notices.File() + " has no channel: nobody is told of anything"})
	}
	return items
}

func (a *App) printChannels(items []channelItem) error {
	t := a.UI.Table("CHANNEL", "KIND", "EVENTS", "PRINCIPALS", "JOBS", "INSTALLATION")
	rows := 0
	for _, i := range items {
		if i.Channel != "" {
			t.Row(i.Channel, i.Kind, orAll(i.Events), orAll(i.Principals), orAll(i.Jobs), map[bool]string{true: "yes", false: "no"}[i.Host])
			rows++
		}
	}
	if rows > 0 {
		if _, err := t.WriteTo(a.UI.Out); err != nil {
			return err
		}
	}
	for _, i := range items {
		if i.Problem != "" {
			a.line("%s", strings.TrimPrefix(i.Channel+": "+i.Problem, ": "))
		}
	}
	return nil
}

func orAll(list []string) string {
	if len(list) == 0 {
		return "all"
	}
	return strings.Join(list, ",")
}
