package doctor

// Verdict is the result of a check. The zero value is no verdict and counts as
// a failure.
type Verdict string

// The verdicts.
const (
	OK   Verdict = "ok"
	Warn Verdict = "warn" // jobs run, and something should be known
	Fail Verdict = "fail" // jobs do not run, or not as they should
)

// Check is one finding.
type Check struct {
	Name    string  `json:"check"`
	Verdict Verdict `json:"verdict"`
	Detail  string  `json:"detail"`
	Remedy  string  `json:"remedy"`
}

// Failed reports whether anything is neither fine nor a warning.
func Failed(checks []Check) bool {
	for _, c := range checks {
		if c.Verdict != OK && c.Verdict != Warn {
			return true
		}
	}
	return len(checks) == 0
}

func ok(name, detail string) Check { return Check{Name: name, Verdict: OK, Detail: detail} }

func warn(name, detail, remedy string) Check {
	return Check{Name: name, Verdict: Warn, Detail: detail, Remedy: remedy}
}

func fail(name, detail, remedy string) Check {
	return Check{Name: name, Verdict: Fail, Detail: detail, Remedy: remedy}
}
