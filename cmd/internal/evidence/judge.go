package evidence

import (
	"fmt"
	"strings"

	"github.com/sbxcron/sbxcron/cmd/internal/api"
	"github.com/sbxcron/sbxcron/jobspec"
)

// judgement gathers what speaks for and against each verdict.
type judgement struct {
	api.Audit
	checked, failed, unsure [4]bool
	prefix                  string // that paths are named without
}

// against is a problem that fails a verdict.
func (j *judgement) against(q question, code jobspec.Code, where, format string, args ...any) {
	j.failed[q] = true
	j.problem(code, where, format, args...)
}

// doubt is a problem that leaves a verdict open.
func (j *judgement) doubt(q question, code jobspec.Code, where, format string, args ...any) {
	j.unsure[q] = true
	j.problem(code, where, format, args...)
}

func (j *judgement) problem(code jobspec.Code, where, format string, args ...any) {
	detail := fmt.Sprintf(format, args...)
	if j.prefix != "" { // of a folder that was made a moment ago and says nothing to anybody
		where, detail = strings.ReplaceAll(where, j.prefix, ""), strings.ReplaceAll(detail, j.prefix, "")
	}
	j.Problems = append(j.Problems, api.Problem{Code: string(code), Where: where, Detail: detail})
}

// verdict is pass only where something was checked and all of it could be.
func (j *judgement) verdict(q question) string {
	switch {
	case j.failed[q]:
		return api.Fail
	case j.checked[q] && !j.unsure[q]:
		return api.Pass
	}
	return api.NotChecked
}

// Judge gives the verdicts. The error says that a file could not be read at all;
// what is wrong in one is a problem of a verdict.
func Judge(ev *Evidence, anchor Anchor) (api.Audit, error) {
	j := &judgement{Audit: api.Audit{Problems: []api.Problem{}}, prefix: ev.prefix}
	c := readChain(j, ev)
	log, err := readLog(j, ev, c, anchor)
	if err != nil {
		return api.Audit{}, err
	}
	lines := readLines(j, ev, c, log)
	if err := judgeSigners(j, ev, c, lines, anchor); err != nil {
		return api.Audit{}, err
	}
	if j.Ops == 0 && j.Leaves > 0 {
		j.against(complete, jobspec.CodeChainMissing, "ops", "there is a ledger and no op, so that nobody has approved what ran")
	}
	j.Authentic, j.Intact, j.Complete, j.Runs = j.verdict(authentic), j.verdict(intact), j.verdict(complete), j.verdict(runs)
	return j.Audit, nil
}
