package record

import (
	"strconv"
	"strings"

	"github.com/sbxcron/sbxcron/jobspec"
)

// MaxAttempts is how many attempts a run may have.
const MaxAttempts = jobspec.MaxRetries + 1

// Attempt is how one attempt of a run ended.
type Attempt struct {
	Outcome   Outcome      `json:"outcome"`
	StartedAt string       `json:"started_at"`
	EndedAt   string       `json:"ended_at"`
	ExitCode  int64        `json:"exit_code"` // absent when 0; read it with Exited
	Exited    bool         `json:"exited"`
	Signal    string       `json:"signal"`
	Code      jobspec.Code `json:"code"` // the first reason, if there is one
}

// AttemptStream names the output of an attempt: "out" and "err" of the first one,
// "out.2" and "err.2" of the second.
func AttemptStream(stream string, attempt int) string {
	if attempt < 2 {
		return stream
	}
	return stream + "." + strconv.Itoa(attempt)
}

// IsStream reports whether AttemptStream makes the name of "out" or "err".
func IsStream(name string) bool {
	stream, number, further := strings.Cut(name, ".")
	if stream != "out" && stream != "err" {
		return false
	}
	n, err := strconv.Atoi(number)
	return !further || err == nil && n >= 2 && n <= MaxAttempts && AttemptStream(stream, n) == name
}
