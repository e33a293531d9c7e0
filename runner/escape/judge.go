package escape

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/sbxcron/sbxcron/jobspec"
)

// Answer is one line that the program of attempts prints.
type Answer struct {
	ID string `json:"id"`
	// Said is the name of the kernel's error, "ok" for success, or what became of
	// the process: "died", "hung". Attempts that look for something say "none" or
	// "same" when it is not there.
	Said   string `json:"said"`
	Detail string `json:"detail,omitempty"`
}

// Verdict is what became of an attempt. The zero value counts as an escape.
type Verdict string

// The verdicts.
const (
	Stopped Verdict = "stopped"
	Odd     Verdict = "odd" // stopped, with another answer than the list has
	Open    Verdict = "open"
	Missing Verdict = "missing" // no answer was seen
)

// Row is an attempt and what became of it.
type Row struct {
	Attempt
	Answer
	Verdict Verdict
	Event   string // "" when none is wanted, else "recorded" or "missing"
}

// Report is the result of one run of the attempts.
type Report struct {
	Rows    []Row
	Changes []string // of the stage
}

// Events counts the denials of records.
type Events map[jobspec.ExpectedDenial]int64

// ParseAnswers reads the output of the program of attempts. What is no answer is
// an error: a job's output is not trusted further than that.
func ParseAnswers(out []byte) ([]Answer, error) {
	var all []Answer
	s := bufio.NewScanner(bytes.NewReader(out))
	s.Buffer(nil, 1<<20)
	for s.Scan() {
		var a Answer
		if err := json.Unmarshal(s.Bytes(), &a); err != nil || a.ID == "" {
			return nil, fmt.Errorf("read answers: %q is none", s.Text())
		}
		all = append(all, a)
	}
	return all, s.Err()
}

// Evidence is all that is known of the attempts of some runs.
type Evidence struct {
	Answers []Answer
	Heard   map[string]bool // by the stage
	Changes []string        // of the stage
	Events  Events
	Targets map[string]string
}

// Judge joins attempts with what was said, heard, changed and recorded.
func Judge(tried []Attempt, e Evidence) Report {
	r := Report{Changes: e.Changes}
	wanted := Events{}
	for _, a := range tried {
		wanted[a.denial(e.Targets)]++
	}
	for _, a := range tried {
		row := Row{Attempt: a, Verdict: Missing}
		if i := slices.IndexFunc(e.Answers, func(x Answer) bool { return x.ID == a.ID }); i >= 0 {
			row.Answer = e.Answers[i]
			row.Verdict = a.verdict(row.Said, e.Heard[a.ID])
		}
		if e.Heard[a.ID] {
			row.Verdict = Open
		}
		if d := a.denial(e.Targets); a.Code != "" {
			row.Event = "recorded"
			if e.Events[d] < wanted[d] { // each attempt leaves one
				row.Event = "missing"
			}
		}
		r.Rows = append(r.Rows, row)
	}
	return r
}

func (a Attempt) verdict(said string, heard bool) Verdict {
	switch {
	case heard, said == "ok" && !a.heard, slices.Contains(a.Through, said):
		return Open
	case slices.Contains(a.Want, said):
		return Stopped
	}
	return Odd
}

// Escapes counts what came through: open attempts, attempts without an answer,
// and changes of the stage.
func (r Report) Escapes() int {
	n := len(r.Changes)
	for _, row := range r.Rows {
		if row.Verdict != Stopped && row.Verdict != Odd {
			n++
		}
	}
	return n
}

// Faults lists, in words, all that is not as the list of attempts says.
func (r Report) Faults() []string {
	var list []string
	for _, row := range r.Rows {
		if row.Verdict != Stopped {
			list = append(list, fmt.Sprintf("%s %s (%s): %s, said %q %s, want one of %q", row.Attempt.ID, row.What, row.Do, row.Verdict, row.Said, row.Detail, row.Want))
		}
		if row.Event == "missing" {
			list = append(list, fmt.Sprintf("%s %s: the record has no event %s %s", row.Attempt.ID, row.What, row.Code, row.Target))
		}
	}
	return append(list, r.Changes...)
}
