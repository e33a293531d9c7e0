package cli

import (
	"context"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/scheduler/calendar"
)

func newVersion(a *App) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version and what it is built of",
		Args:  cobra.NoArgs,
		RunE:  work(func(context.Context, []string) error { return a.version() }),
	}
}

type versionDoc struct {
	Version  string `json:"version"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
	ZoneData string `json:"zone_data"` // release of the embedded time zones
	OpType   string `json:"op_type"`   // what this version reads and writes
}

func (a *App) version() error {
	v := versionDoc{Version: a.Version, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH,
		ZoneData: calendar.ZoneDataVersion(), OpType: jobspec.OpType}
	if a.flags.json {
		return a.item("version", v)
	}
	a.line("sbxcron %s (%s, %s, zone data %s, %s)", v.Version, v.Go, v.Platform, v.ZoneData, v.OpType)
	return nil
}

// BuildVersion is the version that the Go tool stamped into this binary: the
// module's where there is one, else the commit.
func BuildVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && len(s.Value) >= 12 {
			return "devel-" + s.Value[:12]
		}
	}
	return "devel"
}
