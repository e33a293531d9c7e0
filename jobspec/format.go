package jobspec

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// FormatSpan writes a duration as ParseSpan reads it, in whole seconds.
func FormatSpan(d time.Duration) string {
	var b strings.Builder
	for _, u := range []struct {
		letter string
		size   time.Duration
	}{{"d", 24 * time.Hour}, {"h", time.Hour}, {"m", time.Minute}, {"s", time.Second}} {
		if n := d / u.size; n > 0 {
			fmt.Fprintf(&b, "%d%s", n, u.letter)
			d -= n * u.size
		}
	}
	return b.String()
}

// FormatSize writes a size as ParseSize reads it.
func FormatSize(n int64) string { return strings.ReplaceAll(bytesWord(n), " ", "") }

// FormatCPUs writes percent of a core as ParseCPUs reads it.
func FormatCPUs(percent int64) string {
	if percent%100 == 0 {
		return strconv.FormatInt(percent/100, 10)
	}
	return fmt.Sprintf("%d.%02d", percent/100, percent%100)
}

// LimitText is a limit as job.toml and policy.toml write it: key and value. The
// name is that of the signed field, such as "timeout_seconds".
func LimitText(name string, n int64) (key, value string) {
	switch name {
	case "timeout_seconds", "grace_seconds":
		return strings.TrimSuffix(name, "_seconds"), Quote(FormatSpan(time.Duration(n) * time.Second))
	case "cpu_percent":
		return "cpus", Quote(FormatCPUs(n))
	case "net_bytes":
		return "bytes", Quote(FormatSize(n))
	case "memory_bytes", "file_size_bytes", "output_bytes", "tmp_bytes", "workspace_growth_bytes":
		return strings.TrimSuffix(name, "_bytes"), Quote(FormatSize(n))
	default:
		return name, strconv.FormatInt(n, 10)
	}
}

// Each calls f for each limit that is not zero, by the name of its signed field.
func (l Limits) Each(f func(name string, n int64)) {
	for _, field := range limitFields() {
		if n := *field.value(&l); n != 0 {
			f(field.name, n)
		}
	}
}

// Of is a limit by the name of its signed field, 0 for a name that is none.
func (l Limits) Of(name string) int64 {
	for _, f := range limitFields() {
		if f.name == name {
			return *f.value(&l)
		}
	}
	return 0
}

// Set gives a limit by the name of its signed field a value.
func (l *Limits) Set(name string, n int64) {
	for _, f := range limitFields() {
		if f.name == name {
			*f.value(l) = n
		}
	}
}
