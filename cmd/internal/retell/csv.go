package retell

import (
	"encoding/csv"
	"encoding/hex"
	"errors"
	"io"
	"strconv"
	"strings"

	"github.com/sbxcron/sbxcron/cmd/internal/ui"
	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/record"
	"github.com/sbxcron/sbxcron/store"
	"github.com/sbxcron/sbxcron/store/merkle"
)

// Unproven is the first line of every CSV.
const Unproven = "# a copy for reading: not verifiable by itself; leaf_hash names the line of the ledger that is"

// columns are what a row holds, in this order for ever; new ones come behind.
var columns = []struct {
	name string
	of   func(store.Leaf) string
}{
	{"leaf", func(l store.Leaf) string { return strconv.FormatInt(l.Index, 10) }},
	{"leaf_hash", func(l store.Leaf) string { h := merkle.LeafHash(l.Line); return "sha256:" + hex.EncodeToString(h[:]) }},
	{"time", func(l store.Leaf) string { return l.Time }},
	{"host", func(l store.Leaf) string { return string(l.Host) }},
	{"kind", func(l store.Leaf) string { return string(l.Kind) }},
	{"job", func(l store.Leaf) string { return string(l.Job) }},
	{"seq", func(l store.Leaf) string { return number(l.Seq) }},
	{"op", func(l store.Leaf) string { return digest(l.Op) }},
	{"principal", func(l store.Leaf) string { return string(l.Principal) }},
	{"key_id", func(l store.Leaf) string { return l.KeyID }},
	{"tier", func(l store.Leaf) string { return wordOf(l.Tier) }},
	{"net", func(l store.Leaf) string { return wordOf(l.Net) }},
	{"run", func(l store.Leaf) string { return l.Run }},
	{"trigger", func(l store.Leaf) string { return string(l.Trigger) }},
	{"requested_by_uid", requester},
	{"scheduled_for", func(l store.Leaf) string { return l.Scheduled }},
	{"until", func(l store.Leaf) string { return l.Until }},
	{"slot_count", func(l store.Leaf) string { return number(l.SlotCount) }},
	{"started_at", func(l store.Leaf) string { return l.StartedAt }},
	{"ended_at", func(l store.Leaf) string { return l.EndedAt }},
	{"outcome", func(l store.Leaf) string { return string(l.Outcome) }},
	{"exit_code", exitCode},
	{"signal", func(l store.Leaf) string { return l.Signal }},
	{"reasons", func(l store.Leaf) string { return reasons(l.Reasons) }},
	{"denials", func(l store.Leaf) string { return denials(l.Denials) }},
	{"backend", func(l store.Leaf) string { return l.Backend }},
	{"layers", func(l store.Leaf) string { return strings.Join(l.Layers, " ") }},
	{"weaker", func(l store.Leaf) string { return strings.Join(l.Weaker, " ") }},
	{"uid", func(l store.Leaf) string { return number(l.UID) }},
	{"trust", func(l store.Leaf) string { return digest(l.Trust) }},
	{"revoked", func(l store.Leaf) string { return digest(l.Revoked) }},
	{"policy", func(l store.Leaf) string { return digest(l.Policy) }},
	{"version", func(l store.Leaf) string { return l.Version }},
}

// WriteCSV writes the lines as RFC 4180 has it, one a row, and says how many.
func WriteCSV(w io.Writer, from Lines, f Filter) (n int64, err error) {
	out := csv.NewWriter(w)
	out.UseCRLF = true
	row := make([]string, len(columns))
	row[0] = Unproven // a whole row, so that every row has the same fields
	_ = out.Write(row)
	for i, c := range columns {
		row[i] = c.name
	}
	_ = out.Write(row)
	err = from.Scan(0, func(l store.Leaf) error {
		if !f.Takes(l.Leaf) {
			return nil
		}
		n++
		for i, c := range columns {
			row[i] = cell(c.of(l))
		}
		return out.Write(row)
	})
	out.Flush()
	return n, errors.Join(err, out.Error())
}

// cell is text that a spreadsheet shows and never computes: control characters, line
// ends and what turns text round are escaped, and what would begin a formula, in the
// wide forms too, has an apostrophe before it.
func cell(s string) string {
	if strings.HasPrefix(s, "\t") || strings.HasPrefix(s, "\r") {
		return "'" + ui.Escape(s)
	}
	s = ui.Escape(s)
	for _, begins := range []string{"=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20"} {
		if strings.HasPrefix(s, begins) {
			return "'" + s
		}
	}
	return s
}

func number(n int64) string {
	if n == 0 {
		return ""
	}
	return strconv.FormatInt(n, 10)
}

func requester(l store.Leaf) string {
	if l.RequestedBy == nil {
		return ""
	}
	return strconv.FormatInt(l.RequestedBy.UID, 10)
}

func exitCode(l store.Leaf) string {
	if !l.Exited {
		return ""
	}
	return strconv.FormatInt(l.ExitCode, 10)
}

func reasons(all []record.Reason) string {
	var out []string
	for _, r := range all {
		out = append(out, joined(string(r.Code), r.Rule, r.Target, r.Detail))
	}
	return strings.Join(out, "; ")
}

func denials(all []record.Denial) string {
	var out []string
	for _, d := range all {
		expected := ""
		if d.Expected {
			expected = "expected"
		}
		out = append(out, joined(string(d.Code), d.Target, number(d.Count), expected))
	}
	return strings.Join(out, "; ")
}

// joined leaves out what is empty.
func joined(parts ...string) string {
	var out []string
	for _, p := range parts {
		if p != "" {
			out = append(out, p)
		}
	}
	return strings.Join(out, " ")
}

// digest is absent where there is none.
func digest(d jobspec.Digest) string {
	if d.IsZero() {
		return ""
	}
	return d.String()
}

// wordOf is a tier or net, absent where there is none.
func wordOf(w interface{ MarshalText() ([]byte, error) }) string {
	b, err := w.MarshalText()
	if err != nil {
		return ""
	}
	return string(b)
}
