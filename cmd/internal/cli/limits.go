package cli

import (
	"strconv"
	"strings"
	"time"

	"github.com/sbxcron/sbxcron/jobspec"
)

// limitKind says how the value of a limit is written.
type limitKind uint8

const (
	countLimit limitKind = iota + 1
	bytesLimit           // 512, 64KiB, 1MiB, 2GiB
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
		n, ok := f.kind.parse(value)
		if !ok || n <= 0 {
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

func (k limitKind) parse(value string) (int64, bool) {
	switch k {
	case countLimit:
		n, err := strconv.ParseInt(value, 10, 53)
		return n, err == nil
	case bytesLimit:
		return parseBytes(value)
	case spanLimit:
		d, err := parseSpan(value)
		return int64(d / time.Second), err == nil && d%time.Second == 0
	case cpuLimit:
		f, err := strconv.ParseFloat(value, 64)
		if err != nil || f > 1<<20 || f < 0 {
			return 0, false
		}
		return int64(f*100 + 0.5), true
	default:
		return 0, false
	}
}

// parseBytes reads a number of bytes, with a binary unit or none.
func parseBytes(value string) (int64, bool) {
	number, factor := value, int64(1)
	for i, unit := range []string{"KiB", "MiB", "GiB", "TiB"} {
		if n, ok := strings.CutSuffix(value, unit); ok {
			number, factor = n, 1<<(10*(i+1))
			break
		}
	}
	n, err := strconv.ParseInt(strings.TrimSpace(number), 10, 53)
	if err != nil || n < 0 || n > (1<<53)/factor {
		return 0, false
	}
	return n * factor, true
}
