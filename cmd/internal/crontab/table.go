package crontab

import "fmt"

// Bounds of what is read. crond takes as many entries from one user.
const (
	MaxBytes     = 1 << 20
	maxEntries   = 10000
	maxLine      = 64 << 10
	maxVariables = 128 // in force at one line
)

// Codes of problems.
const (
	CodeNotALine  = "crontab_line_unreadable"
	CodeAtReboot  = "at_reboot"
	CodeSixFields = "six_fields"
	CodeNoCommand = "no_command"
	CodeUserField = "user_field"
	CodeNotText   = "not_text"
	CodeTooLong   = "line_too_long"
	CodeTooMany   = "too_many_variables"
)

// Table is what a crontab says.
type Table struct {
	Entries  []Entry
	Settings []Setting // every one, in the order of the lines
	Problems []Problem
	Notes    []string // about the whole text
}

// Entry is a line that runs something.
type Entry struct {
	Line     int    // from 1
	Text     string // as written
	Schedule string // five fields with one blank between them, or an @name
	User     string // in the system form only
	Command  string // for the shell; a "\%" is a "%" here
	Stdin    string // what stood behind the first "%", a line for each further one
	Env      []Setting
	Notes    []string
}

// Var is the value of a variable at the entry's line, "" for none.
func (e Entry) Var(name string) string {
	for _, s := range e.Env {
		if s.Name == name {
			return s.Value
		}
	}
	return ""
}

// Setting is a line NAME = VALUE. It holds from its line on.
type Setting struct {
	Line        int
	Name, Value string
}

// Problem is a line that cannot be taken over.
type Problem struct {
	Line               int
	Code, Detail, Hint string
}

// LimitError refuses a whole text for its size.
type LimitError struct{ Detail string }

func (e *LimitError) Error() string { return "crontab: " + e.Detail }

// Hint says what to do.
func (e *LimitError) Hint() string { return "split it into smaller crontabs" }

func tooLarge(format string, args ...any) error { return &LimitError{fmt.Sprintf(format, args...)} }
