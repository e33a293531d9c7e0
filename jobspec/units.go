package jobspec

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// ParseSpan reads a duration as job.toml, policy.toml and flags have it: whole
// numbers with a unit, largest first, such as "90d", "1h30m" or "45s". Units are
// w, d, h, m and s. Zero, signs and fractions are refused.
func ParseSpan(s string) (time.Duration, error) {
	bad := fmt.Errorf("duration %s: want whole numbers with w, d, h, m or s, such as 90d or 1h30m", Quote(s))
	units := []struct {
		letter byte
		size   time.Duration
	}{{'w', 7 * 24 * time.Hour}, {'d', 24 * time.Hour}, {'h', time.Hour}, {'m', time.Minute}, {'s', time.Second}}
	var total time.Duration
	for rest := s; rest != ""; {
		digits := len(rest) - len(strings.TrimLeft(rest, "0123456789"))
		if digits == 0 || digits == len(rest) || rest[0] == '0' {
			return 0, bad
		}
		for len(units) > 0 && units[0].letter != rest[digits] {
			units = units[1:]
		}
		n, err := strconv.ParseInt(rest[:digits], 10, 32)
		if err != nil || len(units) == 0 || time.Duration(n) > (math.MaxInt64-total)/units[0].size {
			return 0, bad
		}
		total += time.Duration(n) * units[0].size
		units, rest = units[1:], rest[digits+1:]
	}
	if total == 0 {
		return 0, bad
	}
	return total, nil
}

// ParseSize reads a size in bytes with a binary unit: "512MiB", "64KiB", "100B".
// Zero, decimal units and bare numbers are refused, so that nobody has to guess.
func ParseSize(s string) (int64, error) {
	bad := fmt.Errorf("size %s: want a whole number with B, KiB, MiB, GiB or TiB, such as 512MiB", Quote(s))
	digits := len(s) - len(strings.TrimLeft(s, "0123456789"))
	shift, ok := map[string]int{"B": 0, "KiB": 10, "MiB": 20, "GiB": 30, "TiB": 40}[s[digits:]]
	n, err := strconv.ParseInt(s[:digits], 10, 64)
	if !ok || err != nil || n <= 0 || s[0] == '0' || n > math.MaxInt64>>shift {
		return 0, bad
	}
	return n << shift, nil
}

// ParseCPUs reads a number of cores with at most two decimals, such as "1.5",
// into percent of one core.
func ParseCPUs(s string) (int64, error) {
	bad := fmt.Errorf("cpus %s: want a number of cores such as 2 or 0.5", Quote(s))
	whole, part, dotted := strings.Cut(s, ".")
	if !isDigits(whole) || len(whole) > 4 || dotted && (!isDigits(part) || len(part) > 2) {
		return 0, bad
	}
	n, err := strconv.ParseInt(whole+(part + "00")[:2], 10, 64)
	if err != nil || n == 0 {
		return 0, bad
	}
	return n, nil
}
