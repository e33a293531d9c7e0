package cli

import (
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/sbxcron/sbxcron/jobspec"
)

// limitKind says how the value of a limit is written.
type limitKind uint8

const (
	countLimit limitKind = iota + 1
	bytesLimit           // 512B, 64KiB, 1MiB, 2GiB
	spanLimit            // 30s, 15m
	cpuLimit             // 1.5 is one and a half cores
)

// limitFlags are the limits by the names that job.toml has for them.
var limitFlags = [...]struct {
	name  string
	kind  limitKind
	field func(*jobspec.Limits) *int64
}{
	{"timeout", spanLimit, func(l *jobspec.Limits) *int64 { return &l.TimeoutSeconds }},
	{"grace", spanLimit, func(l *jobspec.Limits) *int64 { return &l.GraceSeconds }},
	{"memory", bytesLimit, func(l *jobspec.Limits) *int64 { return &l.MemoryBytes }},
	{"cpus", cpuLimit, func(l *jobspec.Limits) *int64 { return &l.CPUPercent }},
	{"pids", countLimit, func(l *jobspec.Limits) *int64 { return &l.PIDs }},
	{"file_size", bytesLimit, func(l *jobspec.Limits) *int64 { return &l.FileSizeBytes }},
	{"open_files", countLimit, func(l *jobspec.Limits) *int64 { return &l.OpenFiles }},
	{"output", bytesLimit, func(l *jobspec.Limits) *int64 { return &l.OutputBytes }},
	{"tmp", bytesLimit, func(l *jobspec.Limits) *int64 { return &l.TmpBytes }},
	{"workspace_growth", bytesLimit, func(l *jobspec.Limits) *int64 { return &l.WorkspaceGrowthBytes }},
	{"connections", countLimit, func(l *jobspec.Limits) *int64 { return &l.Connections }},
	{"bytes", bytesLimit, func(l *jobspec.Limits) *int64 { return &l.NetBytes }},
	{"state", bytesLimit, func(l *jobspec.Limits) *int64 { return &l.StateBytes }},
}

func limitNames() string {
	names := make([]string, len(limitFlags))
	for i, f := range limitFlags {
		names[i] = f.name
	}
	return strings.Join(names, ", ")
}

// setLimit reads one --limit NAME=VALUE. Zero is refused: it would mean "none"
// where the owner meant "nothing".
func setLimit(l *jobspec.Limits, text string) error {
	name, value, ok := strings.Cut(text, "=")
	if !ok {
		return usageError("--limit %q: want NAME=VALUE", text)
	}
	for _, f := range limitFlags {
		if f.name != name {
			continue
		}
		n, err := f.kind.parse(value)
		if err != nil || n <= 0 {
			return usageError("--limit %q: want %s", text, f.kind.words())
		}
		*f.field(l) = n
		return nil
	}
	return usageError("--limit %q: the limits are %s", text, limitNames())
}

// words say how a value is written.
func (k limitKind) words() string {
	switch k {
	case bytesLimit:
		return "a size above zero, such as 64KiB, 512MiB or 2GiB"
	case spanLimit:
		return "a span of whole seconds, such as 30s or 15m"
	case cpuLimit:
		return "a number of cores above zero, such as 1.5"
	default:
		return "a whole number above zero"
	}
}

// parse reads a value as job.toml has it.
func (k limitKind) parse(value string) (int64, error) {
	switch k {
	case countLimit:
		return strconv.ParseInt(value, 10, 53)
	case bytesLimit:
		return jobspec.ParseSize(value)
	case spanLimit:
		d, err := jobspec.ParseSpan(value)
		return int64(d / time.Second), err
	case cpuLimit:
		return jobspec.ParseCPUs(value)
	default:
		return 0, errors.New("a limit of no kind")
	}
}
