package cli

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/sbxcron/sbxcron/cmd/internal/api"
	"github.com/sbxcron/sbxcron/jobspec"
)

// Codes of the command line itself. They never stand in signed bytes or
// records, so they are not among jobspec's.
const (
	codeUsage        jobspec.Code = "usage"
	codeNotConfirmed jobspec.Code = "not_confirmed"
	codeUnanswered   jobspec.Code = "confirmation_missing"
	codeRunEnded     jobspec.Code = "run_ended"
	codeFileProblem  jobspec.Code = "file_problem"
	codeInstalled    jobspec.Code = "already_installed"
	codeNoCheckpoint jobspec.Code = "no_checkpoint"
)

// exitStatus ends a command with a status and no words: what is to be said
// stands on standard output already.
type exitStatus int

func (s exitStatus) Error() string { return "exit status " + strconv.Itoa(int(s)) }

// commandError marks an error of a command's own work. What comes from the
// parser of the command line bears no mark and is an error of usage.
type commandError struct{ error }

func (e commandError) Unwrap() error { return e.error }

// withStatus ends with another exit status than the code's, as run --wait does.
type withStatus struct {
	error
	status int
}

func (e withStatus) Unwrap() error { return e.error }

// finish is the one place that turns an error into words and an exit status. Use
// is how the command that was called is written.
func (a *App) finish(err error, use string) int {
	if err == nil {
		return 0
	}
	if s, ok := errors.AsType[exitStatus](err); ok {
		return int(s)
	}
	if _, ok := errors.AsType[commandError](err); !ok {
		err = ownError(codeUsage, jobspec.ClassUsage, "write: "+use, "%s", err)
	}
	e := *api.Wrap(err)
	if e.Exit == 0 { // an error never looks like a success
		e.Exit = 1
	}
	if w, ok := errors.AsType[withStatus](err); ok {
		e.Exit = w.status
	}
	a.sayError(&e)
	return e.Exit
}

func (a *App) sayError(e *api.Error) {
	if a.flags.json {
		doc := struct {
			Schema string `json:"schema"`
			*api.Error
		}{schema("error"), e}
		if err := writeJSON(a.UI.Err, doc); err == nil {
			return
		}
	}
	a.note("error: %s (%s)", e.Message, e.ErrCode)
	for _, r := range e.Reasons {
		a.note("  %s", reasonLine(r))
		for _, l := range moreLines(r.Detail) {
			a.note("      %s", l)
		}
		if r.Remedy != "" && r.Remedy != e.Help {
			a.note("    do: %s", r.Remedy)
		}
	}
	if e.Help != "" {
		a.note("hint: %s", e.Help)
	}
}

// moreLines is what stands below the first line of a question.
func moreLines(text string) []string { return strings.Split(text, "\n")[1:] }

// reasonLine is one cause on one line, of a question its first.
func reasonLine(r api.Reason) string {
	line := string(r.Code)
	detail, _, _ := strings.Cut(r.Detail, "\n")
	for _, part := range []string{r.Target, detail} {
		if part != "" {
			line += ": " + part
		}
	}
	if r.Layer != "" {
		line += " (" + r.Layer
		if r.Rule != "" {
			line += ", rule " + r.Rule
		}
		line += ")"
	}
	return line
}

// usageError refuses a command line.
func usageError(format string, args ...any) error {
	return ownError(codeUsage, jobspec.ClassUsage, `"sbxcron help" lists the commands, "sbxcron COMMAND --help" the flags`, format, args...)
}

// needFlag refuses because nobody is there to answer, and names the flag.
func needFlag(hint, format string, args ...any) error {
	return ownError(codeUnanswered, jobspec.ClassUsage, hint, format, args...)
}

// fileError is about a file that the caller named.
func fileError(err error, hint string) error {
	return ownError(codeFileProblem, jobspec.ClassData, hint, "%s", err)
}

func ownError(code jobspec.Code, class jobspec.Class, hint, format string, args ...any) error {
	return &api.Error{ErrCode: code, Exit: class.Exit(), Class: string(class),
		Message: fmt.Sprintf(format, args...), Help: hint}
}
