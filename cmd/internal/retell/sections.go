package retell

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// section is one table of a report, for text and HTML alike.
type section struct {
	Title   string
	Columns []string
	Rows    [][]string
}

// head says what the report is about.
func (r *Report) head() [][2]string {
	since := "the first line"
	if r.Since != nil {
		since = r.Since.UTC().Format(time.RFC3339)
	}
	rows := [][2]string{{"host", string(r.Host)}, {"genesis", digest(r.Genesis)}, {"from", since}, {"until", r.Until.UTC().Format(time.RFC3339)},
		{"lines", fmt.Sprintf("%d of %d", r.Lines, r.Ledger)}}
	for i, line := range strings.Split(strings.TrimRight(r.Checkpoint, "\n"), "\n") {
		if line != "" {
			rows = append(rows, [2]string{[]string{"checkpoint", ""}[min(i, 1)], line})
		}
	}
	for _, u := range r.Unread {
		rows = append(rows, [2]string{"unreadable", u})
	}
	return append(rows, [2]string{"", "This says what stands in the ledger. That it was not changed is shown by audit verify, with the genesis above."})
}

func (r *Report) sections() []section {
	return []section{r.approved(), r.ran(),
		events("What was refused before it started", r.Stopped), events("What a run tried and was denied", r.Denied),
		events("What did not run, or has no end", r.NotRun), events("What somebody did by hand", r.ByHand),
		r.inForce(), r.keyRows(), r.retention(), events("Starts of the service, and alerts", r.Services)}
}

func (r *Report) approved() section {
	s := section{Title: "Who approved what", Columns: []string{"OP", "CREATED", "ACTION", "JOB", "REV", "PRINCIPAL", "KEY", "TIER", "NET", "SCHEDULE", "COMMAND"}}
	for _, a := range r.Approved {
		var command []string
		for _, w := range a.Command {
			command = append(command, strconv.Quote(w))
		}
		s.Rows = append(s.Rows, []string{fmt.Sprint(a.Seq), a.Created.UTC().Format(time.RFC3339), a.Action, string(a.Job), number(a.Revision),
			string(a.Principal), a.KeyID, a.Tier, a.Net, a.Schedule, strings.Join(command, " ")})
	}
	return s
}

func (r *Report) ran() section {
	s := section{Title: "What ran, and how it ended", Columns: []string{"JOB", "OP", "STARTED", "OUTCOMES", "FIRST", "LAST", "LEAF"}}
	for _, t := range r.Ran {
		var out []string
		for _, o := range slices.Sorted(maps.Keys(t.Outcomes)) {
			out = append(out, fmt.Sprintf("%s %d", o, t.Outcomes[o]))
		}
		s.Rows = append(s.Rows, []string{string(t.Job), fmt.Sprint(t.Seq), fmt.Sprint(t.Started), strings.Join(out, ", "), t.First, t.Last, fmt.Sprint(t.LastLeaf)})
	}
	return s
}

func events(title string, all []Event) section {
	s := section{Title: title, Columns: []string{"LEAF", "TIME", "KIND", "JOB", "RUN", "SCHEDULED", "SLOTS", "UID", "WHY"}}
	for _, e := range all {
		uid := ""
		if e.UID != nil {
			uid = fmt.Sprint(*e.UID)
		}
		s.Rows = append(s.Rows, []string{fmt.Sprint(e.Leaf), e.Time, e.Kind, string(e.Job), e.Run, e.Slot, number(e.Many), uid, e.Why})
	}
	return s
}

func (r *Report) inForce() section {
	s := section{Title: "Trust files and policies in force", Columns: []string{"LEAF", "TIME", "WHAT", "DIGEST"}}
	for _, f := range r.InForce {
		s.Rows = append(s.Rows, []string{fmt.Sprint(f.Leaf), f.Time, "allowed_signers", digest(*f.Trust)}, []string{fmt.Sprint(f.Leaf), f.Time, "revoked_keys", digest(*f.Revoked)})
	}
	for _, f := range r.Policies {
		s.Rows = append(s.Rows, []string{fmt.Sprint(f.Leaf), f.Time, "policy", digest(*f.Policy)})
	}
	return s
}

func (r *Report) keyRows() section {
	s := section{Title: "Keys of those trust files", Columns: []string{"LIST", "PRINCIPAL", "KEY", "FROM", "UNTIL", "MAY SIGN"}}
	for _, k := range r.Keys {
		s.Rows = append(s.Rows, []string{k.Trust.Short(), k.Principal, k.KeyID, k.From, k.Until, strings.Join(k.Namespaces, " ")})
	}
	return s
}

func (r *Report) retention() section {
	s := section{Title: "What was pruned", Columns: []string{"LEAF", "TIME", "RUN", "FILES", "BYTES"}}
	for _, p := range r.Retention {
		s.Rows = append(s.Rows, []string{fmt.Sprint(p.Leaf), p.Time, p.Run, fmt.Sprint(p.Files), fmt.Sprint(p.Bytes)})
	}
	return s
}
